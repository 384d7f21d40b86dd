// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/app/look"
	"mirrord/archive"
	"mirrord/archive/crawls"
	"mirrord/archive/zim"
	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/site"
)

// FileExplanation says what an archive has of a URL.
type FileExplanation struct {
	File      string                  `json:"file"`
	Form      string                  `json:"form"`
	URL       string                  `json:"url"`
	Version   int                     `json:"version,omitempty"`  // of a mirror
	Since     int                     `json:"since,omitempty"`    // of a delta: the version that it builds on
	Retrieved time.Time               `json:"retrieved,omitzero"` // end of the retrieval of that
	Entry     *phm.File               `json:"entry,omitempty"`    // of a mirror: the line of its file table
	Crawls    int                     `json:"crawls,omitempty"`   // of a web archive
	Answers   []crawls.CapturedAnswer `json:"answers,omitempty"`  // likewise: of the URL
	Head      string                  `json:"head,omitempty"`     // of the last answer, when it is wanted
}

// ExplainFile says what an archive has of a URL, or at a mirror path; with head also the head of its last
// answer. The table of a mirror is read, and all of a web archive.
func ExplainFile(ctx context.Context, a *env.App, name, url string, head bool) (*FileExplanation, error) {
	u, _, err := site.Parse(url)
	if err != nil && !look.IsPath(url) {
		return nil, env.Usagef("explain: %w", err)
	}
	x := &FileExplanation{File: name, URL: u.String()}
	if err != nil {
		x.URL = url
	}
	r := ImportRequest{Files: []string{name}, Indexed: true}
	if _, serr := os.Stat(filepath.Join(name, phm.MetaName)); serr != nil && !u.IsZero() {
		r.URL = u.String() // of a folder that wget filled
	}
	in, err := r.OpenInputs(ctx)
	if err != nil {
		return nil, err
	}
	defer in.CloseAll()
	if len(in.Files) == 0 {
		return x, x.fromTree(ctx, url)
	}
	x.Form = "web archive"
	if u.IsZero() {
		return nil, env.Usagef("explain: %s has URLs, and no mirror path %s", name, url)
	}
	arch, err := r.Read(ctx, a, in)
	if err != nil {
		return nil, err
	}
	x.Crawls, x.Answers = len(arch.Crawls), arch.List(u)
	if !head || len(x.Answers) == 0 {
		return x, nil
	}
	last, _, err := arch.Answer(len(arch.Crawls)-1, u)
	if err != nil || last == nil {
		return x, err
	}
	defer last.Close()
	x.Head = string(last.Head)
	return x, nil
}

// fromTree reads the table of a mirror in a file or directory.
func (x *FileExplanation) fromTree(ctx context.Context, url string) (err error) {
	f, fi, err := regular.OpenInfo(x.File)
	if err != nil {
		return err
	}
	defer f.Close()
	wrap := func(err error) error { return fmt.Errorf("%s: %w", x.File, err) }
	x.Form = "directory"
	var tree fs.FS
	if fi.IsDir() {
		root, err := regular.OpenRoot(x.File)
		if err != nil {
			return err
		}
		defer root.Close()
		tree = regular.Until(ctx, root.FS())
	} else {
		form, err := archive.FormOf(f, fi.Size())
		if err != nil {
			return err
		}
		x.Form = form.Name
		if form.Browse != nil {
			if err := x.fromEntries(form, f, fi.Size(), url); err != nil {
				return wrap(err)
			}
			return nil
		}
		if tree, err = archive.Open(regular.UntilAt(ctx, f), fi.Size(), phm.Limits{}); err != nil {
			return wrap(err)
		}
	}
	m, err := phm.OpenMeta(tree)
	if a, ok := tree.(*phm.Archive); ok && errors.Is(err, phm.ErrDelta) {
		var d *phm.Delta
		if d, err = phm.ReadDelta(a); err == nil {
			x.Since = d.Base.Version
			m, err = phm.ReadMeta(strings.NewReader(d.Meta))
		}
	}
	if err != nil {
		return wrap(err)
	}
	x.Version, x.Retrieved = m.Version, m.Retrieved
	table, err := phm.OpenRegular(tree, phm.FilesName)
	if err != nil {
		return wrap(err)
	}
	defer env.Close(&err, table)
	for line, err := range phm.Files(table) {
		if err != nil {
			return wrap(err)
		}
		if line.URL == x.URL || line.Path == url || slices.Contains(line.Also(), x.URL) {
			x.Entry, x.URL = line, line.URL
			return nil
		}
	}
	return nil
}

// fromEntries looks for a path in a ZIM file of another program. A URL is looked for as the programs name
// entries that make such files of sites: by host, path and query.
func (x *FileExplanation) fromEntries(form archive.Form, r io.ReaderAt, size int64, url string) error {
	b, err := form.Browse(r, size)
	if err != nil {
		return err
	}
	_, name, _ := strings.Cut(url, "://")
	for _, path := range []string{url, name} {
		namespace := byte(zim.Content)
		if b.Old() {
			if len(path) < 3 || path[1] != '/' {
				path = "A/" + path
			}
			namespace, path = path[0], path[2:]
		}
		f, ok, err := b.Find(namespace, path)
		if err != nil {
			return err
		} else if !ok || path == "" {
			continue
		}
		to, ends, err := b.Follow(f)
		if err == nil && !ends {
			err = fmt.Errorf("%s: its redirects do not end", f.Path)
		}
		if err != nil {
			return err
		}
		body, err := b.Blob(to)
		if err != nil {
			return err
		}
		sum := sha256.New()
		n, err := io.Copy(sum, body)
		if err = errors.Join(err, body.Close()); err != nil {
			return err
		}
		x.Entry = &phm.File{
			Path:   to.Path,
			Type:   to.Type,
			Size:   n,
			SHA256: hex.EncodeToString(sum.Sum(nil)),
		}
		return nil
	}
	return nil
}

// TimeForm is how times are written for people.
const TimeForm = "2006-01-02 15:04:05 MST"
