// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"errors"
	"fmt"
	"slices"
)

// ErrScript reports that edits do not fit: they delete or update missing files, or insert present ones.
var ErrScript = errors.New("the edit script does not fit")

// row is what a step says of one directory: of the files directly in it.
type row struct {
	dir                        Dir
	inserted, deleted, updated uint32
}

// gap is a directory in which, from a step on, so many files are not looked at, or so many fewer are counted.
type gap struct {
	dir   Dir
	files uint32
}

// counts is what a site has, directory by directory, after some step. It grows with the table of directories.
type counts struct {
	files []uint32 // directly in the directory
	nf    []uint32 // in the subtree
	nd    []uint32 // directories of the subtree that exist, this one among them

	// What was not looked at in the last step. Nil until something was not.
	missed []uint32 // of files
	lost   []uint32 // of nf
	dark   []uint32 // of nd: those of which no file was looked at
	black  []bool   // whether the directory itself is one of dark

	// Of the last step.
	touched []Dir    // in which something changed, or below which, ascending
	change  []Change // of touched

	stamp []uint32 // 1 + the directory's place in touched while a step is applied
}

func (c *counts) grow(n int) {
	if more := n - len(c.files); more > 0 {
		add := func(s []uint32) []uint32 { return append(s, make([]uint32, more)...) }
		c.files, c.nf, c.nd, c.stamp = add(c.files), add(c.nf), add(c.nd), add(c.stamp)
		if c.missed != nil {
			c.missed, c.lost, c.dark = add(c.missed), add(c.lost), add(c.dark)
			c.black = append(c.black, make([]bool, more)...)
		}
	}
	if c.nd[Root] == 0 {
		c.nd[Root] = 1
	}
}

// nodes is how many nodes a directory's subtree has.
func (c *counts) nodes(d Dir) int { return int(c.nf[d] + c.nd[d]) }

// check says whether rows fit what the site has.
func (c *counts) check(dirs *Dirs, rows []row) error {
	total := uint64(c.nf[Root])
	for _, r := range rows {
		if have := uint64(c.files[r.dir]); uint64(r.deleted)+uint64(r.updated) > have {
			return fmt.Errorf("directory %q: %w: %d files deleted and %d updated of %d", dirs.Path(r.dir), ErrScript,
				r.deleted, r.updated, have)
		}
		total += uint64(r.inserted)
		if total > 1<<31 {
			return fmt.Errorf("directory %q: %w: more files than a history takes", dirs.Path(r.dir), ErrScript)
		}
	}
	return nil
}

// join takes files that count as one with others from now on.
func (c *counts) join(dirs *Dirs, j gap) {
	c.files[j.dir] -= j.files
	for d := j.dir; ; d = dirs.Parent(d) {
		if d == Root {
			c.nf[d] -= j.files
			return
		}
		if c.nf[d] -= j.files; c.nf[d] > 0 {
			continue
		}
		for up := d; ; up = dirs.Parent(up) {
			if c.nd[up]--; up == Root {
				break
			}
		}
	}
}

// apply takes a step that fits. The rows are ascending.
func (c *counts) apply(dirs *Dirs, rows []row, gaps, joins []gap) {
	for _, j := range joins {
		c.join(dirs, j)
	}
	if c.touched, c.change = c.touched[:0], c.change[:0]; cap(c.touched) > 4096 &&
		len(rows) < cap(c.touched)/16 {
		c.touched, c.change = nil, nil // what the base needed, later steps do not
	}
	for _, r := range rows {
		for d := r.dir; c.stamp[d] == 0; d = dirs.Parent(d) {
			c.stamp[d] = 1
			c.touched = append(c.touched, d)
			if d == Root {
				break
			}
		}
	}
	slices.Sort(c.touched)
	for i, d := range c.touched {
		c.stamp[d] = uint32(i) + 1
		c.change = append(c.change, Change{Old: c.nodes(d)})
	}
	for _, r := range rows {
		x := &c.change[c.stamp[r.dir]-1]
		x.Inserted += int(r.inserted)
		x.Deleted += int(r.deleted)
		x.Updated += int(r.updated)
		c.files[r.dir] += r.inserted - r.deleted
		if net := r.inserted - r.deleted; net != 0 {
			for d := r.dir; ; d = dirs.Parent(d) {
				c.nf[d] += net
				if d == Root {
					break
				}
			}
		}
	}
	// From the deepest up: what lies below a directory is complete when its turn comes.
	for i := len(c.touched) - 1; i >= 0; i-- {
		d, x := c.touched[i], &c.change[i]
		if d == Root {
			break
		}
		up := &c.change[c.stamp[dirs.Parent(d)]-1]
		was, is := x.Old > 0, c.nf[d] > 0
		switch {
		case is && !was:
			x.Inserted++
		case was && !is:
			x.Deleted++
		}
		up.Inserted += x.Inserted
		up.Deleted += x.Deleted
		up.Updated += x.Updated
		if is != was {
			by := uint32(1)
			if was {
				by = ^uint32(0)
			}
			for a := d; ; a = dirs.Parent(a) {
				c.nd[a] += by
				if a == Root {
					break
				}
			}
		}
	}
	for _, d := range c.touched {
		c.stamp[d] = 0
	}
	c.miss(dirs, gaps, joins)
}

// miss takes in the files not looked at from this step on, and what came and went among it.
func (c *counts) miss(dirs *Dirs, gaps, joins []gap) {
	if c.missed == nil {
		if len(gaps) == 0 {
			return
		}
		n := len(c.files)
		c.missed, c.lost, c.dark, c.black = make([]uint32, n), make([]uint32, n), make([]uint32, n), make([]bool, n)
	}
	around := slices.Clone(c.touched) // all that may turn dark, or back
	for _, d := range around {
		c.stamp[d] = 1
	}
	for i, g := range slices.Concat(gaps, joins) {
		by := uint32(0)
		if i < len(gaps) {
			by = g.files - c.missed[g.dir]
			c.missed[g.dir] = g.files
		}
		for d := g.dir; ; d = dirs.Parent(d) {
			c.lost[d] += by
			if c.stamp[d] == 0 {
				c.stamp[d] = 1
				around = append(around, d)
			}
			if d == Root {
				break
			}
		}
	}
	slices.Sort(around)
	for i, d := range around {
		c.stamp[d] = uint32(i) + 1
	}
	more := make([]uint32, len(around)) // to be added to dark; less is modulo 2^32
	for i := len(around) - 1; i >= 0; i-- {
		d := around[i]
		if black := c.nf[d] > 0 && c.lost[d] >= c.nf[d]; black != c.black[d] {
			c.black[d] = black
			if black {
				more[i]++
			} else {
				more[i]--
			}
		}
		c.dark[d] += more[i]
		if d != Root {
			more[c.stamp[dirs.Parent(d)]-1] += more[i]
		}
		c.stamp[d] = 0
	}
}
