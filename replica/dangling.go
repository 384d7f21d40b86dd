package replica

import (
	"cmp"
	"slices"
	"strings"
)

// LiftDangling gives the pages of a partial copy the links that they would have in a whole one. dangling holds, of each page by number (it may
// be shorter than the pages), the paths on its host that it refers to and that are no pages. Such a reference counts as a link to the page
// that the page's nearest counterpart, of the same trivial cluster, reaches by the same relative reference. Copies made without rewriting
// their links have no others to the pages that they lack, and extended clusters would not find them. The links of w are not changed. Of a cluster of
// more than 256 pages, 32 counterparts are looked at: those about the page by host and path.
func LiftDangling(w Web, sets *Sets, dangling [][]string) Web {
	number := make(map[Address]uint32, len(w.Pages))
	for i, a := range w.Pages {
		number[a] = uint32(i)
	}
	members, at := map[uint32][]uint32{}, make([]uint32, len(w.Pages)) // by host and path; where a page is among those of its cluster
	for root, set := range sets.All(2) {
		slices.SortFunc(set, func(a, b uint32) int {
			return cmp.Or(w.Pages[a].compare(w.Pages[b]), cmp.Compare(a, b))
		})
		for i, p := range set {
			at[p] = uint32(i)
		}
		members[root] = set
	}
	out := Web{Pages: w.Pages, Links: slices.Clone(w.Links)}
	var counterparts []counterpart
	for i, paths := range dangling {
		p := uint32(i)
		set := members[sets.Find(p)]
		if len(paths) == 0 || len(set) == 0 {
			continue
		}
		if len(set) > maxPosting {
			from := min(max(0, int(at[p])-nearest/2), len(set)-nearest)
			set = set[from : from+nearest]
		}
		counterparts = w.counterparts(counterparts[:0], p, set)
		links := slices.Clone(w.Links[p])
		for _, path := range paths {
			up, rest := relativeTo(dirOf(w.Pages[p].Path), path)
			for _, counterpart := range counterparts {
				c := counterpart.page
				dir, ok := climb(dirOf(w.Pages[c].Path), up)
				q, known := number[Address{w.Pages[c].Host, dir + rest}]
				if _, linked := slices.BinarySearchFunc(w.Links[c], q, cmp.Compare[uint32]); ok && known && linked && q != p {
					links = append(links, q)
					break
				}
			}
		}
		slices.Sort(links)
		out.Links[p] = slices.Compact(links)
	}
	return out
}

// nearest is how many counterparts are looked at in a cluster of more than maxPosting pages.
const nearest = 32

type counterpart struct {
	page uint32
	near int
}

// counterparts are the other pages of a set, in order of preference, as far as they have links.
func (w Web) counterparts(dst []counterpart, p uint32, set []uint32) []counterpart {
	for _, c := range set {
		if c != p && len(w.Links[c]) > 0 {
			dst = append(dst, counterpart{c, w.near(w.Pages[p], c)})
		}
	}
	slices.SortFunc(dst, func(a, b counterpart) int {
		return cmp.Or(cmp.Compare(b.near, a.near), cmp.Compare(a.page, b.page))
	})
	return dst
}

// relativeTo writes a path as seen from a directory: how many directories up, and what follows.
func relativeTo(dir, path string) (up int, rest string) {
	for !strings.HasPrefix(path, dir) {
		parent, ok := climb(dir, 1)
		if !ok {
			return up, path
		}
		dir = parent
		up++
	}
	return up, path[len(dir):]
}

// climb goes up from a directory; false beyond the top.
func climb(dir string, up int) (string, bool) {
	for ; up > 0; up-- {
		if len(dir) <= 1 {
			return "", false
		}
		dir = dirOf(dir[:len(dir)-1])
	}
	return dir, true
}
