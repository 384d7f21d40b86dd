// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The figures of two places of a cluster are true for these two: no chain of pairs makes copies of
// directories that have nothing in common. The figures of two copies follow from a pair of directories
// above them, when only a third place makes them a collection of its own.
func TestCopiesBelowCopies(t *testing.T) {
	a, b, c := Address{"a.test", "/"}, Address{"b.test", "/m/"}, Address{"c.test", "/j/"}
	apiA, apiB := Address{"a.test", "/doc/api/"}, Address{"b.test", "/m/doc/api/"}
	clusters := Clusters([]DirPair{
		{
			A:      a,
			B:      b,
			Pages:  98,
			OfA:    100,
			OfB:    110,
			Places: 64,
			Same:   64,
		},
		{
			A:     apiA,
			B:     c,
			Pages: 60,
			OfA:   80,
			OfB:   80,
		},
		{
			A:     apiB,
			B:     c,
			Pages: 60,
			OfA:   81,
			OfB:   80,
		},
	})
	i := slices.IndexFunc(clusters, func(c DirCluster) bool { return len(c.Copies) == 3 })
	if i < 0 {
		t.Fatalf("%+v", clusters)
	}
	got := clusters[i]
	// of the 80 pages two may be those that b.test lacks, of the 81 twelve those that a.test lacks
	want := DirPair{
		A:      apiB,
		B:      apiA,
		Pages:  69,
		OfA:    81,
		OfB:    80,
		Places: 64,
		Same:   64,
	}
	if got.Pairs[0] != want || got.Copies[1].Address != apiA || got.Copies[1].Shared != 69 {
		t.Errorf("%+v", got)
	}
	got.Lead(1)
	if got.Copies[0].Address != apiA || got.Copies[1].Shared != 69 {
		t.Errorf("%+v", got)
	}
}

func TestClustersWithoutClosure(t *testing.T) {
	at := func(name string) Address { return Address{name + ".test", "/"} }
	pair := func(a, b string, pages, ofA, ofB int) DirPair {
		return DirPair{
			A:     at(a),
			B:     at(b),
			Pages: pages,
			OfA:   ofA,
			OfB:   ofB,
		}
	}
	for _, c := range []struct {
		name  string
		pairs []DirPair
		want  string
	}{
		{"a chain of parts", []DirPair{pair("a", "b", 20, 40, 40), pair("b", "c", 20, 40, 40)},
			"a 40/40 b 40/20; b 40/40 c 40/20"},
		{"three of one, one pair unknown", []DirPair{pair("a", "b", 40, 40, 40), pair("b", "c", 38, 40, 40)},
			"a 40/40 b 40/40 c 40/38"},
		{"the middle is the fullest", []DirPair{pair("a", "b", 20, 20, 40), pair("b", "c", 20, 40, 20)},
			"b 40/40 a 20/20 c 20/20"},
		{"the middle is a part of both", []DirPair{pair("a", "b", 12, 30, 12), pair("b", "c", 12, 12, 24)},
			"a 30/30 c 24/12 b 12/12"},
		{"the better way counts", []DirPair{
			pair("a", "b", 30, 40, 40), pair("a", "c", 36, 40, 40), pair("b", "c", 40, 40, 40),
		}, "a 40/40 b 40/36 c 40/36"},
		{"far apart", []DirPair{
			pair("a", "b", 30, 40, 40), pair("b", "c", 30, 40, 40), pair("c", "d", 30, 40, 40),
		}, "a 40/40 b 40/30 c 40/20; c 40/40 d 40/30"},
	} {
		for _, cluster := range Clusters(c.pairs) { // no copy has more in common than it has pages
			n := len(cluster.Copies)
			cluster.Lead(n - 1)
			if len(cluster.Copies) != n || cluster.Copies[0].Shared != cluster.Copies[0].Pages {
				t.Errorf("%s, the last one first: %v", c.name, cluster.Copies)
			}
			for _, cp := range cluster.Copies {
				if cp.Shared > min(cp.Pages, cluster.Size()) || cp.Share > 1 {
					t.Errorf("%s, the last one first: %v", c.name, cp)
				}
			}
		}
		var all []string
		seen := 0
		for _, cluster := range Clusters(c.pairs) {
			var one []string
			for _, cp := range cluster.Copies {
				one = append(one, fmt.Sprintf("%s %d/%d", strings.TrimSuffix(cp.Host, ".test"), cp.Pages, cp.Shared))
			}
			all = append(all, strings.Join(one, " "))
			seen += len(cluster.Pairs)
		}
		slices.Sort(all)
		if got := strings.Join(all, "; "); got != c.want || seen < len(c.pairs) {
			t.Errorf("%s: %s, with %d pairs; want %s", c.name, got, seen, c.want)
		}
	}
}
