package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"mirrord/phm"
	"mirrord/replica"
	"mirrord/store"
)

// maxReplicaPage bounds what is read of one page.
const maxReplicaPage = 128 << 20

// replicaPages are the pages that replicas are looked for among: their addresses, their digests, and where their bytes lie.
type replicaPages struct {
	pages   []replica.Address
	digests []replica.Digest
	files   []replicaFile

	skipped  int // files that are no pages
	bad      int // files that could not be read, and addresses that are none
	sketcher *replica.Sketcher
	note     func(string) // one line on progress
	warn     func(string)
}

type replicaFile struct {
	fsys fs.FS
	name string
	html bool
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
		html, ok := pageName(name)
		if !ok {
			r.skipped++
			return nil
		}
		if rest == "index.html" {
			rest = ""
		}
		r.add(replica.Address{Host: strings.ToLower(host), Path: "/" + rest}, replicaFile{fsys, name, html})
		return nil
	})
}

// pageName says by its name whether a file is a page, and whether it is HTML.
func pageName(name string) (html, ok bool) {
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
		host, p, err := replica.SplitURL([]byte(f.URL))
		if err != nil {
			r.bad++
			r.warn(fmt.Sprintf("%s: %v", f.Path, err))
			continue
		}
		r.add(replica.Address{Host: string(host), Path: string(p)}, replicaFile{fsys, f.Path, html})
	}
	return nil
}

// add takes one page; one that cannot be read is said and left out.
func (r *replicaPages) add(a replica.Address, f replicaFile) {
	body, err := f.read()
	if err != nil {
		r.bad++
		r.warn(err.Error())
		return
	}
	if f.html && path.Ext(f.name) == "" && !replica.IsText(body) {
		r.skipped++
		return
	}
	var d replica.Digest
	if f.html {
		d = r.sketcher.HTML(body)
	} else {
		d = r.sketcher.Plain(body)
	}
	r.pages, r.digests, r.files = append(r.pages, a), append(r.digests, d), append(r.files, f)
	if len(r.pages)%1000 == 0 {
		r.note(fmt.Sprintf("%d pages read", len(r.pages)))
	}
}

func (f replicaFile) read() ([]byte, error) {
	file, err := f.fsys.Open(f.name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxReplicaPage))
}

// readMirrors takes the published pages of all mirrors of a state.
func (r *replicaPages) readMirrors(ctx context.Context, st *store.State, keep func(*os.Root)) error {
	sites, err := st.Sites()
	if err != nil {
		return err
	}
	for _, name := range sites {
		root, err := openTree(st, name)
		if errors.Is(err, store.ErrNoVersion) {
			continue
		}
		if err != nil {
			r.bad++
			r.warn(fmt.Sprintf("site %s: %v", name, err))
			continue
		}
		keep(root)
		if err := r.readDir(ctx, root.FS()); err != nil {
			return fmt.Errorf("site %s: %w", name, err)
		}
	}
	return nil
}
