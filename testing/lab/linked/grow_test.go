// SPDX-License-Identifier: Apache-2.0

package linked

import (
	"fmt"
	"testing"

	"mirrord/replica/collections"
	"mirrord/replica/unionfind"
	"mirrord/testing/replicatest"
)

func at(host, path string) collections.Address { return collections.Address{Host: host, Path: path} }

// A collection of seven pages on h1, whose root links to all others, and a copy on h2 in another directory
// that lacks four of them; then the same with the links in the copy that lead to pages of the whole one.
func TestGrowPartialCopy(t *testing.T) {
	paths := []string{"x/a", "x/b", "x/c", "x/s/d", "x/s/e", "y/f", "y/g"}
	var w Graph
	for _, p := range paths {
		w.Pages = append(w.Pages, at("h1.test", "/pub/"+p))
	}
	for _, p := range paths[:3] {
		w.Pages = append(w.Pages, at("h2.test", "/"+p))
	}
	sets := unionfind.New(len(w.Pages))
	for i := range uint32(3) {
		sets.Union(i, 7+i)
	}
	linked := Graph{
		Pages: w.Pages,
		Links: [][]uint32{{1, 2}, {3, 4}, {5, 6}, nil, nil, nil, nil, {8, 9}, {3, 4}, {5, 6}},
	}
	w.Links = [][]uint32{{1, 2}, {3, 4}, {5, 6}, nil, nil, nil, nil, {8, 9}, nil, nil}
	for _, tc := range []struct {
		w    Graph
		o    Growing
		want string
	}{
		{w, Growing{Extended: true}, "[{[0 1 2] []} {[7 8 9] []}]"},
		{linked, Growing{}, "[{[0 1 2] []} {[7 8 9] []}]"},
		{linked, Growing{Extended: true}, "[{[0 1 2 3 4 5 6] []} {[7 8 9] [3 4 5 6]}]"},
	} {
		clusters := Grow(tc.w, sets, tc.o)
		if len(clusters) != 1 {
			t.Fatalf("%+v: %v", tc.o, clusters)
		}
		if got := fmt.Sprint(clusters[0].Collections); got != tc.want {
			t.Errorf("%+v: %s, want %s", tc.o, got, tc.want)
		}
	}
}

// Chains go below the collection's directory, and boilerplate that repeats in a directory breaks no
// collection.
func TestGrowOptions(t *testing.T) {
	w := Graph{
		Pages: []collections.Address{
			at("h1", "/x/a"), at("h2", "/x/a"), at("h1", "/x/c"), at("h1", "/x/d"), at("h1", "/y/e"),
		},
		Links: [][]uint32{{2}, {2}, {3, 4}, nil, nil},
	}
	sets := unionfind.New(5)
	sets.Union(0, 1)
	for _, tc := range []struct {
		chain ChainRule
		want  string
	}{{ChainNone, "[0 2]"}, {ChainPrefix, "[0 2 3]"}, {ChainAll, "[0 2 3 4]"}} {
		clusters := Grow(w, sets, Growing{Extended: true, Chain: tc.chain})
		if len(clusters) != 1 || fmt.Sprint(clusters[0].Rids) != tc.want {
			t.Errorf("chain %d: %+v, want %s", tc.chain, clusters, tc.want)
		}
	}
	w = Graph{
		Pages: []collections.Address{at("h1", "/h"), at("h1", "/p"), at("h1", "/q"), at("h1", "/r")},
		Links: [][]uint32{nil, {0}, {0}, {0}},
	}
	sets = unionfind.New(4)
	sets.Union(1, 2)
	sets.Union(1, 3)
	for skip, want := range map[bool]int{false: 2, true: 1} {
		clusters := Grow(w, sets, Growing{Extended: true, SkipBoilerplate: skip})
		if len(clusters) != 1 || len(clusters[0].Rids) != want {
			t.Errorf("skip %v: %+v, want %d trivial clusters", skip, clusters, want)
		}
	}
}

// A cluster of many pages, and many clusters of few, take time in proportion to the pages: with its square
// this would take hours.
func TestManyToGrow(t *testing.T) {
	n := 20_000
	if replicatest.Long() {
		n = 100_000
	}
	w, sets := Graph{Links: make([][]uint32, n)}, unionfind.New(n)
	for i := range n {
		w.Pages = append(w.Pages, at(fmt.Sprint("h", i%3, ".test"), fmt.Sprintf("/d%d/p%d", i/3%7, i)))
		w.Links[i] = []uint32{uint32((i + 1) % n)}
		sets.Union(0, uint32(i))
	}
	if clusters := Grow(w, sets, Growing{Extended: true, SkipBoilerplate: true}); len(clusters) != 1 ||
		len(clusters[0].Collections) != n {
		t.Errorf("%d clusters", len(clusters))
	}
	sets = unionfind.New(n)
	for i := range n / 2 {
		sets.Union(uint32(i), uint32(n/2+i))
	}
	if clusters := Grow(w, sets, Growing{Extended: true, SkipBoilerplate: true}); len(clusters) != 1 ||
		len(clusters[0].Collections) != 2 || len(clusters[0].Rids) != n/2 {
		t.Errorf("%d clusters along links", len(clusters))
	}
	w.Links = make([][]uint32, n)
	if clusters := Grow(w, sets, Growing{Extended: true, SkipBoilerplate: true}); len(clusters) != n/2 {
		t.Errorf("%d clusters without links", len(clusters))
	}
}
