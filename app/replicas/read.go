// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/replica/collections"
	"mirrord/replica/hosts"
	"mirrord/replica/text"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/store/trees"
)

// maxReplicaPage bounds the bytes read of one page.
const maxReplicaPage = 128 << 20

// replicaPages reads the pages that replicas are looked for among.
type replicaPages struct {
	trees []replicaTree
	state *store.State // whose mirrors the trees are; nil for directories
	note  func(string) // one line on progress
	warn  func(string)

	pages   int
	skipped int // files that are no pages
	bad     int // files that could not be read, and addresses that are none
	known   int // pages whose digests were kept
	take    func(collections.Address, replicaFile) error
}

// replicaTree is a directory of pages, and what it is called in messages.
type replicaTree struct {
	name string
	root *trees.HeldTree
	site string   // of the state, whose published tree it is; "" for any other
	said *os.File // instead of the root: the digests of a mirror that another node has
}

type replicaFile struct {
	fsys fs.FS
	name string
	html bool
	url  string              // as the file table has it; "" without one
	said *text.ContentDigest // the digest of a page of another node; nil: it can be read

	modified time.Time // as the server said; zero when it did not
}

// read takes all pages of all trees, in the same order every time.
func (r *replicaPages) read(ctx context.Context) error {
	for _, t := range r.trees {
		if err := r.readTree(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// readTree takes all pages of a tree.
func (r *replicaPages) readTree(ctx context.Context, t replicaTree) error {
	if t.said == nil {
		return r.readDir(ctx, regular.Until(ctx, t.root.FS()))
	}
	if _, err := t.said.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return ReadSiteDigests(t.said, func(p *PageSaid) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		digest := p.Digest
		return r.take(p.At, replicaFile{said: &digest, modified: p.Modified})
	})
}

func (r *replicaPages) close() error {
	var errs []error
	for _, t := range r.trees {
		if t.said != nil {
			errs = append(errs, t.said.Close())
		} else {
			errs = append(errs, t.root.Close())
		}
	}
	if r.state != nil {
		errs = append(errs, r.state.Close())
	}
	return errors.Join(errs...)
}

// readDir takes a directory: a PHM when it has a phm.json, else files at HOST/PATH.
func (r *replicaPages) readDir(ctx context.Context, fsys fs.FS) error {
	if _, err := fs.Stat(fsys, phm.MetaName); err == nil {
		return r.readPHM(ctx, fsys)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			r.bad++
			r.warn(err.Error())
			return nil
		}
		if err := ctx.Err(); err != nil || !d.Type().IsRegular() {
			return err
		}
		host, rest, ok := strings.Cut(name, "/")
		if !ok {
			r.skipped++
			return nil
		}
		html, ok := PageName(name)
		if !ok {
			r.skipped++
			return nil
		}
		if rest == "index.html" {
			rest = ""
		}
		file := replicaFile{fsys: fsys, name: name, html: html}
		return r.take(collections.Address{Host: strings.ToLower(host), Path: "/" + rest}, file)
	})
}

// PageName says by its name whether a file is a page, and whether it is HTML.
func PageName(name string) (html, ok bool) {
	switch strings.ToLower(path.Ext(name)) {
	case ".html", ".htm", ".xhtml", ".shtml", ".php", ".asp", ".jsp", "":
		return true, true
	case ".txt", ".md", ".rst":
		return false, true
	}
	return false, false
}

func (r *replicaPages) readPHM(ctx context.Context, fsys fs.FS) error {
	table, err := fsys.Open(phm.FilesName)
	if err != nil {
		return err
	}
	defer table.Close()
	for f, err := range phm.Files(table) {
		if line := (*phm.LineError)(nil); errors.As(err, &line) {
			r.bad++
			r.warn(err.Error())
			continue
		} else if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		html := f.Type == "text/html" || f.Type == "application/xhtml+xml"
		if !html && f.Type != "text/plain" {
			r.skipped++
			continue
		}
		host, p, err := hosts.SplitURL([]byte(f.URL))
		if err != nil {
			r.bad++
			r.warn(fmt.Sprintf("%s: %v", f.Path, err))
			continue
		}
		if err := r.take(collections.Address{
			Host: string(host),
			Path: string(p),
		}, replicaFile{
			fsys:     fsys,
			name:     f.Path,
			html:     html,
			url:      f.URL,
			modified: f.Modified,
		}); err != nil {
			return err
		}
	}
	return nil
}

// find looks the trees through once more for the files of some pages. Nothing is counted, and nothing said.
func (r *replicaPages) find(ctx context.Context, wanted map[hosts.TestRequest]replicaFile) error {
	again := replicaPages{trees: r.trees, warn: func(string) {}}
	again.take = func(a collections.Address, file replicaFile) error {
		if _, ok := wanted[hosts.TestRequest(a)]; ok {
			wanted[hosts.TestRequest(a)] = file
		}
		return nil
	}
	return again.read(ctx)
}

// isPage says whether a body is a page's. Names without an ending say nothing about it.
func (f replicaFile) isPage(body []byte) bool {
	return !f.html || path.Ext(f.name) != "" || text.IsText(body)
}

func (f replicaFile) read() ([]byte, error) {
	file, err := f.fsys.Open(f.name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxReplicaPage))
}

// openMirrors adds the published trees of all mirrors of a state.
func (r *replicaPages) openMirrors(st *store.State) error {
	sites, err := st.Sites()
	if err != nil {
		return err
	}
	for _, name := range sites {
		root, err := env.OpenTree(st, name)
		if errors.Is(err, record.ErrNoVersion) {
			continue
		}
		if err != nil {
			r.bad++
			r.warn(fmt.Sprintf("site %s: %v", name, err))
			continue
		}
		r.trees = append(r.trees, replicaTree{name: "site " + name, root: root, site: name})
	}
	return nil
}
