// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"mirrord/replica/unionfind"
)

// linkedPage is a page and its references.
type linkedPage struct {
	at   Address
	refs []PageRef
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
				p := linkedPage{at: Address{fmt.Sprint("h", host), dir + name(page)}}
				for range r.IntN(8) {
					to := name((page*3 + r.IntN(4)) % 40)
					a := Address{p.at.Host, dir + to}
					if r.IntN(9) == 0 {
						a.Host = fmt.Sprint("h", r.IntN(4))
					}
					p.refs = append(p.refs, NewPageRef(a, []byte(to)))
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
func plainWeb(pages []linkedPage, sets *unionfind.Sets) (w LinkGraph, dangling int) {
	number := map[uint64]uint32{}
	for i, p := range slices.Backward(pages) {
		number[addressHash(p.at)] = uint32(i)
	}
	at, size := LinkGraph{Pages: addressesOf(pages)}, map[uint32]int{}
	for i := range pages {
		size[sets.Find(uint32(i))]++
	}
	w.Links = make([][]uint32, sets.Len())
	for range sets.Len() {
		w.Pages = append(w.Pages, Address{})
	}
	for i, p := range pages {
		w.Pages[i] = p.at
		var unknown []PageRef
		for _, r := range p.refs {
			if q, ok := number[r.Target]; !ok && size[sets.Find(uint32(i))] > 1 {
				unknown = append(unknown, r)
			} else if !ok {
				continue
			} else if q != uint32(i) { // none to itself
				w.Links[i] = append(w.Links[i], q)
			}
		}
		slices.SortFunc(unknown, PageRef.compare)
		for _, r := range slices.Compact(unknown) {
			best, target := -1, uint32(0)
			for k, other := range pages {
				for _, s := range other.refs {
					q, ok := number[s.Target]
					if !ok || s.Written != r.Written || sets.Find(uint32(k)) != sets.Find(uint32(i)) {
						continue
					}
					if n := nearness(at, p.at, uint32(k)); n > best {
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

func addressesOf(pages []linkedPage) (out []Address) {
	for _, p := range pages {
		out = append(out, p.at)
	}
	return out
}

// buildWeb is a LinkWeb of pages.
func buildWeb(pages []linkedPage, sets *unionfind.Sets, spill *memorySpill, memory int64) (*LinkWeb, error) {
	b := NewLinkBuilder(spill, LinkOptions{Memory: memory})
	for i := range sets.Len() {
		var p linkedPage
		if i < len(pages) {
			p = pages[i]
		} else {
			p.at = Address{"none", fmt.Sprint("/", i)}
		}
		if err := b.Add(p.at, slices.Clone(p.refs)); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	w, err := b.Web(sets, true)
	return w, errors.Join(err, b.Close())
}

// With any memory, the links and the clusters are those found in the obvious way.
func TestLinkWebFindsTheSame(t *testing.T) {
	o := Growing{Extended: true, SkipBoilerplate: true}
	found, dangled := 0, 0
	for seed := range uint64(4) {
		pages, sets := randomLinks(seed)
		want, dangling := plainWeb(pages, sets)
		clusters := Grow(want, sets, o)
		for _, memory := range []int64{1, 1 << 30} {
			spill := &memorySpill{}
			w, err := buildWeb(pages, sets, spill, memory)
			if err != nil {
				t.Fatal(err)
			}
			if w.Dangling != dangling {
				t.Errorf("seed %d, memory %d: %d dangling links, want %d", seed, memory, w.Dangling, dangling)
			}
			linked := 0
			err = w.each(func(p uint32, out []uint32) error {
				if !slices.Equal(out, want.Links[p]) {
					t.Errorf("seed %d, memory %d: page %d links to %d, want %d", seed, memory, p, out, want.Links[p])
				}
				linked += len(out)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			if n := len(slices.Concat(want.Links...)); linked != n || w.Links != n {
				t.Errorf("seed %d, memory %d: %d and %d links, want %d", seed, memory, linked, w.Links, n)
			}
			var got []Cluster
			if err := growAll(w, sets, o, w.room, func(c Cluster) { got = append(got, c) }); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, clusters) {
				t.Errorf("seed %d, memory %d: %d clusters, want %d", seed, memory, len(got), len(clusters))
			}
			if err := w.Close(); err != nil || spill.open > 0 || (memory == 1) != (spill.made > 0) {
				t.Errorf("%v, %d of %d files open", err, spill.open, spill.made)
			}
		}
		found, dangled = found+len(clusters), dangled+dangling
	}
	if found < 100 || dangled < 20 {
		t.Errorf("%d clusters, %d dangling links", found, dangled)
	}
}

// Wherever the disk is full, that is said, and all files are closed.
func TestLinkWebWithoutRoom(t *testing.T) {
	pages, sets := randomLinks(1)
	run := func(spill *memorySpill) error {
		w, err := buildWeb(pages, sets, spill, 1)
		if err == nil {
			_, err = w.Linked(sets, Growing{Extended: true}, 10)
			err = errors.Join(err, w.Close())
		}
		if spill.open > 0 {
			t.Errorf("%d files open", spill.open)
		}
		return err
	}
	room := &memorySpill{}
	if err := run(room); err != nil {
		t.Fatal(err)
	}
	for fail := 1; fail < room.bytes; fail += room.bytes / 15 {
		if err := run(&memorySpill{fail: fail}); !errors.Is(err, errSpill) {
			t.Errorf("space for %d of %d bytes: %v", fail, room.bytes, err)
		}
	}
}
