// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"mirrord/store"
	"mirrord/store/pages"
)

// PageList says which pages the published version of a site has, and which entry of its file of digests
// (pages.DigestsFile) says what a page says: for machines that compare mirrors and have not this one.
type PageList struct {
	Version   int       `json:"version"`
	Retrieved time.Time `json:"retrieved"`
	File      File      `json:"file"` // its form is the lister's affair
}

// PageLister makes the list of the pages that a site has published, and says when they were retrieved. Each
// piece that it puts, of at most 1 MiB, is stored by itself: pieces that are those of the check-in before are
// not stored again. Without a list the check-in continues.
type PageLister func(
	ctx context.Context, t *store.Travelling, put func(piece []byte) error,
) (retrieved time.Time, err error)

// pagesName is the name of the list in messages.
const pagesName = "pages"

// putPages appends the list of pages to the manifest. The list stays as it was when the version did and its
// entries of digests have the same numbers.
func (c *checkin) putPages(ctx context.Context) error {
	if c.unit.pages == nil || c.unit.version == 0 {
		return nil
	}
	l := &PageList{Version: c.unit.version, File: File{Name: pagesName, Mode: 0o644}}
	was := map[SHA256]*Chunk{}
	if c.base != nil && c.base.Pages != nil {
		b := c.base.Pages
		if b.Version == l.Version && c.appended(pages.DigestsFile) && !slices.ContainsFunc(b.File.Chunks,
			func(w Chunk) bool { return !c.keeps(&w) }) {
			l.Retrieved, l.File.Size = b.Retrieved, b.File.Size
			for i := range b.File.Chunks {
				l.File.Chunks = append(l.File.Chunks, c.keep(&b.File.Chunks[i]))
			}
			c.m.Pages = l
			return nil
		}
		for i := range b.File.Chunks {
			was[b.File.Chunks[i].SHA256] = &b.File.Chunks[i]
		}
	}
	var failed error // to put a piece
	retrieved, err := c.unit.pages(ctx, c.unit.from, func(piece []byte) error {
		if len(piece) > maxChunk {
			return fmt.Errorf("a piece of %d bytes", len(piece))
		}
		l.File.Size += int64(len(piece))
		failed = c.place(piece, was[digestOf(piece)], &l.File)
		return failed
	})
	if l.Retrieved = retrieved; err == nil {
		c.m.Pages = l
	}
	return errors.Join(failed, ctx.Err())
}

// appended reports whether a file begins with all that it had before.
func (c *checkin) appended(name string) bool {
	was, now := c.base.file(name), c.m.file(name)
	if was == nil {
		return true
	}
	return now != nil && len(now.Chunks) >= len(was.Chunks) && slices.EqualFunc(was.Chunks,
		now.Chunks[:len(was.Chunks)], func(a, b Chunk) bool { return a.SHA256 == b.SHA256 })
}

// ErrNoPages says that a site was checked in without a list of its pages.
var ErrNoPages = errors.New("its last check-in has no list of its pages")

// movesOn is how often a pointer may be moved while its target is read.
const movesOn = 5

// ReadPages reads the list of the pages of a site, and its digests, as of its last check-in. known reports
// whether a list is known: then nothing of it is fetched. Else use is given both as files, which it must not
// keep; digests is nil when the site has none. They lie in a folder until they are closed, without names.
func ReadPages(
	ctx context.Context, d *Depot, site, folder string, known func(*PageList) bool,
	use func(list, digests *os.File) error,
) (*PageList, error) {
	for moves := 0; ; moves++ {
		p, _, err := d.pointer(ctx, site)
		if err != nil {
			return nil, err
		}
		l, err := readPages(ctx, d, p, folder, known, use)
		if err == nil {
			return l, nil
		}
		err = fmt.Errorf("pages of %s: %w", site, err)
		if !errors.Is(err, ErrLost) || moves == movesOn {
			return nil, err
		}
		if now, _, perr := d.pointer(ctx, site); perr != nil || now.Checkin == p.Checkin {
			return nil, errors.Join(err, perr)
		}
	}
}

func readPages(
	ctx context.Context, d *Depot, p *Pointer, folder string, known func(*PageList) bool,
	use func(list, digests *os.File) error,
) (_ *PageList, err error) {
	m, err := readManifest(ctx, d.Store, p)
	if err != nil {
		return nil, err
	}
	if m.Pages == nil {
		return nil, ErrNoPages
	}
	if known(m.Pages) {
		return m.Pages, nil
	}
	var pieces []piece
	var files [2]*os.File
	for i, f := range []*File{&m.Pages.File, m.file(pages.DigestsFile)} {
		if f == nil {
			continue
		}
		file, err := os.CreateTemp(folder, ".pages-")
		if err != nil {
			return nil, err
		}
		defer file.Close() // it has no name: unwritten data is of no use
		if err := os.Remove(file.Name()); err != nil {
			return nil, err
		}
		files[i] = file
		pieces = append(pieces, f.pieces(m, file)...)
	}
	if err := fetch(ctx, d.Store, pieces); err != nil {
		return nil, err
	}
	return m.Pages, use(files[0], files[1])
}
