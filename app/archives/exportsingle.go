// SPDX-License-Identifier: Apache-2.0

package archives

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

	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/app/look"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/site"
)

// single writes a page of a version, with all it shows, as one HTML file.
func (o *exporting) single(ctx context.Context) (*Exported, error) {
	version, page, body, err := singleOf(ctx, o.Single, func() (files.VersionTree, error) {
		return openVersion(o.st, o.name, o.Version)
	})
	if o.Version == 0 && (isDamage(err) || errors.Is(err, fs.ErrNotExist)) {
		why := err
		version, page, body, err = singleOf(ctx, o.Single, func() (files.VersionTree, error) {
			return look.OpenPast(o.st, o.name, 0)
		})
		if err != nil {
			return nil, sayDamage(o.name, why)
		}
		o.app.Warning(treeDamaged(o.name, why))
	}
	if err != nil {
		return nil, sayDamage(o.name, err)
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
	if err := renameio.WriteFile(o.Out, body, 0o644, renameio.WithExistingPermissions()); err != nil {
		return nil, err
	}
	return &Exported{
		Job:     o.name,
		Version: version,
		Format:  "html",
		Path:    o.Out,
		Files:   1,
		Bytes:   int64(len(body)),
	}, nil
}

// singleOf makes one file of the page at a URL, or at a mirror path. page is its mirror path.
func singleOf(
	ctx context.Context, what string, open func() (files.VersionTree, error),
) (version int, page string, body []byte, err error) {
	tree, err := open()
	if err != nil {
		return 0, "", nil, err
	}
	defer env.Close(&err, tree)
	m, err := phm.OpenMeta(tree)
	if err != nil {
		return 0, "", nil, err
	}
	fileList, page, err := findPage(tree, what)
	if err != nil {
		return 0, "", nil, err
	}
	if body, err = render.SinglePage(files.Interruptible{FS: tree, Ctx: ctx}, fileList,
		page); err != nil {
		return 0, "", nil, fmt.Errorf("export: %w", err)
	}
	return m.Version, page, body, nil
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
