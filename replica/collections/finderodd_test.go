// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mirrord/replica/hash"
	"mirrord/replica/text"
)

// web makes pages for tests of odd shapes. Pages of the same text resemble one another, others do not.
type web struct {
	pages   []Address
	digests []text.ContentDigest
}

func (w *web) add(host, path string, says uint64) {
	d := text.ContentDigest{Words: 100, Text: hash.Mix(says)}
	x := d.Text
	for j := range d.Sketch {
		x = hash.Mix(x + uint64(j) + 1)
		d.Sketch[j] = byte(x)
	}
	w.pages, w.digests = append(w.pages, Address{host, path}), append(w.digests, d)
}

// Webs that are made only to do harm, or by mistake. With little memory they are found to be what
// they are found to be with much, and where it is known what that must be, it is.
func TestFinderOddWebs(t *testing.T) {
	deep := func(n int) string { return "/" + strings.Repeat("d/", n) }
	for name, odd := range map[string]struct {
		make func(w *web)
		want []string // directories that must be found; nil: unknown
		o    FindOptions
	}{
		"nothing":           {make: func(w *web) {}, want: []string{}},
		"one page":          {make: func(w *web) { w.add("a", "/", 1) }, want: []string{}},
		"nothing has words": {make: func(w *web) { w.noWords(500) }, want: []string{}},
		"the same page under all names": {make: func(w *web) {
			for i := range 1200 {
				w.add("a", fmt.Sprintf("/x/%d", i), 1)
				w.add("b", fmt.Sprintf("/y/%d", i), 1)
			}
		}, want: []string{"a/x/ b/y/"}},
		"the same page in one directory": {make: func(w *web) {
			for i := range 1200 {
				w.add("a", fmt.Sprintf("/x/%d", i), 1)
			}
		}, want: []string{}},
		"the same page in a directory each": {make: func(w *web) {
			for i := range 1200 {
				w.add("a", fmt.Sprintf("/%d/x", i), 1)
			}
		}, want: []string{}},
		"whole hosts": {make: func(w *web) {
			for i := range 1000 {
				w.add("a", fmt.Sprintf("/%d/%d", i%20, i), uint64(i))
				w.add("b", fmt.Sprintf("/m/%d/%d", i%20, i), uint64(i))
			}
		}, want: []string{"a/ b/m/"}},
		"subdirectories of large ones": {make: func(w *web) {
			for i := range 1000 {
				w.add("a", fmt.Sprintf("/p/same/%d/%d", i%3, i), uint64(i))
				w.add("b", fmt.Sprintf("/p/same/%d/%d", i%3, i), uint64(i))
				for j := range 3 {
					w.add("a", fmt.Sprintf("/p/other/%d", 3*i+j), uint64(10_000+3*i+j))
					w.add("b", fmt.Sprintf("/p/more/%d", 3*i+j), uint64(20_000+3*i+j))
				}
			}
		}, want: []string{"b/p/same/ a/p/same/"}},
		"renamed files": {make: func(w *web) {
			for i := range 600 {
				w.add("a", fmt.Sprintf("/doc/%d/%d.html", i%7, i), uint64(i))
				w.add("b", fmt.Sprintf("/flat/%x.htm", hash.Mix(uint64(i))), uint64(i))
				w.add("a", fmt.Sprintf("/else/%d", i), uint64(10_000+i))
			}
		}, want: []string{"a/doc/ b/flat/"}},
		"deep directories": {make: func(w *web) {
			for i := range 200 {
				w.add("a", fmt.Sprintf("%s%d", deep(1000), i), uint64(i))
				w.add("b", fmt.Sprintf("/x%s%d", deep(1000), i), uint64(i))
				w.add("b", fmt.Sprintf("/y/%d", i), uint64(10_000+i))
			}
		}, want: []string{"b/x/" + strings.Repeat("d/", 62) + " a/" + strings.Repeat("d/", 62)}},
		"only slashes": {make: func(w *web) {
			for i := range 600 {
				w.add("a", strings.Repeat("/", i%300+1), uint64(i))
				w.add("b", "/x"+strings.Repeat("/", i%300+1), uint64(i))
			}
		}},
		"neither slash nor name": {make: func(w *web) {
			for i := range 200 {
				w.add("a", fmt.Sprint(i), uint64(i))
				w.add("b", fmt.Sprint(i), uint64(i))
				w.add("", fmt.Sprint("x/", i), uint64(i))
				w.add("", "", uint64(i))
			}
		}},
		"zero bytes": {make: func(w *web) {
			for i := range 300 {
				w.add("a", fmt.Sprintf("/x/%d\x00%d", i%7, i%3), uint64(i%50))
				w.add("a\x00", fmt.Sprintf("\x00/%d", i%7), uint64(i%50))
				w.add("b", fmt.Sprintf("/\x00/%s", strings.Repeat("\x00", i%5)), uint64(i%50))
			}
		}},
		"slashes in queries": {make: func(w *web) {
			for i := range 300 {
				w.add("a", fmt.Sprintf("/go?to=http://c/%d/%d", i%7, i), uint64(i))
				w.add("b", fmt.Sprintf("/x/go?to=http://c/%d/%d", i%7, i), uint64(i))
			}
		}},
		"names in other letters": {make: func(w *web) {
			for i := range 600 {
				cases := []string{"doc", "Doc", "DOC"}
				w.add("b", fmt.Sprintf("/%s/in/%s/%d.HTM", cases[hash.Mix(uint64(i))%3], cases[hash.Mix(uint64(i))>>9%3],
					i), uint64(i))
				w.add("a", fmt.Sprintf("/m/doc/in/doc/%d.html", 599-i), uint64(599-i))
				w.add("a", fmt.Sprintf("/m/%d.html", i), uint64(10_000+i))
				w.add("b", fmt.Sprintf("/%d.html", i), uint64(20_000+i))
			}
		}},
		"some pages under the names they have, some under others": {make: func(w *web) {
			for h := range 8 { // in half of them the order of the hosts is not that of the directories
				a, b := fmt.Sprint("a", h), fmt.Sprint("b", h)
				for i := range 12 {
					w.add(a, fmt.Sprintf("/x/n%d", i), uint64(100*h+i))
					w.add(b, fmt.Sprintf("/x/n%d", i), uint64(100*h+i))
					w.add(a, fmt.Sprintf("/x/p%d", i), uint64(100*h+i+20))
					w.add(b, fmt.Sprintf("/x/q%d", i), uint64(100*h+i+20))
				}
				for i := range 40 {
					w.add(a, fmt.Sprintf("/y/%d", i), uint64(10_000+100*h+i))
					w.add(b, fmt.Sprintf("/z/%d", i), uint64(20_000+100*h+i))
				}
			}
		}, want: []string{"a4/x/ b4/x/", "a5/x/ b5/x/", "a6/x/ b6/x/", "b0/x/ a0/x/", "b1/x/ a1/x/", "b2/x/ a2/x/",
			"b3/x/ a3/x/", "b7/x/ a7/x/"}},
		"long names": {make: func(w *web) {
			for i := range 60 {
				w.add(strings.Repeat("h", 70_000), fmt.Sprintf("/%s%d", strings.Repeat("n", 70_000), i), uint64(i))
				w.add("b", fmt.Sprintf("/%s%d", strings.Repeat("n", 70_000), i), uint64(i))
			}
		}, want: []string{strings.Repeat("h", 70_000) + "/ b/"}},
		"a window without end": {make: func(w *web) {
			for i := range 100 {
				w.add("a", fmt.Sprint("/", i), 1)
				w.add("b", fmt.Sprint("/", i), 1)
			}
		}, want: []string{"a/ b/"}, o: FindOptions{Votes: Votes{Window: 1 << 30, Pages: 100}}},
	} {
		var w web
		odd.make(&w)
		for _, memory := range []int64{1, 1 << 20, 1 << 30} {
			sameFound(t, w.pages, w.digests, odd.o, memory)
		}
		if odd.want == nil {
			continue
		}
		got := []string{}
		for _, p := range plainPairs(w.pages, w.digests, plainGroup(w.digests, odd.o.Group).Sets, odd.o.Votes) {
			got = append(got, p.A.String()+" "+p.B.String())
		}
		if short := func(s []string) string { return fmt.Sprintf("%.300q", s) }; short(got) != short(odd.want) {
			t.Errorf("%s: found %s, want %s", name, short(got), short(odd.want))
		}
	}
}

// noWords adds pages without words.
func (w *web) noWords(n int) {
	for i := range n {
		w.pages, w.digests = append(w.pages, Address{"a", fmt.Sprint("/", i)}),
			append(w.digests, text.ContentDigest{})
	}
}

// Addresses come back as they were, from the beginning and from anywhere.
func TestPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	part := func() string {
		return []string{"", "/", "//", "a", "ab", "dir/", "\x00", strings.Repeat("long/", 2000), "é",
			"?q=/x"}[r.IntN(10)]
	}
	for _, memory := range []int64{1, 1 << 20, 1 << 30} {
		f := NewFinder(&memorySpill{}, FinderOptions{Memory: memory})
		var want []Address
		for range 3000 {
			a := Address{"h" + part(), part() + part()}
			if r.IntN(10) == 0 {
				a.Host = ""
			}
			want = append(want, a)
			if err := f.Add(a, text.ContentDigest{Text: r.Uint64()}); err != nil {
				t.Fatal(err)
			}
		}
		var got []Address
		err := f.eachPage("", func(a Address, digest []byte) error {
			got = append(got, a)
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("memory %d: %d of %d pages: %v", memory, len(got), len(want), err)
		}
		for range 100 {
			page := r.IntN(len(want))
			if a, err := f.address(uint32(page)); err != nil || a != want[page] {
				t.Errorf("memory %d: page %d is %q, want %q, %v", memory, page, a, want[page], err)
			}
		}
		if _, err := f.address(uint32(len(want))); err == nil {
			t.Error("there is a page behind the last one")
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// However many pages are the same, there are few votes for each: none for directories that are too small to
// be told of, and for large ones those that name a page again.
func TestVotesAreFew(t *testing.T) {
	const n = 20_000
	for name, c := range map[string]struct {
		at   func(i int) Address
		most int
	}{
		"a host each": {func(i int) Address { return Address{fmt.Sprint("h", i), "/index.html"} }, 0},
		"a directory each": {func(i int) Address {
			return Address{fmt.Sprint("h", i%2), fmt.Sprintf("/%d/%x", i, hash.Mix(uint64(i)))}
		}, 0},
		"two directories": {func(i int) Address {
			return Address{fmt.Sprint("h", i%2), fmt.Sprintf("/x/%x", hash.Mix(uint64(i)))}
		}, everyVote*3*32 + 6*n},
	} {
		var w web
		for i := range n {
			a := c.at(i)
			w.add(a.Host, a.Path, 1)
		}
		totals, members := newDirTotals(Votes{}.withDefaults().Pages, 1<<20), make([]uint32, n)
		for i, a := range w.pages {
			members[i] = uint32(i)
			totals.add(a)
		}
		totals.settle()
		votes := 0
		p := newPairing(Votes{}.withDefaults(), &totals, func(bool, vote) { votes++ })
		pairUp(&p, w.pages, w.digests, members)
		if votes > c.most || votes < c.most/20 {
			t.Errorf("%s: %d votes for %d pages, at most %d", name, votes, n, c.most)
		}
	}
}

// A pair of directories that has more votes than may be held is looked at all the same, and soon.
func TestVotesOfOnePair(t *testing.T) {
	var w web
	for i := range 500 {
		w.add("a", fmt.Sprintf("/x/%d", i), 1)
		w.add("b", fmt.Sprintf("/y/%d", i), 1)
	}
	if _, found := sameFound(t, w.pages, w.digests, FindOptions{}, 1); found != 1 {
		t.Errorf("%d pairs", found)
	}
}

// Numbers of pages have 32 bits: more are refused.
func TestFinderTooManyPages(t *testing.T) {
	f := NewFinder(&memorySpill{}, FinderOptions{})
	f.pages = maxPages - 1
	if err := f.Add(Address{"a", "/"}, text.ContentDigest{}); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := f.Add(Address{"a", "/"}, text.ContentDigest{}); err == nil ||
			!strings.Contains(err.Error(), "more than "+fmt.Sprint(maxPages)) {
			t.Errorf("one more: %v", err)
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// The remaining pairs are those below no other, as found by the obvious way.
func TestOutermost(t *testing.T) {
	within := func(a, b Address) bool {
		return a.Host == b.Host && strings.HasPrefix(a.Path, b.Path) &&
			strings.HasPrefix(a.Path, "/") == strings.HasPrefix(b.Path, "/")
	}
	kept, all := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		dir := func() Address {
			return Address{[]string{"a", "b"}[r.IntN(2)], []string{"/", "", "//"}[r.IntN(3)] +
				strings.Repeat("x/", r.IntN(4)) + strings.Repeat("y/", r.IntN(3))}
		}
		var pairs, want []DirPair
		for range 1 + r.IntN(12) {
			p := DirPair{A: dir(), B: dir(), Pages: r.IntN(100)}
			if !slices.ContainsFunc(pairs, func(q DirPair) bool {
				return (q.A == p.A && q.B == p.B) || (q.A == p.B && q.B == p.A)
			}) {
				pairs = append(pairs, p)
			}
		}
		for i, p := range pairs {
			if !slices.ContainsFunc(slices.Delete(slices.Clone(pairs), i, i+1), func(q DirPair) bool {
				return (within(p.A, q.A) && within(p.B, q.B)) || (within(p.A, q.B) && within(p.B, q.A))
			}) {
				want = append(want, p)
			}
		}
		got := outermost(slices.Clone(pairs))
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: of %v are left %v, want %v", seed, pairs, got, want)
		}
		kept, all = kept+len(got), all+len(pairs)
	}
	if kept == 0 || kept == all {
		t.Errorf("%d of %d are left", kept, all)
	}
}
