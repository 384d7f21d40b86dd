// SPDX-License-Identifier: Apache-2.0

package linked

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"mirrord/replica/collections"
	"mirrord/replica/unionfind"
)

// linkedPage is a page and its references.
type linkedPage struct {
	at   collections.Address
	refs []Ref
}

// randomLinks makes copies of a collection on several hosts, some without all pages, and trivial clusters.
func randomLinks(seed uint64) ([]linkedPage, *unionfind.Sets) {
	r := rand.New(rand.NewPCG(seed, 3))
	var out []linkedPage
	first := map[string]uint32{}
	sets := unionfind.New(1000)
	for c := range 6 {
		for host := range 2 + r.IntN(3) {
			for page := range 10 + r.IntN(30) {
				if r.IntN(6) == 0 {
					continue
				}
				name := func(n int) string {
					return []string{fmt.Sprintf("p%d.html", n), "index.html", ""}[min(n%9, 2)]
				}
				dir := fmt.Sprintf("/c%d/%d/", c, page/20)
				p := linkedPage{at: at(fmt.Sprint("h", host), dir+name(page))}
				for range r.IntN(8) {
					to := name((page*3 + r.IntN(4)) % 40)
					a := at(p.at.Host, dir+to)
					if r.IntN(9) == 0 {
						a.Host = fmt.Sprint("h", r.IntN(4))
					}
					p.refs = append(p.refs, NewRef(a, []byte(to)))
				}
				key := fmt.Sprint(c, page)
				if f, ok := first[key]; ok && r.IntN(8) > 0 {
					sets.Union(f, uint32(len(out)))
				} else {
					first[key] = uint32(len(out))
				}
				out = append(out, p)
			}
		}
	}
	return out, sets
}

// plainWeb resolves references in the obvious way.
func plainWeb(pages []linkedPage, sets *unionfind.Sets) (w Graph, dangling int) {
	number := map[uint64]uint32{}
	for i, p := range slices.Backward(pages) {
		number[addressHash(p.at)] = uint32(i)
	}
	whole, size := Graph{Pages: addressesOf(pages)}, map[uint32]int{}
	for i := range pages {
		size[sets.Find(uint32(i))]++
	}
	w.Links = make([][]uint32, sets.Len())
	for range sets.Len() {
		w.Pages = append(w.Pages, collections.Address{})
	}
	for i, p := range pages {
		w.Pages[i] = p.at
		var unknown []Ref
		for _, r := range p.refs {
			if q, ok := number[r.Target]; !ok && size[sets.Find(uint32(i))] > 1 {
				unknown = append(unknown, r)
			} else if !ok {
				continue
			} else if q != uint32(i) { // none to itself
				w.Links[i] = append(w.Links[i], q)
			}
		}
		slices.SortFunc(unknown, func(r, s Ref) int {
			return cmp.Or(cmp.Compare(r.Target, s.Target), cmp.Compare(r.Written, s.Written))
		})
		for _, r := range slices.Compact(unknown) {
			best, target := -1, uint32(0)
			for k, other := range pages {
				for _, s := range other.refs {
					q, ok := number[s.Target]
					if !ok || s.Written != r.Written || sets.Find(uint32(k)) != sets.Find(uint32(i)) {
						continue
					}
					if n := whole.nearness(p.at, uint32(k)); n > best {
						best, target = n, q
					}
				}
			}
			if best >= 0 && target != uint32(i) {
				w.Links[i] = append(w.Links[i], target)
				dangling++
			}
		}
	}
	for i := range w.Links {
		slices.Sort(w.Links[i])
		w.Links[i] = slices.Compact(w.Links[i])
	}
	return w, dangling
}

func addressesOf(pages []linkedPage) (out []collections.Address) {
	for _, p := range pages {
		out = append(out, p.at)
	}
	return out
}

// The links and the clusters are those found in the obvious way.
func TestWebFindsTheSame(t *testing.T) {
	o := Growing{Extended: true, SkipBoilerplate: true}
	found, dangled := 0, 0
	for seed := range uint64(4) {
		pages, sets := randomLinks(seed)
		want, dangling := plainWeb(pages, sets)
		var b GraphBuilder
		for i := range sets.Len() {
			p := linkedPage{at: at("none", fmt.Sprint("/", i))}
			if i < len(pages) {
				p = pages[i]
			}
			b.Add(p.at, p.refs)
		}
		w, n := b.Web(sets)
		if n != dangling {
			t.Errorf("seed %d: %d dangling links, want %d", seed, n, dangling)
		}
		for p, out := range w.Links {
			if !slices.Equal(out, want.Links[p]) {
				t.Errorf("seed %d: page %d links to %d, want %d", seed, p, out, want.Links[p])
			}
		}
		got, clusters := Grow(w, sets, o), Grow(want, sets, o)
		if !reflect.DeepEqual(got, clusters) {
			t.Errorf("seed %d: %d clusters, want %d", seed, len(got), len(clusters))
		}
		found, dangled = found+len(clusters), dangled+dangling
	}
	if found < 100 || dangled < 20 {
		t.Errorf("%d clusters, %d dangling links", found, dangled)
	}
}
