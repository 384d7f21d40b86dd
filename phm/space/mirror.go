// SPDX-License-Identifier: Apache-2.0

package space

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"mirrord/phm"
)

// after is where the line after the one at a place begins.
func (m *mirror) after(at int64) int64 {
	i := bytes.IndexByte(m.table.data[at:], '\n')
	if i < 0 {
		return int64(len(m.table.data))
	}
	return at + int64(i) + 1
}

// files iterates over the table of a mirror in the space.
func (m *mirror) files() iter.Seq2[*phm.File, error] { return phm.Files(bytes.NewReader(m.table.data)) }

// docAt returns the hash of the document at a path.
func (m *mirror) docAt(p string, by seed) (uint64, bool) {
	for at := int64(0); at < int64(len(m.table.data)); {
		f, err := m.lineAt(at)
		if err != nil {
			return 0, false
		}
		if f.Path == p {
			return by.of(f.URL), true
		}
		at = m.after(at)
	}
	return 0, false
}

// change is a mirror on its way into the space, or out of it.
type change struct {
	*update
	was   *mirror
	is    *mirror
	src   *Source // nil when the mirror leaves
	all   bool    // no file in the space is certain
	added []phm.File
	other []phm.File // have a file at their path already
	left  []string   // paths
	late  int        // files that must wait until others have left
	docs  map[uint64]bool
	found linkBuilder
	lasts Lasts
}

// suffixes of the files of a mirror that are replaced together.
func suffixes() []string { return []string{".files", ".held", ".links"} }

const newSuffix = ".new"

// mirror updates one mirror of the space; n is nil when it leaves. An error of the mirror itself is
// noted in the report, and it stays as it is.
func (u *update) mirror(ctx context.Context, name string, n *Member) error {
	late, err := u.bring(ctx, name, n)
	if late > 0 && (err == nil) { // what they had to wait for has left, unless pages lead to it
		late, err = u.bring(ctx, name, n)
	}
	if late > 0 {
		u.late[name] = late
	}
	return err
}

// mirrorsAgain updates those again of which files had to wait for removals that came later.
func (u *update) mirrorsAgain(ctx context.Context, members map[string]*Member) error {
	again := u.late
	u.late = map[string]int{}
	if len(again) > 0 {
		if err := u.release(); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(again)) {
		if err := u.mirror(ctx, name, members[name]); err != nil {
			return err
		}
		if n := u.late[name]; n > 0 {
			u.leave(name, fmt.Errorf("%d files wait until others, to which pages still lead, have left", n))
		}
	}
	return nil
}

// bring is mirror without those files whose paths are taken by others that leave. late is how many.
func (u *update) bring(ctx context.Context, name string, n *Member) (late int, err error) {
	c := &change{
		update: u,
		was:    u.mirrors[name],
		all:    u.half[name],
		docs:   map[uint64]bool{},
	}
	if c.was == nil {
		c.was = &mirror{note: note{Name: name}}
	}
	c.is = &mirror{note: note{Name: name, Gone: n == nil}}
	if n != nil {
		c.is.Version, c.is.Table, c.is.Places, c.is.Repair = n.Version, n.Table, n.Places, n.Repair
		src, err := u.Open(name)
		if err != nil {
			u.leave(name, err)
			return 0, nil
		}
		defer src.Close() // read only: nothing can be lost
		c.src = src
		err = c.describeMirror()
		if err == nil {
			err = c.findLast()
		}
		if err != nil {
			u.leave(name, err)
			return 0, nil
		}
	}
	if err := c.read(ctx); err != nil {
		if ctx.Err() != nil || c.src == nil {
			return 0, errors.Join(err, ctx.Err())
		}
		u.leave(name, err)
		return 0, nil
	}
	if c.late > 0 {
		c.is.Table = "" // it is not yet as the member is
	}
	if err = c.apply(ctx); err != nil {
		return 0, err
	}
	if !slices.Contains(u.report.Mirrors, name) {
		u.report.Mirrors = append(u.report.Mirrors, name)
	}
	return c.late, nil
}

// leave notes that a mirror stays as it is.
func (u *update) leave(name string, err error) {
	u.report.Left[name] = err.Error()
}

// describeMirror reads phm.json.
func (c *change) describeMirror() error {
	meta, err := phm.OpenMeta(c.src.Tree.FS())
	if err != nil {
		return err
	}
	if meta.TableSum != c.is.Table {
		return errors.New("another version was published meanwhile")
	}
	c.is.Entry, c.is.Title, c.is.Files = meta.Entry, meta.Title, meta.Files
	return nil
}
