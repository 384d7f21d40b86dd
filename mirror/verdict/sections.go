// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"mirrord/site"
)

// A wall may stand in front of a section of a site only. Its answer to a path that cannot exist is had in
// that section.

const (
	mostSections    = 3     // of an origin that are probed, beside the directory that all of them are in
	mostDirectories = 10000 // that are kept apart
)

// sections counts pages by the URLs of their directories.
type sections map[string]int

// add counts a page.
func (s sections) add(u site.URL) {
	dir := u.Origin() + u.Dir()
	if _, known := s[dir]; !known && (len(s) >= mostDirectories) {
		dir = u.Origin() + "/"
	}
	s[dir]++
}

// byOrigin parts the directories of several origins.
func (s sections) byOrigin() map[string]sections {
	out := map[string]sections{}
	for dir, n := range s {
		origin := originOf(dir)
		if out[origin] == nil {
			out[origin] = sections{}
		}
		out[origin][dir] = n
	}
	return out
}

// doubtful returns the URLs of directories of one origin that are worth a probe: that of all of these pages,
// and the sections in it that have most.
func (s sections) doubtful() (dirs []string) {
	if s.pages() <= softLeast {
		return nil
	}
	top := s.parent()
	below := map[string]sections{} // by the directory directly in top
	for dir, n := range s {
		name, _, in := strings.Cut(dir[len(top):], "/")
		if !in {
			continue
		}
		if below[name] == nil {
			below[name] = sections{}
		}
		below[name][dir] = n
	}
	names := slices.SortedFunc(maps.Keys(below), func(a, b string) int {
		return cmp.Or(cmp.Compare(below[b].pages(), below[a].pages()), cmp.Compare(a, b))
	})
	dirs = append(dirs, top)
	for _, name := range names[:min(len(names), mostSections)] {
		if below[name].pages() > softLeast {
			dirs = append(dirs, below[name].parent())
		}
	}
	return dirs
}

func (s sections) pages() (n int) {
	for _, k := range s {
		n += k
	}
	return n
}

// parent is the directory that all are in.
func (s sections) parent() (top string) {
	for dir := range s {
		if top == "" {
			top = dir
		}
		for !strings.HasPrefix(dir, top) {
			top = top[:strings.LastIndexByte(top[:len(top)-1], '/')+1]
		}
	}
	return top
}

// originOf returns the origin of the URL of a directory.
func originOf(dir string) string {
	i := strings.Index(dir, "://") + len("://")
	return dir[:i+strings.IndexByte(dir[i:], '/')]
}
