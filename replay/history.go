// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Page is the number of a path in a history: 0, 1, ... in the order in which the paths first appear, so that
// a number says nothing of the future.
type Page int32

// Dir is the number of a directory in a history, in the order of first appearance; the root is 0 and a parent
// comes before its children.
type Dir int32

// Root is the directory that always exists.
const Root Dir = 0

// Content stands for what a page holds: equal numbers are equal contents. Gone is a page that is not there.
type Content uint32

// Gone is the content of a page that is not there.
const Gone Content = 0

// PageChange is one step of an edit script: from now on the page has this content.
type PageChange struct {
	Page    Page
	Content Content
	Size    int64 // bytes; -1 when not known, 0 when gone
}

// Version is one recorded state of a site, as the changes that lead to it.
type Version struct {
	Time    time.Time
	Commit  string
	Files   int          // in the version
	Changes []PageChange // sorted by path; each page once
}

// History is what a site was, version by version. It does not change once it is made, and may be read
// by many at once.
type History struct {
	Site     string
	Header   map[string]string // what else the recording says of itself
	Versions []Version

	pages []pageInfo
	dirs  []dirInfo
	links *links // nil: every directory has a listing
	whole []bool // by page: it comes with its body even if nothing changed; nil: none does
}

type pageInfo struct {
	path string
	dir  Dir
}

type dirInfo struct {
	path   string // "" is the root
	parent Dir    // -1 for none
	born   int    // the version in which it first was
	subs   []Dir  // all that ever were, sorted by path
	pages  []Page // directly in it, all that ever were, sorted by path
}

// Pages is how many paths the history names.
func (h *History) Pages() int { return len(h.pages) }

// Dirs is how many directories there ever were, the root included.
func (h *History) Dirs() int { return len(h.dirs) }

// Path is a page's path below the site's root.
func (h *History) Path(p Page) string { return h.pages[p].path }

// DirOf is the directory in which a page lies.
func (h *History) DirOf(p Page) Dir { return h.pages[p].dir }

// DirPath is a directory's path; "" is the root.
func (h *History) DirPath(d Dir) string { return h.dirs[d].path }

// Parent is the directory in which a directory lies; -1 for the root.
func (h *History) Parent(d Dir) Dir { return h.dirs[d].parent }

// Subdirs are the directories directly in one that ever were, sorted by path. The slice belongs to the
// history.
func (h *History) Subdirs(d Dir) []Dir { return h.dirs[d].subs }

// PagesIn are the pages directly in a directory that ever were, sorted by path. The slice belongs to the
// history.
func (h *History) PagesIn(d Dir) []Page { return h.dirs[d].pages }

// Record is one line of an edit script by name: Blob "" is a path that is gone.
type Record struct {
	Path string
	Blob string // equal blobs are equal contents
	Size int64
}

// maxPath bounds a path, and with it how many directories one line can make.
const maxPath = 4096

// Builder makes a History, version by version. Its zero value is ready.
type Builder struct {
	h        History
	pages    map[string]Page
	dirs     map[string]Dir
	contents map[string]Content
	state    []Content // of the last version
	files    int
	namedBy  map[string]string
	first    []string
	whole    []string
}

// Add appends the version that the records lead to. The records are sorted by path. What cannot be is an
// error that names the path: a time before the last version's, records out of order, a path twice, the
// deletion of a missing file. A record equal to the present state is no change.
func (b *Builder) Add(at time.Time, commit string, records []Record) error {
	if b.pages == nil {
		b.pages, b.dirs, b.contents = map[string]Page{}, map[string]Dir{"": Root}, map[string]Content{}
		b.h.dirs = []dirInfo{{parent: -1}}
	}
	if n := len(b.h.Versions); n > 0 && at.Before(b.h.Versions[n-1].Time) {
		return fmt.Errorf("version %d: its time %s is before that of version %d, %s", n, at.Format(time.RFC3339),
			n-1, b.h.Versions[n-1].Time.Format(time.RFC3339))
	}
	v := Version{Time: at, Commit: commit, Changes: make([]PageChange, 0, len(records))}
	for i, r := range records {
		if i > 0 && r.Path <= records[i-1].Path {
			if r.Path == records[i-1].Path {
				return fmt.Errorf("path %q stands twice in one version", r.Path)
			}
			return fmt.Errorf("path %q comes after %q: records must be sorted by path", r.Path, records[i-1].Path)
		}
		if err := b.apply(&v, r); err != nil {
			return err
		}
	}
	v.Changes = slices.Clip(v.Changes)
	v.Files = b.files
	b.h.Versions = append(b.h.Versions, v)
	return nil
}

func (b *Builder) apply(v *Version, r Record) error {
	page, seen := b.pages[r.Path]
	had := Gone
	if seen {
		had = b.state[page]
	}
	if r.Blob == "" {
		if had == Gone {
			return fmt.Errorf("path %q is deleted and is not there", r.Path)
		}
		b.state[page] = Gone
		b.files--
		v.Changes = append(v.Changes, PageChange{Page: page})
		return nil
	}
	if !seen {
		if err := validPath(r.Path); err != nil {
			return err
		}
		page = b.page(r.Path)
	}
	content, ok := b.contents[r.Blob]
	if !ok {
		content = Content(len(b.contents) + 1)
		b.contents[r.Blob] = content
	}
	if content == had {
		return nil
	}
	if had == Gone {
		b.files++
	}
	b.state[page] = content
	v.Changes = append(v.Changes, PageChange{page, content, r.Size})
	return nil
}

// has reports whether a path is there in the last version.
func (b *Builder) has(name string) bool {
	p, ok := b.pages[name]
	return ok && b.state[p] != Gone
}

func (b *Builder) page(name string) Page {
	name = strings.Clone(name) // without the line it was read from
	p := Page(len(b.h.pages))
	b.pages[name] = p
	b.state = append(b.state, Gone)
	d := b.dir(parentPath(name))
	b.h.pages = append(b.h.pages, pageInfo{name, d})
	b.h.dirs[d].pages = append(b.h.dirs[d].pages, p)
	return p
}

func (b *Builder) dir(name string) Dir {
	if d, ok := b.dirs[name]; ok {
		return d
	}
	parent := b.dir(parentPath(name))
	d := Dir(len(b.h.dirs))
	b.dirs[name] = d
	b.h.dirs = append(b.h.dirs, dirInfo{path: name, parent: parent, born: len(b.h.Versions)})
	b.h.dirs[parent].subs = append(b.h.dirs[parent].subs, d)
	return d
}

// parentPath is the directory of a path, "" at the top.
func parentPath(name string) string {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return ""
	}
	return name[:i]
}

func validPath(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("path is empty")
	case len(name) > maxPath:
		return fmt.Errorf("path %.40q... has %d bytes, %d are allowed", name, len(name), maxPath)
	case name[0] == '/' || name != path.Clean(name) || name == "." || name == ".." ||
		strings.HasPrefix(name, "../"):
		return fmt.Errorf("path %q is not a clean path below the site's root", name)
	case strings.ContainsAny(name, "\t\n\r\x00"):
		return fmt.Errorf("path %q has a tab, a line end or a zero byte in it", name)
	}
	return nil
}

// History returns what was added; the builder is spent.
func (b *Builder) History() *History {
	h := &b.h
	if len(h.dirs) == 0 {
		h.dirs = []dirInfo{{parent: -1}}
	}
	for i := range h.dirs {
		d := &h.dirs[i]
		slices.SortFunc(d.subs, func(x, y Dir) int { return strings.Compare(h.dirs[x].path, h.dirs[y].path) })
		slices.SortFunc(d.pages, func(x, y Page) int { return strings.Compare(h.pages[x].path, h.pages[y].path) })
	}
	b.link()
	b.wholePages()
	b.pages, b.dirs, b.contents, b.state = nil, nil, nil, nil
	return h
}
