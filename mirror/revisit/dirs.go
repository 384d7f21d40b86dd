// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"strings"

	"mirrord/evolution/policy"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// DirTable numbers the directories of URLs, parents first. The directories of the primary origin begin at the
// root, those of other hosts below @host. It is not safe for concurrent use.
type DirTable struct {
	primary string // origin
	num     map[string]policy.Dir
	path    []string // by number; the root's is ""
	parent  []policy.Dir

	folded []bool // by number: it holds only its index, which counts as a page of the one above; see ShownDirs

	origin, dir string // of the last URL
	last        policy.Dir
}

// ShownDirs returns the directories of a site as they are shown: one that holds nothing but its index counts
// as a page of the directory above it. Sites with an address for each page that ends with a slash would
// otherwise have as many directories as pages. listings are directory listings, which are no such pages.
// Rules are mined from the directories as they are, see NewDirTable.
func (k KnownSite) ShownDirs(listings urls.IDSet) *DirTable {
	d, _ := k.foldedDirs(listings)
	return d
}

// weighedDirs are the directories by which requests are weighed: those of ShownDirs, where most are folded.
func (k KnownSite) weighedDirs(listings urls.IDSet) *DirTable {
	d, live := k.foldedDirs(listings)
	folds := policy.Folds(d.parent, live, d.folded)
	for n := range d.folded {
		d.folded[n] = d.folded[n] && folds[d.parent[n]]
	}
	return d
}

// foldedDirs are ShownDirs; live are those with something of the mirror in them or below.
func (k KnownSite) foldedDirs(listings urls.IDSet) (d *DirTable, live []bool) {
	d = NewDirTable(k.Primary)
	var files []uint32 // by number: of the mirror
	var kept []bool    // by number: it holds something else, or something lies below it
	var more []bool    // the same of all URLs, also of those no longer in the mirror
	urls := k.Table.Reader()
	for id, s := range k.Table.All() {
		if !s.Given() {
			continue
		}
		u := urls.URL(id)
		n := d.Of(u)
		if add := len(d.path) - len(files); add > 0 {
			files, kept = append(files, make([]uint32, add)...), append(kept, make([]bool, add)...)
			more = append(more, make([]bool, add)...)
		}
		more[n] = more[n] || !isIndex(u)
		if s.InSet() {
			files[n]++
			kept[n] = kept[n] || listings.Has(id) || !isIndex(u)
		}
	}
	d.folded, live = make([]bool, len(d.path)), make([]bool, len(d.path))
	for n := policy.Dir(len(d.path)) - 1; n > policy.Root && len(files) > 0; n-- { // parents come first
		if live[n] = files[n] > 0 || kept[n]; live[n] {
			kept[d.parent[n]] = true
		}
		more[d.parent[n]] = true
		isHost := d.parent[n] == policy.Root && strings.HasPrefix(d.path[n], "@")
		only := files[n] == 1 || (files[n] == 0 && !more[n]) // a page that went was one before
		d.folded[n] = only && !kept[n] && !isHost
	}
	return d, live
}

// isIndex reports whether a URL is that of a directory's own page.
func isIndex(u site.URL) bool {
	p := u.Path()
	return policy.IsIndex(p[strings.LastIndexByte(p, '/')+1:])
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

// Of returns the number of the directory in which a URL lies, or as a page of which it counts.
func (d *DirTable) Of(u site.URL) policy.Dir {
	n, _ := d.of(u)
	return n
}

// of is Of; folded says that the URL is in a directory below that one.
func (d *DirTable) of(u site.URL) (n policy.Dir, folded bool) {
	if u.Dir() != d.dir || u.Origin() != d.origin {
		d.origin, d.dir = u.Origin(), u.Dir()
		d.last = d.add(dirPath(u, d.primary))
	}
	if int(d.last) < len(d.folded) && d.folded[d.last] && isIndex(u) {
		return d.parent[d.last], true
	}
	return d.last, false
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
