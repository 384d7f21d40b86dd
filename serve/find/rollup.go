// SPDX-License-Identifier: Apache-2.0

package find

import (
	"slices"
	"strings"
)

// Results are rolled up as Cho, Shivakumar and Garcia-Molina show it (Finding replicated web collections,
// section 5.2): a collection that is in several places has one line, from which the reader gets to all its
// pages that match (Collection) and to its other copies (Replica).

// Families are directories that are copies of one another.
type Families struct {
	copies [][]string       // of each collection: directories without scheme, ending in "/"; the fullest first
	at     map[string]place // by directory
}

// place is the place of a URL in the copies.
type place struct {
	known      bool
	collection int
	copy       int // of the collection
	rest       string
}

// NewFamilies reads collections: of each the directories, without scheme, the one first that stands for all.
func NewFamilies(copies [][]string) *Families {
	f := &Families{at: map[string]place{}}
	for _, dirs := range copies {
		var all []string
		for _, d := range dirs {
			d = strings.TrimSuffix(d, "/") + "/"
			if _, taken := f.at[d]; !taken && !slices.Contains(all, d) {
				all = append(all, d)
			}
		}
		if len(all) < 2 {
			continue
		}
		for i, d := range all {
			f.at[d] = place{known: true, collection: len(f.copies), copy: i}
		}
		f.copies = append(f.copies, all)
	}
	return f
}

// find says where a URL lies: in the innermost directory that is a copy.
func (f *Families) find(url string) (p place) {
	if f == nil || len(f.at) == 0 {
		return p
	}
	_, url, _ = strings.Cut(url, "://")
	for end := strings.LastIndexByte(url, '/'); end >= 0; end = strings.LastIndexByte(url[:end], '/') {
		if p, ok := f.at[url[:end+1]]; ok {
			p.rest = url[end+1:]
			return p
		}
	}
	return p
}

// canonical is the same for all copies of a page, and no URL; of any other page it is the URL.
func (f *Families) canonical(url string) string {
	p := f.find(url)
	if !p.known {
		return url
	}
	return "//" + f.copies[p.collection][0] + p.rest
}

// FoundCollection is a collection that is in several places.
type FoundCollection struct {
	At       string         `json:"at"`      // the copy that the line is of: where it begins
	Matches  int            `json:"matches"` // its pages that match, at least
	Replicas []FoundReplica `json:"replicas"`
}

// FoundReplica is another copy of a collection.
type FoundReplica struct {
	At      string `json:"at"`
	Matches int    `json:"matches"` // of its pages, at least
}

// rollUp makes one line of all pages of a collection: of the copy that stands for all, if it matches, else of
// the first one that does. Pages that lie in no collection have a line each.
func rollUp(pages []FoundPage, f *Families) []FoundPage {
	type count map[int]int // copy -> pages
	counts := map[int]count{}
	for i := range pages {
		p := &pages[i]
		if p.place = f.find(p.URL); !p.place.known {
			continue
		}
		c := counts[p.place.collection]
		if c == nil {
			c = count{}
			counts[p.place.collection] = c
		}
		c[p.place.copy]++
	}
	var out []FoundPage
	for _, p := range pages {
		c, ok := counts[p.place.collection]
		if !p.place.known || !ok {
			out = append(out, p)
			continue
		}
		first := p.place.copy
		for i := range c {
			first = min(first, i)
		}
		if first != p.place.copy {
			continue
		}
		dirs := f.copies[p.place.collection]
		p.Collection = &FoundCollection{At: dirs[first], Matches: c[first]}
		for i, d := range dirs {
			if i != first {
				p.Collection.Replicas = append(p.Collection.Replicas, FoundReplica{At: d, Matches: c[i]})
			}
		}
		out = append(out, p)
	}
	return out
}

// oneForEachCollection leaves the best page of each collection.
func oneForEachCollection(pages []FoundPage) []FoundPage {
	seen := map[int]bool{}
	return slices.DeleteFunc(pages, func(p FoundPage) bool {
		again := p.Collection != nil && seen[p.place.collection]
		seen[p.place.collection] = seen[p.place.collection] || p.Collection != nil
		return again
	})
}
