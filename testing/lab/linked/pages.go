// SPDX-License-Identifier: Apache-2.0

package linked

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"mirrord/app/env"
	"mirrord/app/replicas"
	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/replica/collections"
	"mirrord/replica/hosts"
	"mirrord/replica/text"
	"mirrord/store/record"
)

// readPage is a page of a directory or a mirror.
type readPage struct {
	At   collections.Address
	FS   fs.FS  // of its directory
	Name string // of the file
	URL  string // as the file table has it; "" without one
	HTML bool
	Body []byte
}

// pages reads pages and counts the files that are none, or cannot be read.
type pages struct {
	app          *env.App
	skipped, bad int
	take         func(*readPage) error
}

// each calls take with each page of directories; without directories of all mirrors of the state.
func (p *pages) each(ctx context.Context, dirs []string) (err error) {
	for _, dir := range dirs {
		root, err := regular.OpenRoot(dir)
		if err != nil {
			return err
		}
		if err := errors.Join(p.tree(ctx, regular.Until(ctx, root.FS())), root.Close()); err != nil {
			return err
		}
	}
	if len(dirs) > 0 {
		return nil
	}
	st, err := p.app.MustState()
	if err != nil {
		return err
	}
	defer env.Close(&err, st)
	sites, err := st.Sites()
	if err != nil {
		return err
	}
	for _, name := range sites {
		switch root, err := env.OpenTree(st, name); {
		case errors.Is(err, record.ErrNoVersion):
		case err != nil:
			p.lost(err)
		default:
			if err := errors.Join(p.tree(ctx, regular.Until(ctx, root.FS())), root.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pages) lost(err error) {
	p.bad++
	p.app.Warning(err.Error())
}

// tree reads a PHM, or a directory of files HOST/PATH.
func (p *pages) tree(ctx context.Context, fsys fs.FS) error {
	table, err := fsys.Open(phm.FilesName)
	if errors.Is(err, fs.ErrNotExist) {
		return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				p.lost(err)
				return nil
			}
			if !d.Type().IsRegular() {
				return ctx.Err()
			}
			host, rest, below := strings.Cut(name, "/")
			html, ok := replicas.PageName(name)
			if rest == "index.html" {
				rest = ""
			}
			at := collections.Address{Host: strings.ToLower(host), Path: "/" + rest}
			return p.page(ctx, below && ok, &readPage{
				At:   at,
				FS:   fsys,
				Name: name,
				HTML: html,
			})
		})
	} else if err != nil {
		return err
	}
	defer table.Close()
	for f, err := range phm.Files(table) {
		if line := (*phm.LineError)(nil); errors.As(err, &line) {
			p.lost(err)
			continue
		} else if err != nil {
			return err
		}
		html := f.Type == "text/html" || f.Type == "application/xhtml+xml"
		host, path, err := hosts.SplitURL([]byte(f.URL))
		if err != nil {
			p.lost(err)
			continue
		}
		if err := p.page(ctx, html || f.Type == "text/plain", &readPage{
			At:   collections.Address{Host: string(host), Path: string(path)},
			FS:   fsys,
			Name: f.Path,
			URL:  f.URL,
			HTML: html,
		}); err != nil {
			return err
		}
	}
	return nil
}

func (p *pages) page(ctx context.Context, is bool, one *readPage) error {
	var err error
	if is {
		one.Body, err = fs.ReadFile(one.FS, one.Name)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		p.lost(err)
		return nil
	case !is, one.HTML && path.Ext(one.Name) == "" && !text.IsText(one.Body):
		p.skipped++
		return nil
	}
	return p.take(one)
}
