package replica

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"testing"
)

// figure10 is a collection of seven pages on h1, whose root leads to all others, and a copy on h2 in another directory that lacks four of them.
func figure10() (w Web, sets *Sets, dangling [][]string) {
	paths := []string{"x/a", "x/b", "x/c", "x/s/d", "x/s/e", "y/f", "y/g"}
	for _, p := range paths {
		w.Pages = append(w.Pages, Address{"h1.test", "/pub/" + p})
	}
	for _, p := range paths[:3] {
		w.Pages = append(w.Pages, Address{"h2.test", "/" + p})
	}
	w.Links = [][]uint32{{1, 2}, {3, 4}, {5, 6}, nil, nil, nil, nil, {8, 9}, nil, nil}
	sets = NewSets(len(w.Pages))
	for i := range uint32(3) {
		sets.Union(i, 7+i)
	}
	return w, sets, [][]string{8: {"/x/s/d", "/x/s/e", "/x/nowhere"}, 9: {"/y/f", "/y/g", "/"}}
}

func TestLiftDangling(t *testing.T) {
	w, sets, dangling := figure10()
	lifted := LiftDangling(w, sets, dangling)
	if want := [][]uint32{{1, 2}, {3, 4}, {5, 6}, nil, nil, nil, nil, {8, 9}, {3, 4}, {5, 6}}; !slices.EqualFunc(lifted.Links, want, slices.Equal) {
		t.Errorf("links %v, want %v", lifted.Links, want)
	}
	if w.Links[8] != nil || w.Links[9] != nil {
		t.Error("the links that were given are changed")
	}
	for _, tc := range []struct {
		w    Web
		o    Growing
		want string
	}{
		{w, Growing{Extended: true}, "[{[0 1 2] []} {[7 8 9] []}]"},
		{lifted, Growing{}, "[{[0 1 2] []} {[7 8 9] []}]"},
		{lifted, Growing{Extended: true}, "[{[0 1 2 3 4 5 6] []} {[7 8 9] [3 4 5 6]}]"},
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

// Chains go below the collection's directory, and boilerplate that repeats in a directory breaks no collection.
func TestGrowOptions(t *testing.T) {
	w := Web{
		Pages: []Address{{"h1", "/x/a"}, {"h2", "/x/a"}, {"h1", "/x/c"}, {"h1", "/x/d"}, {"h1", "/y/e"}},
		Links: [][]uint32{{2}, {2}, {3, 4}, nil, nil},
	}
	sets := NewSets(5)
	sets.Union(0, 1)
	for _, tc := range []struct {
		chain Chain
		want  string
	}{{ChainNone, "[0 2]"}, {ChainPrefix, "[0 2 3]"}, {ChainAll, "[0 2 3 4]"}} {
		clusters := Grow(w, sets, Growing{Extended: true, Chain: tc.chain})
		if len(clusters) != 1 || fmt.Sprint(clusters[0].Rids) != tc.want {
			t.Errorf("chain %d: %+v, want %s", tc.chain, clusters, tc.want)
		}
	}
	w = Web{
		Pages: []Address{{"h1", "/h"}, {"h1", "/p"}, {"h1", "/q"}, {"h1", "/r"}},
		Links: [][]uint32{nil, {0}, {0}, {0}},
	}
	sets = NewSets(4)
	sets.Union(1, 2)
	sets.Union(1, 3)
	for skip, want := range map[bool]int{false: 2, true: 1} {
		clusters := Grow(w, sets, Growing{Extended: true, SkipBoilerplate: skip})
		if len(clusters) != 1 || len(clusters[0].Rids) != want {
			t.Errorf("skip %v: %+v, want %d trivial clusters", skip, clusters, want)
		}
	}
}

// A cluster of many pages, and many clusters of few, take time in proportion to the pages: with its square this would take hours.
func TestManyToGrow(t *testing.T) {
	n := 100_000
	if raceEnabled {
		n = 20_000
	}
	w, sets := Web{Links: make([][]uint32, n)}, NewSets(n)
	dangling := make([][]string, n)
	for i := range n {
		w.Pages = append(w.Pages, Address{fmt.Sprint("h", i%3, ".test"), fmt.Sprintf("/d%d/p%d", i/3%7, i)})
		dangling[i] = []string{"/d0/gone", fmt.Sprintf("/d%d/gone", i%7)}
		w.Links[i] = []uint32{uint32((i + 1) % n)}
		sets.Union(0, uint32(i))
	}
	if got := LiftDangling(w, sets, dangling); len(got.Links[n-1]) != 1 {
		t.Errorf("links %v", got.Links[n-1])
	}
	if clusters := Grow(w, sets, Growing{Extended: true, SkipBoilerplate: true}); len(clusters) != 1 || clusters[0].Cardinality() != n {
		t.Errorf("%d clusters", len(clusters))
	}
	sets = NewSets(n)
	for i := range n / 2 {
		sets.Union(uint32(i), uint32(n/2+i))
	}
	if clusters := Grow(w, sets, Growing{Extended: true, SkipBoilerplate: true}); len(clusters) != 1 || clusters[0].Cardinality() != 2 || len(clusters[0].Rids) != n/2 {
		t.Errorf("%d clusters along links", len(clusters))
	}
	w.Links = make([][]uint32, n)
	if clusters := Grow(w, sets, Growing{Extended: true, SkipBoilerplate: true}); len(clusters) != n/2 {
		t.Errorf("%d clusters without links", len(clusters))
	}
}

// Of a large cluster the nearest counterparts are those that count.
func TestLiftDanglingOfLargeCluster(t *testing.T) {
	w := Web{Pages: []Address{{"a.test", "/x/here"}, {"b.test", "/x/here"}, {"b.test", "/x/there"}}, Links: [][]uint32{nil, {2}, nil}}
	sets := NewSets(3 + 5*maxPosting)
	sets.Union(0, 1)
	for i := range 5 * maxPosting {
		w.Pages, w.Links = append(w.Pages, Address{fmt.Sprintf("z%d.test", i), "/x/here"}), append(w.Links, nil)
		sets.Union(0, uint32(3+i))
	}
	if got := LiftDangling(w, sets, [][]string{{"/x/there"}}).Links[0]; !slices.Equal(got, []uint32{2}) {
		t.Errorf("links %v", got)
	}
}

// With the links that partial copies lack, the method of Cho, Shivakumar and Garcia-Molina finds nearly all copies, over pages that resemble one
// another by 0.8; without them it finds fewer.
func TestCopiesWithDanglingLinks(t *testing.T) {
	c := readCorpus(t)
	if c == nil {
		return
	}
	w := readWeb(t, c)
	_, digests := digestsOf(c)
	sets := Group(digests, GroupOptions{}).Sets
	plain := foundCopies(t, c, w, sets)
	lifted := foundCopies(t, c, LiftDangling(w, sets, danglingOf(c)), sets)
	t.Logf("copies found: %.3f, with dangling links %.3f", plain, lifted)
	if lifted < 0.9 || lifted < plain {
		t.Errorf("copies found: %.3f, with dangling links %.3f", plain, lifted)
	}
}

var reference = regexp.MustCompile(`(?i)<(?:a|area|frame|iframe)\s[^>]*?(?:href|src)\s*=\s*["']?([^"'\s>#?]+)`)

// danglingOf reads the references of pages to paths of their host that are no pages.
func danglingOf(c *corpus) [][]string {
	known := map[Address]bool{}
	for i := range c.pages {
		known[Address{c.pages[i].host, c.pages[i].path}] = true
	}
	out := make([][]string, len(c.pages))
	for i := range c.pages {
		p := &c.pages[i]
		base := url.URL{Scheme: "http", Host: p.host, Path: p.path}
		for _, m := range reference.FindAllSubmatch(c.blobs[p.blob], -1) {
			u, err := base.Parse(string(m[1]))
			if err != nil || u.Host != p.host || known[Address{p.host, u.Path}] || known[Address{p.host, u.Path + "index.html"}] || slices.Contains(out[i], u.Path) {
				continue
			}
			out[i] = append(out[i], u.Path)
		}
	}
	return out
}

// foundCopies is the share of the copies of ten pages and more, of collections with several, of which a collection of some cluster holds ten of
// the pages, as another one does of another copy of the same.
func foundCopies(t *testing.T, c *corpus, w Web, sets *Sets) float64 {
	truth := readCopies(t, c)
	found := map[string]bool{}
	for _, cluster := range Grow(w, sets, Growing{Extended: true, SkipBoilerplate: true}) {
		in := map[string]map[string]bool{} // copies by what they are of
		for _, col := range cluster.Collections {
			pages := map[string]int{}
			for _, p := range col.Own {
				pages[c.pages[p].copy]++
			}
			for name, n := range pages {
				if cp := truth[name]; cp != nil && cp.pages >= 10 && n >= 10 {
					k := cp.family + " " + cp.lang
					if in[k] == nil {
						in[k] = map[string]bool{}
					}
					in[k][name] = true
				}
			}
		}
		for _, names := range in {
			for name := range names {
				found[name] = found[name] || len(names) > 1
			}
		}
	}
	of, n := 0, 0
	for name, a := range truth {
		for other, b := range truth {
			if other != name && a.family == b.family && a.lang == b.lang && a.pages >= 10 && b.pages >= 10 {
				if of++; found[name] {
					n++
				}
				break
			}
		}
	}
	return float64(n) / float64(of)
}
