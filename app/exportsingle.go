// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/site"
	"mirrord/store"
)

// exportSingle writes a page of a version, with all it shows, as one HTML file.
func exportSingle(
	ctx context.Context, st *store.State, name string, o ExportRequest,
) (_ *Exported, err error) {
	tree, err := openVersion(st, name, o.Version)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	m, err := phm.OpenMeta(tree)
	if err != nil {
		return nil, err
	}
	files, page, err := findPage(tree, o.Single)
	if err != nil {
		return nil, err
	}
	body, err := render.SinglePage(interruptible{tree, ctx}, files, page)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	if o.Out == "-" {
		_, err := o.Stream.Write(body)
		return nil, err
	}
	if o.Out == "" {
		o.Out = path.Base(page)
	}
	if fi, err := os.Stat(o.Out); err == nil && !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s exists and is no file; name another one", o.Out)
	}
	if err := roomFor(o.Out, int64(len(body))); err != nil {
		return nil, err
	}
	if err := renameio.WriteFile(o.Out, body, 0o644); err != nil {
		return nil, err
	}
	return &Exported{
		Job:     name,
		Version: m.Version,
		Format:  "html",
		Path:    o.Out,
		Files:   1,
		Bytes:   int64(len(body)),
	}, nil
}

// findPage returns the files of a tree by path, and the path of the page at a URL, or at a mirror path.
func findPage(tree fs.FS, what string) (map[string]*phm.File, string, error) {
	f, err := phm.OpenRegular(tree, phm.FilesName)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	u := what
	if parsed, _, err := site.Parse(what); err == nil {
		u = parsed.String()
	}
	files, found := map[string]*phm.File{}, ""
	for line, err := range phm.Files(f) {
		if err != nil {
			return nil, "", err
		}
		files[line.Path] = line
		if line.URL == u || slices.Contains(line.Also(), u) {
			found = line.Path
		}
	}
	if files[what] != nil && !strings.Contains(what, "://") {
		found = what
	}
	if found == "" {
		return nil, "", fmt.Errorf("the mirror has no page %s; mirrord explain says why", what)
	}
	return files, found, nil
}
