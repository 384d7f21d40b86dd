// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mirrord/replica/text"
	"mirrord/testing/replicatest"
)

// says makes n words.
func says(seed, n int) []string {
	r, out := rand.New(rand.NewPCG(uint64(seed), 11)), make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(r.IntN(6000))
	}
	return out
}

// joinedWeb is pages of words.
type joinedWeb struct {
	s       *text.Sketcher
	at      []Address
	digests []text.ContentDigest
}

func (w *joinedWeb) add(host, path string, words ...[]string) {
	w.at = append(w.at, Address{host, path})
	w.digests = append(w.digests, w.s.Plain([]byte(strings.Join(slices.Concat(words...), " "))))
}

// book adds a book of so many chapters, each below the same menu.
func (w *joinedWeb) book(host, dir string, chapters, menu int) {
	for i := range chapters {
		w.add(host, fmt.Sprintf("%sc%d/s.html", dir, i), says(-1, menu), chapter(i))
	}
}

func chapter(i int) []string { return says(i, 150+i%5*70) }

// chapters are those of a book one after the other.
func chapters(from, to int) (out []string) {
	for i := from; i < to; i++ {
		out = append(append(out, says(-100-i, 3)...), chapter(i)...) // below a heading that the book does not have
	}
	return out
}

func TestJoinedPages(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(w *joinedWeb)
		want []string
	}{
		{"a book on one page", func(w *joinedWeb) {
			w.book("a.test", "/book/", 40, 0)
			w.add("b.test", "/pub/book.html", chapters(0, 40))
		}, []string{"a.test/book/ b.test/pub/book.html 1"}},
		{"below a menu, on the same host, beside other directories", func(w *joinedWeb) {
			w.book("a.test", "/manual/html_node/", 60, 60)
			w.add("a.test", "/manual/make.html", chapters(0, 60))
			for i := range 200 {
				w.add("a.test", fmt.Sprintf("/other/%d/x%d", i%9, i), says(5000+i, 300))
			}
			for i := range 50 {
				w.add("c.test", fmt.Sprintf("/long%d", i), says(9000+i, 3000+i*300))
			}
		}, []string{"a.test/manual/html_node/ a.test/manual/make.html 1"}},
		{"200 chapters, an edition that is there twice, and a preface", func(w *joinedWeb) {
			w.book("a.test", "/book/", 200, 20)
			w.add("b.test", "/one.html", says(-7, 4000), chapters(0, 200))
			w.add("c.test", "/", says(-7, 4000), chapters(0, 200))
		}, []string{"a.test/book/ b.test/one.html 1", "a.test/book/ c.test/ 1"}},
		{"a book that has the one page, too", func(w *joinedWeb) {
			w.book("a.test", "/book/", 40, 0)
			w.add("a.test", "/book/all.html", chapters(0, 40))
			w.add("b.test", "/book.html", chapters(0, 40))
		}, []string{"a.test/book/ b.test/book.html 1"}},
		{"pages split into four", func(w *joinedWeb) {
			for i := range 30 {
				all := says(i, 500+i%3*100)
				w.add("a.test", fmt.Sprintf("/c%d.html", i), says(-1, 50), all)
				for k := range 4 {
					w.add("b.test", fmt.Sprintf("/x/p%d-%d.html", i, k), says(-2, 30),
						all[len(all)*k/4:len(all)*(k+1)/4])
				}
			}
		}, []string{"b.test/x/ a.test/ 30"}},
		{"another page of the same length, and one that has a third of the book", func(w *joinedWeb) {
			w.book("a.test", "/book/", 100, 0)
			w.add("b.test", "/other.html", says(-50, 29_000))
			w.add("b.test", "/third.html", chapters(0, 33), says(-51, 19_000))
			w.add("b.test", "/short.html", chapters(0, 33))
		}, nil},
		{"500 chapters: chance has nearly all bytes, and nothing is said", func(w *joinedWeb) {
			w.book("a.test", "/book/", 500, 0)
			w.add("b.test", "/other.html", says(-50, 145_000))
			w.add("b.test", "/book.html", chapters(0, 500))
		}, nil},
		{"shops of one template", func(w *joinedWeb) {
			for i := range 30 {
				w.add("a.test", fmt.Sprintf("/p/%d", i), says(-1, 400), says(i, 60))
			}
			for i := range 20 {
				w.add("b.test", fmt.Sprintf("/q/%x", 7*i+1), says(-1, 400), says(1000+i, 90))
			}
			w.add("b.test", "/about", says(-1, 400), says(-70, 9000))
		}, nil},
		{"one long page beside small ones, and a copy of it", func(w *joinedWeb) {
			for i := range 40 {
				w.add("a.test", fmt.Sprintf("/n/%d", i), says(i, 20))
			}
			w.add("a.test", "/n/licence", says(-60, 3000))
			w.add("b.test", "/licence", says(-60, 3000))
		}, nil},
		{"the one page lies among the parts", func(w *joinedWeb) {
			w.book("a.test", "/book/", 40, 0)
			w.add("a.test", "/book/all.html", chapters(0, 40))
		}, nil},
		{"copies are listed as copies", func(w *joinedWeb) {
			for _, host := range []string{"a.test", "b.test"} {
				w.book(host, "/book/", 40, 0)
				w.add(host, "/book/all.html", chapters(0, 40))
			}
		}, nil},
	} {
		if replicatest.RaceEnabled && strings.HasPrefix(c.name, "500") {
			continue
		}
		w := joinedWeb{s: text.NewSketcher(text.SketchOptions{})}
		c.make(&w)
		for _, memory := range []int64{1, 1 << 30} {
			if memory == 1 && len(w.at) > 300 && replicatest.RaceEnabled {
				continue
			}
			found := findWith(t, w.at, w.digests, memory)
			var got []string
			for _, j := range found.Joined {
				got = append(got, fmt.Sprintf("%v %v %d", j.Parts, j.At, j.On))
				if j.Share < 0.8 || j.OfParts < 0.5 || j.Pages < 20 {
					t.Errorf("%s: %+v", c.name, j)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, memory %d: %q, want %q", c.name, memory, got, c.want)
			}
		}
	}
}

// The callback for progress can end the search for joined pages, too.
func TestJoinedEnds(t *testing.T) {
	w := joinedWeb{s: text.NewSketcher(text.SketchOptions{})}
	w.book("a.test", "/book/", 20, 0)
	w.add("b.test", "/one.html", chapters(0, 20))
	f := NewFinder(&memorySpill{}, FinderOptions{Progress: func(phase string, done, total int) error {
		if phase == "compare joined pages" {
			return errSpill
		}
		return nil
	}})
	if err := addAndFind(f, w.at, w.digests); !errors.Is(err, errSpill) {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// On real pages nothing is joined, and of one copy of each collection that is joined on one page this is
// found.
func TestJoinedOnCorpus(t *testing.T) {
	c := replicatest.ReadCorpus(t)
	if c == nil {
		return
	}
	pages, digests := digestsOf(c)
	for _, j := range findWith(t, pages, digests, 0).Joined {
		t.Errorf("%+v", j)
	}
	copies := readCopies(t, c)
	whole := map[string]string{} // the fullest copy of each collection
	for _, name := range slices.Sorted(maps.Keys(copies)) {
		cp := copies[name]
		key := cp.family + " " + cp.lang
		if old := copies[whole[key]]; cp.pages >= 12 && (old == nil || cp.pages > old.pages) {
			whole[key] = name
		}
	}
	s := text.NewSketcher(text.SketchOptions{})
	large := 0
	var want []string
	for _, name := range slices.Sorted(maps.Values(whole)) {
		var all []byte
		n, words := 0, uint32(0)
		for i := range c.Pages {
			if c.Pages[i].Copy == name {
				all = append(all, c.Blobs[c.Pages[i].Blob]...)
				n, words = n+1, words+digests[i].Words
			}
		}
		if n > 250 || words < joinedWords {
			large++
			continue
		}
		pages, digests = append(pages, Address{"one.test", "/" + name}), append(digests, s.HTML(all))
		want = append(want, name)
	}
	found := map[string]bool{}
	wrong := 0
	for _, j := range findWith(t, pages, digests, 0).Joined {
		name := strings.TrimPrefix(j.At.Path, "/")
		right := false
		for below := range copiesBelow(c, j.Parts) {
			right = right || (copies[name] != nil && copies[below] != nil &&
				copies[below].family == copies[name].family && copies[below].lang == copies[name].lang)
		}
		if found[name] = found[name] || right; !right {
			wrong++
			t.Logf("wrong: %+v", j)
		}
	}
	missed := 0
	for _, name := range want {
		if !found[name] {
			missed++
			t.Logf("missed: %s (%d pages)", name, copies[name].pages)
		}
	}
	t.Logf("%d collections on one page each, %d missed, %d wrong; %d have more than 250 pages or too few words",
		len(want), missed, wrong, large)
	if wrong > 0 || 10*missed > len(want) {
		t.Errorf("%d of %d missed, %d wrong", missed, len(want), wrong)
	}
}

// findWith finds with so much memory.
func findWith(t *testing.T, at []Address, digests []text.ContentDigest, memory int64) FoundPairs {
	t.Helper()
	f := NewFinder(&memorySpill{}, FinderOptions{Memory: memory})
	for i := range at {
		if err := f.Add(at[i], digests[i]); err != nil {
			t.Fatal(err)
		}
	}
	_, found, err := f.Find()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	return found
}
