// SPDX-License-Identifier: Apache-2.0

package spare

import (
	"strings"

	"mirrord/policy"
	"mirrord/site"
)

// DirTable numbers the directories of URLs, parents first. The directories of the primary origin begin at the
// root, those of other hosts below @host. It is not safe for concurrent use.
type DirTable struct {
	primary string // origin
	num     map[string]policy.Dir
	path    []string // by number; the root's is ""
	parent  []policy.Dir

	origin, dir string // of the last URL
	last        policy.Dir
}

// NewDirTable returns a table with the root alone. primary is an origin.
func NewDirTable(primary string) *DirTable {
	return &DirTable{
		primary: primary,
		num:     map[string]policy.Dir{"": policy.Root},
		path:    []string{""},
		parent:  []policy.Dir{policy.Root},
	}
}

// Of returns the number of the directory in which a URL lies.
func (d *DirTable) Of(u site.URL) policy.Dir {
	if u.Dir() != d.dir || u.Origin() != d.origin {
		d.origin, d.dir = u.Origin(), u.Dir()
		d.last = d.add(dirPath(u, d.primary))
	}
	return d.last
}

// Path returns the path of a directory without slashes at its ends; "" is the root.
func (d *DirTable) Path(n policy.Dir) string { return d.path[n] }

func (d *DirTable) add(path string) policy.Dir {
	if n, ok := d.num[path]; ok {
		return n
	}
	up := policy.Root
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		up = d.add(path[:i])
	}
	n := policy.Dir(len(d.path))
	path = strings.Clone(path)
	d.num[path] = n
	d.path, d.parent = append(d.path, path), append(d.parent, up)
	return n
}

// dirPath is the path of a URL's directory, without slashes at its ends. Empty names in a path do not count.
func dirPath(u site.URL, primary string) string {
	p := strings.Trim(u.Dir(), "/")
	if strings.Contains(p, "//") {
		p = strings.Join(strings.FieldsFunc(p, func(c rune) bool { return c == '/' }), "/")
	}
	if u.Origin() == primary {
		return p
	}
	if p == "" {
		return "@" + u.Host()
	}
	return "@" + u.Host() + "/" + p
}
