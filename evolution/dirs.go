// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Dir is the number of a directory in a table. The root is 0. A directory's number is larger than its
// parent's.
type Dir uint32

// Root is the directory that always exists; its path is "".
const Root Dir = 0

// ErrBadPath reports an invalid path: empty, with an empty name, or with the name "." or "..".
var ErrBadPath = errors.New("not a path")

// Dirs is a table of directories, numbered in the order in which they came up. It takes about 90 bytes for
// each, its name included.
type Dirs struct {
	all   []child // by number, the root first
	index map[child]Dir
}

// child is a directory by the one above it.
type child struct {
	parent Dir
	name   string
}

// Len is how many directories the table has; at least one, the root.
func (d *Dirs) Len() int { return max(1, len(d.all)) }

// Parent is the directory above; the root's is the root.
func (d *Dirs) Parent(n Dir) Dir {
	if n == Root {
		return Root
	}
	return d.all[n].parent
}

// Path is a directory's path without a slash at the end; the root's is "".
func (d *Dirs) Path(n Dir) string {
	if n == Root {
		return ""
	}
	names := []string{d.all[n].name}
	for n = d.Parent(n); n != Root; n = d.Parent(n) {
		names = append(names, d.all[n].name)
	}
	slices.Reverse(names)
	return strings.Join(names, "/")
}

// Under reports whether a directory is top or lies below it.
func (d *Dirs) Under(n, top Dir) bool {
	for n > top {
		n = d.Parent(n)
	}
	return n == top
}

// Lookup finds a directory by its path.
func (d *Dirs) Lookup(path string) (Dir, bool) {
	n, rest := d.Nearest(path)
	return n, rest == ""
}

// Nearest finds the deepest directory of the table on a path, and what of the path is left below it.
func (d *Dirs) Nearest(path string) (n Dir, rest string) {
	for path != "" {
		name, below, _ := strings.Cut(path, "/")
		at := d.index[child{n, name}]
		if at == Root {
			return n, path
		}
		n, path = at, below
	}
	return n, ""
}

// add finds a directory and enters it, and those above it, where they are new.
func (d *Dirs) add(path string) (Dir, error) {
	n, rest := d.Nearest(path)
	if (rest == "" && path != "") || path == "" {
		return n, nil
	}
	if err := checkPath(path); err != nil {
		return Root, err
	}
	for rest != "" {
		name, below, _ := strings.Cut(rest, "/")
		at, err := d.addChild(child{n, strings.Clone(name)})
		if err != nil {
			return Root, err
		}
		n, rest = at, below
	}
	return n, nil
}

// addChild enters a directory that is not in the table.
func (d *Dirs) addChild(c child) (Dir, error) {
	if d.index == nil {
		d.all, d.index = []child{{}}, map[child]Dir{}
	}
	if len(d.all) == math.MaxInt32 {
		return Root, fmt.Errorf("directory %q: the table is full", c.name)
	}
	n := Dir(len(d.all))
	d.all = append(d.all, c)
	d.index[c] = n
	return n, nil
}

// checkPath refuses what cannot be the path of a file or of a directory other than the root.
func checkPath(path string) error {
	for rest, more := path, true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		if err := checkName(name); err != nil {
			return fmt.Errorf("path %q: %w", path, err)
		}
	}
	return nil
}

func checkName(name string) error {
	switch name {
	case "":
		return fmt.Errorf("%w: it has an empty name", ErrBadPath)
	case ".", "..":
		return fmt.Errorf("%w: it has the name %q", ErrBadPath, name)
	}
	return nil
}
