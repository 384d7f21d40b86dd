// SPDX-License-Identifier: Apache-2.0

package find

import (
	"context"
	"database/sql"
	"errors"
	"slices"
)

// Weigh counts for each page how many others link to it. A page and its copies are one: what they link to is
// linked to once, and a link to one of them is a link to all.
func (x *Index) Weigh(ctx context.Context, f *Families) (err error) {
	tx, err := x.db.BeginTx(ctx, nil)
	if err != nil {
		return damage(err)
	}
	defer func() { err = errors.Join(err, (&IndexChange{tx: tx}).Rollback()) }()
	w := weighing{canon: map[uint32]uint32{}, named: map[uint32]int{}}
	err = each(ctx, tx, "SELECT id, url, named FROM text WHERE last = 0", func(scan func(...any) error) error {
		var t weighed
		var url string
		if err := scan(&t.id, &url, &t.was); err != nil {
			return err
		}
		t.page = LinkHash(url)
		if c := f.canonical(url); c != url {
			w.canon[t.page] = LinkHash(c)
		}
		w.pages = append(w.pages, t)
		return nil
	})
	if err == nil {
		const q = "SELECT t.url, s.links FROM text t JOIN said s USING(id) WHERE t.last = 0"
		err = each(ctx, tx, q, func(scan func(...any) error) error {
			var url string
			var packed []byte
			if err := scan(&url, &packed); err != nil {
				return err
			}
			w.page(LinkHash(url), packed)
			return nil
		})
	}
	if err != nil {
		return damage(err)
	}
	w.family()
	set, err := tx.PrepareContext(ctx, "UPDATE text SET named = ? WHERE id = ?")
	if err != nil {
		return damage(err)
	}
	for _, t := range w.pages {
		if n := w.named[w.of(t.page)]; n != t.was {
			if _, err := set.ExecContext(ctx, n, t.id); err != nil {
				return damage(err)
			}
		}
	}
	return damage(tx.Commit())
}

// querier is a database, or a transaction.
type querier interface {
	QueryContext(ctx context.Context, q string, args ...any) (*sql.Rows, error)
}

// each calls f for each row.
func each(
	ctx context.Context, in querier, q string, f func(scan func(...any) error) error, args ...any,
) error {
	rows, err := in.QueryContext(ctx, q, args...)
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// weighing counts links.
type weighing struct {
	pages []weighed
	canon map[uint32]uint32 // LinkHash of a URL that is a copy -> of the page that stands for all
	named map[uint32]int    // pages that link to one
	// of copies: from what to what. Other pages are counted as they are read.
	copies [][2]uint32
	links  []uint32
}

type weighed struct {
	id   int64
	page uint32
	was  int
}

// of is the page that stands for a page.
func (w *weighing) of(page uint32) uint32 {
	if c, ok := w.canon[page]; ok {
		return c
	}
	return page
}

// page counts what a page links to.
func (w *weighing) page(url uint32, packed []byte) {
	from, copied := w.canon[url]
	if !copied {
		from = url
	}
	w.links = w.links[:0]
	unpackLinks(packed, func(link uint32) {
		switch to := w.of(link); {
		case to == from:
		case copied:
			w.copies = append(w.copies, [2]uint32{from, to})
		default:
			w.links = append(w.links, to)
		}
	})
	slices.Sort(w.links)
	for _, to := range slices.Compact(w.links) {
		w.named[to]++
	}
}

// family counts what copies link to: each once.
func (w *weighing) family() {
	slices.SortFunc(w.copies, func(a, b [2]uint32) int { return slices.Compare(a[:], b[:]) })
	for _, l := range slices.Compact(w.copies) {
		w.named[l[1]]++
	}
}
