// SPDX-License-Identifier: Apache-2.0

// Package diff says in which way two versions of a mirror differ: per directory, and for one page line by
// line, for people to read. It works on what it is given and touches neither disk nor network.
package diff

import (
	"slices"
	"strings"

	"mirrord/phm"
)

// What became of a file.
const (
	Added   = "added"
	Changed = "changed"
	Removed = "removed"
)

// Dir sums up what differs in a directory and all below it.
type Dir struct {
	Path     string       `json:"path"` // mirror path without trailing slash; "." is the top
	Added    int          `json:"added"`
	Changed  int          `json:"changed"`
	Removed  int          `json:"removed"`
	Bytes    int64        `json:"bytes"`           // by how much the files that differ grew
	Dirs     []*Dir       `json:"dirs,omitempty"`  // those in which something differs, by name
	Files    []FileChange `json:"files,omitempty"` // directly in it, by name
	More     int          `json:"more,omitempty"`  // files that KeepFiles or Shorten left out
	MoreDirs int          `json:"-"`               // directories directly in it that Shorten left out
}

// FileChange is one file that differs.
type FileChange struct {
	Path   string `json:"path"`
	What   string `json:"what"`             // Added, Changed or Removed
	Before int64  `json:"before,omitempty"` // bytes
	After  int64  `json:"after,omitempty"`
}

// Trees compares two file tables, both sorted by path. Only the files' bytes count: one that moved is removed
// and added.
func Trees(a, b []phm.File) *Dir {
	top := &Dir{Path: "."}
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || (len(a) > 0 && a[0].Path < b[0].Path):
			top.add(FileChange{Path: a[0].Path, What: Removed, Before: a[0].Size})
			a = a[1:]
		case len(a) == 0 || b[0].Path < a[0].Path:
			top.add(FileChange{Path: b[0].Path, What: Added, After: b[0].Size})
			b = b[1:]
		default:
			if a[0].SHA256 != b[0].SHA256 {
				top.add(FileChange{b[0].Path, Changed, a[0].Size, b[0].Size})
			}
			a, b = a[1:], b[1:]
		}
	}
	return top
}

// add counts a change in all directories above it. Changes come in bytewise order of their paths, so that the
// files below a directory come one after the other: it is the last one of its parent, or new.
func (d *Dir) add(c FileChange) {
	for from := 0; ; {
		switch c.What {
		case Added:
			d.Added++
		case Changed:
			d.Changed++
		case Removed:
			d.Removed++
		}
		d.Bytes += c.After - c.Before
		i := strings.IndexByte(c.Path[from:], '/')
		if i < 0 {
			d.Files = append(d.Files, c)
			return
		}
		from += i + 1
		name := c.Path[:from-1]
		if n := len(d.Dirs); n == 0 || d.Dirs[n-1].Path != name {
			d.Dirs = append(d.Dirs, &Dir{Path: name})
		}
		d = d.Dirs[len(d.Dirs)-1]
	}
}

// Total is the number of files that differ.
func (d *Dir) Total() int { return d.Added + d.Changed + d.Removed }

// Find returns the directory of a path, nil when nothing differs in it.
func (d *Dir) Find(path string) *Dir {
	if d.Path == path {
		return d
	}
	for _, sub := range d.Dirs {
		if sub.Path == path || strings.HasPrefix(path, sub.Path+"/") {
			return sub.Find(path)
		}
	}
	return nil
}

// Walk calls f for the directory and all below it, parents first; depth counts from 0.
func (d *Dir) Walk(f func(d *Dir, depth int)) { d.walk(f, 0) }

func (d *Dir) walk(f func(*Dir, int), depth int) {
	f(d, depth)
	for _, sub := range d.Dirs {
		sub.walk(f, depth+1)
	}
}

// DropFiles forgets the single files, so that only directories are left.
func (d *Dir) DropFiles() {
	d.Walk(func(d *Dir, _ int) { d.Files = nil })
}

// KeepFiles keeps at most n files of each directory as examples.
func (d *Dir) KeepFiles(n int) {
	d.Walk(func(d *Dir, _ int) {
		if len(d.Files) > n {
			d.More, d.Files = len(d.Files)-n, d.Files[:n]
		}
	})
}

// Shorten keeps the directories directly in d in which most differs, at most dirs of them, and of each, with
// all below it, at most files as examples.
func (d *Dir) Shorten(dirs, files int) {
	own := len(d.Files) + d.More
	d.Files = d.Files[:min(files, len(d.Files))]
	d.More = own - len(d.Files)
	if len(d.Dirs) > dirs {
		slices.SortStableFunc(d.Dirs, func(x, y *Dir) int { return y.Total() - x.Total() })
		d.MoreDirs, d.Dirs = len(d.Dirs)-dirs, d.Dirs[:dirs]
		slices.SortFunc(d.Dirs, func(x, y *Dir) int { return strings.Compare(x.Path, y.Path) })
	}
	for _, sub := range d.Dirs {
		var examples []FileChange
		sub.Walk(func(below *Dir, _ int) {
			examples = append(examples, below.Files[:min(files-len(examples), len(below.Files))]...)
		})
		sub.Files, sub.Dirs, sub.More = examples, nil, sub.Total()-len(examples)
	}
}
