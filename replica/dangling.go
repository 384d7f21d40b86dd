package replica

import (
	"cmp"
	"slices"
	"strings"
)

// LiftDangling gives the pages of a partial copy the links that they would have in a whole one. dangling holds, of each page by number (it may
// be shorter than the pages), the paths on its host that it refers to and that are no pages. Such a reference counts as a link to the page
// that the page's nearest counterpart, of the same trivial cluster, reaches by the same relative reference. Copies made without rewriting
// their links have no others to the pages that they lack, and extended clusters would not find them. The links of w are not changed.
func LiftDangling(w Web, sets *Sets, dangling [][]string) Web {
	number := make(map[Address]uint32, len(w.Pages))
	for i, a := range w.Pages {
		number[a] = uint32(i)
	}
	members := map[uint32][]uint32{}
	for root, set := range sets.All(2) {
		members[root] = set
	}
	out := Web{Pages: w.Pages, Links: slices.Clone(w.Links)}
	for i, paths := range dangling {
		p := uint32(i)
		counterparts := slices.DeleteFunc(slices.Clone(members[sets.Find(p)]), func(c uint32) bool { return c == p })
		if len(paths) == 0 || len(counterparts) == 0 {
			continue
		}
		slices.SortFunc(counterparts, w.prefer(p))
		links := slices.Clone(w.Links[p])
		for _, path := range paths {
			up, rest := relativeTo(dirOf(w.Pages[p].Path), path)
			for _, c := range counterparts {
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
