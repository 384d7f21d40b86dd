// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/zeebo/xxh3"
)

// Dir is the number of a directory in a table. The root is 0. A directory's number is larger than its
// parent's.
type Dir uint32

// Root is the directory that always exists; its path is "".
const Root Dir = 0

// ErrBadPath reports an invalid path: empty, with an empty name, or with the name "." or "..".
var ErrBadPath = errors.New("not a path")

// Dirs is a table of directories, numbered in the order in which they came up. It takes about 20 bytes for
// each beside its name.
type Dirs struct {
	parent []Dir
	end    []uint32 // of the name in names; it begins where the one before ends
	names  []byte
	index  []Dir // open addressing by parent and name; 0 is free, since the root is not in it
}

// Len is how many directories the table has; at least one, the root.
func (d *Dirs) Len() int { return max(1, len(d.parent)) }

// Parent is the directory above; the root's is the root.
func (d *Dirs) Parent(n Dir) Dir {
	if n == Root {
		return Root
	}
	return d.parent[n]
}

func (d *Dirs) name(n Dir) []byte {
	if n == Root {
		return nil
	}
	return d.names[d.end[n-1]:d.end[n]]
}

// Path is a directory's path without a slash at the end; the root's is "".
func (d *Dirs) Path(n Dir) string {
	size := 0
	for m := n; m != Root; m = d.Parent(m) {
		size += len(d.name(m)) + 1
	}
	if size == 0 {
		return ""
	}
	b := make([]byte, size-1)
	for at := len(b); n != Root; n = d.Parent(n) {
		at -= copy(b[at-len(d.name(n)):], d.name(n))
		if at > 0 {
			at--
			b[at] = '/'
		}
	}
	return string(b)
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
		child, _ := d.find(n, name)
		if child == Root {
			return n, path
		}
		n, path = child, below
	}
	return n, ""
}

func (d *Dirs) hash(parent Dir, name string) uint64 {
	return xxh3.HashStringSeed(name, uint64(parent))
}

// find returns the directory, or Root and the place in the index where it belongs.
func (d *Dirs) find(parent Dir, name string) (Dir, int) {
	if len(d.index) == 0 {
		return Root, -1
	}
	mask := uint64(len(d.index) - 1)
	for at := d.hash(parent, name) & mask; ; at = (at + 1) & mask {
		n := d.index[at]
		if n == Root {
			return Root, int(at)
		}
		if d.parent[n] == parent && string(d.name(n)) == name {
			return n, int(at)
		}
	}
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
		child, err := d.addChild(n, name)
		if err != nil {
			return Root, err
		}
		n, rest = child, below
	}
	return n, nil
}

// addChild enters a directory that is not in the table.
func (d *Dirs) addChild(parent Dir, name string) (Dir, error) {
	if len(d.parent) == 0 {
		d.parent, d.end = append(d.parent, Root), append(d.end, 0)
	}
	if len(d.parent) == math.MaxInt32 || uint64(len(d.names)+len(name)) > math.MaxUint32 {
		return Root, fmt.Errorf("directory %q: the table is full", name)
	}
	n := Dir(len(d.parent))
	d.parent = append(d.parent, parent)
	d.names = append(d.names, name...)
	d.end = append(d.end, uint32(len(d.names)))
	if len(d.parent)*4 > len(d.index)*3 {
		d.grow()
	} else {
		_, at := d.find(parent, name)
		d.index[at] = n
	}
	return n, nil
}

func (d *Dirs) grow() {
	d.index = make([]Dir, max(16, 2*len(d.index)))
	mask := uint64(len(d.index) - 1)
	for n := Dir(1); int(n) < len(d.parent); n++ {
		at := xxh3.HashSeed(d.name(n), uint64(d.parent[n])) & mask
		for d.index[at] != Root {
			at = (at + 1) & mask
		}
		d.index[at] = n
	}
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
