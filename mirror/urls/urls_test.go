// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"mirrord/internal/texts"
	"mirrord/store/record"
)

func TestTableFindsWhatWasAdded(t *testing.T) {
	table := newURLs()
	const n = 20_000 // several times over the first index, and over a chunk of entries
	name := func(i int) []byte {
		return fmt.Appendf(nil, "http://h%d.example/%s%d", i%7, strings.Repeat("p/", i%40), i)
	}
	for i := range n {
		if _, ok := table.find(name(i)); ok {
			t.Fatalf("%d is there before it was added", i)
		}
		if id := table.add(name(i)); id != uint32(i) {
			t.Fatalf("number %d for %d", id, i)
		}
	}
	for i := range n {
		if id, ok := table.find(name(i)); !ok || id != uint32(i) {
			t.Fatalf("%s: %d, %v", name(i), id, ok)
		}
		if got := table.urlOf(uint32(i)).String(); got != string(name(i)) {
			t.Fatalf("%s became %s", name(i), got)
		}
	}
	if table.n != n {
		t.Error(table.n)
	}
}

func TestTableLongURLs(t *testing.T) {
	table := newURLs()
	for i := range 50 {
		u := []byte("http://h/" + strings.Repeat(fmt.Sprint(i%10), 32000))
		u = fmt.Appendf(u, "%d", i)
		id := table.add(u)
		if got := table.urlOf(id).String(); got != string(u) {
			t.Fatalf("%d: %d bytes became %d", i, len(u), len(got))
		}
	}
	u := []byte("http://h/" + strings.Repeat("x", record.MaxURL-len("http://h/")))
	if id := table.add(u); table.urlOf(id).String() != string(u) {
		t.Error("the longest URL is not what it was")
	}
}

// The table of a hundred thousand URLs takes so many bytes for each.
func TestTableMemory(t *testing.T) {
	table := newURLs()
	const n = 100_000
	for i := range n {
		table.add(fmt.Appendf(nil, "https://www.example.org/some/folder/of/the/site/%d/page-%d.html", i/500, i))
	}
	entries := len(table.chunks) * entryChunk * int(unsafe.Sizeof(entry{}))
	texts := table.texts.Size()
	got := (entries + texts + 4*len(table.index)) / n
	t.Logf("%d bytes a URL", got)
	if got > 50 {
		t.Errorf("%d bytes a URL", got)
	}
}

// Of a table that has a file, little more than states and the index is in memory.
func TestTableFile(t *testing.T) {
	table, _ := inFile(t)
	all := &table.urls
	entries := len(all.chunks) * entryChunk * int(unsafe.Sizeof(entry{}))
	got := float64(entries+all.texts.Size()+4*len(all.index)) / float64(table.Len())
	t.Logf("%.1f bytes a URL", got)
	if got > 36 {
		t.Errorf("%.1f bytes a URL, %d of texts", got, all.texts.Size())
	}
	for id, u := range inFileURLs() {
		if got := table.URL(id).String(); got != u {
			t.Fatalf("%d: %s, want %s", id, got, u)
		}
		if got, ok := table.Find([]byte(u)); !ok || got != id {
			t.Fatalf("%s: %d, %t", u, got, ok)
		}
	}
	if err := errors.Join(table.Err(), table.Close()); err != nil {
		t.Error(err)
	}
}

// inFileURLs are URLs that have little in common, of several megabytes.
func inFileURLs() iter.Seq2[uint32, string] {
	return func(yield func(uint32, string) bool) {
		r := rand.New(rand.NewPCG(1, 2))
		for id := range uint32(1 << 16) {
			if !yield(id, fmt.Sprintf("http://h/%x/%x%x", id, r.Uint64(), r.Uint64())) {
				return
			}
		}
	}
}

// inFile is a table of inFileURLs, with the file that most of them lie in.
func inFile(t *testing.T) (*Table, *os.File) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "urls"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	table := New()
	table.UseFile(1<<20, func() (texts.File, error) { return f, nil })
	for _, u := range inFileURLs() {
		Enter(table, []byte(u), Named)
	}
	if fi, err := f.Stat(); err != nil || fi.Size() < 1<<20 {
		t.Fatalf("the file: %v, %v", fi, err)
	}
	return table, f
}

func TestTableReserved(t *testing.T) {
	table := newURLs()
	table.reserve(10_000)
	for _, id := range []uint32{0, 4095, 4096, 9999} {
		table.set(id, fmt.Appendf(nil, "http://h/%d", id))
	}
	table.set(4095, []byte("http://h/other"))   // a number keeps its URL
	table.set(10_000, []byte("http://h/10000")) // beyond what was reserved
	for _, id := range []uint32{0, 4095, 4096, 9999} {
		if got, ok := table.find(fmt.Appendf(nil, "http://h/%d", id)); !ok || got != id {
			t.Errorf("%d: %d, %v", id, got, ok)
		}
	}
	if _, ok := table.find([]byte("http://h/other")); ok {
		t.Error("a second URL for one number")
	}
	if id := table.add([]byte("http://h/new")); id != 10_000 {
		t.Errorf("the next number is %d", id)
	}
}

func TestTablePaths(t *testing.T) {
	table := newURLs()
	for _, c := range []struct {
		url, path string
		identity  bool
	}{
		{"http://h/a/b.html", "a/b.html", true},
		{"http://h/a/", "a/index.html", false},
		{"http://h/a?b", "a@b", false},
		{"http://h/a?", "a", false},
		{"http://h/", "index.html", false},
		{"http://h/x", "", false},
	} {
		id := table.add([]byte(c.url))
		table.setPath(id, c.path)
		if got := table.path(id); got != c.path {
			t.Errorf("%s: path %q, want %q", c.url, got, c.path)
		}
		if got := table.at(id).flags&fIdentity != 0; got != c.identity {
			t.Errorf("%s at %q: identity %v", c.url, c.path, got)
		}
		table.setPath(id, "else")
		if got := table.path(id); got != "else" {
			t.Errorf("%s: path %q after it was changed", c.url, got)
		}
		both := func(what string, target uint32, path string) {
			t.Helper()
			if to, p := (State{*table.at(id)}).Target(), table.path(id); to != target || p != path {
				t.Errorf("%s: %s: target %d, path %q; want %d, %q", c.url, what, to, p, target, path)
			}
		}
		table.setTarget(id, 7)
		both("with a target", 7, "else")
		table.setTarget(id, 8)
		both("with another target", 8, "else")
		table.setPath(id, "again")
		both("with a target and another path", 8, "again")
		table.setTarget(id, 0)
		both("without the target", 0, "again")
		table.setTarget(id, 9)
		table.dropPath(id)
		both("without the path", 9, "")
		if table.setTarget(id, 0); len(table.aside) > 0 || (State{*table.at(id)}).HasPath() {
			t.Errorf("%s: something is left of its path", c.url)
		}
	}
}

func TestTableFinal(t *testing.T) {
	table := newURLs()
	for i := range 30 {
		table.add(fmt.Appendf(nil, "http://h/%d", i))
	}
	link := func(from, to uint32) { table.setTarget(from, to+1) }
	link(0, 1)
	link(1, 2)
	table.at(2).flags |= fInSet
	link(3, 4)
	link(4, 3) // a loop
	link(5, 6) // ends outside of the mirror
	for i := uint32(7); i < 29; i++ {
		link(i, i+1)
	}
	table.at(29).flags |= fInSet
	for _, c := range []struct {
		id, final uint32
		in        bool
	}{{0, 2, true}, {2, 2, true}, {5, 6, false}, {10, 29, true}} {
		if id, in := table.final(c.id); id != c.final || in != c.in {
			t.Errorf("%d redirects to %d, %v; want %d, %v", c.id, id, in, c.final, c.in)
		}
	}
	for _, id := range []uint32{3, 4, 7} { // a loop, and a chain that is too long
		if _, in := table.final(id); in {
			t.Errorf("%d leads into the mirror", id)
		}
	}
}

func TestTableMIME(t *testing.T) {
	table := newURLs()
	if table.mime("") != 0 {
		t.Error("no type is not number 0")
	}
	a, b := table.mime("text/html"), table.mime("image/png")
	if a == b || table.mime("text/html") != a || table.mimes[b] != "image/png" {
		t.Error(a, b)
	}
	for i := range 70_000 { // a hostile site sends one for each page
		table.mime(fmt.Sprint("x/", i))
	}
	if table.mimes[table.mime("text/html")] != "text/html" {
		t.Error("a known type was lost")
	}
}

func TestTableConcurrently(t *testing.T) {
	table := New()
	name := func(i int) []byte { return fmt.Appendf(nil, "http://h/%d", i) }
	var firsts atomic.Int64
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 5000 {
				u := name((i*7 + w) % 6000)
				id, s := table.Admit(u, Referral{From: uint32(w)}, func(uint32, State, bool) Mark {
					return Mark{Seen: Named}
				})
				if table.URL(id).String() != string(u) || s.Seen() != Named || s.Referrer() > 3 {
					t.Errorf("%d is not %s: %+v", id, u, s)
					return
				}
				if _, first := table.Queue(id); first {
					firsts.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := int64(table.Len()); firsts.Load() != n {
		t.Errorf("%d of %d URLs entered the frontier", firsts.Load(), n)
	}
}

func BenchmarkTable(b *testing.B) {
	urls := make([][]byte, 100_000)
	for i := range urls {
		urls[i] = fmt.Appendf(nil, "https://www.example.org/docs/section%d/page%d.html", i%100, i)
	}
	b.Run("add", func(b *testing.B) {
		for range b.N {
			table := newURLs()
			for _, u := range urls {
				table.add(u)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(urls)), "ns/url")
	})
	table := newURLs()
	for _, u := range urls {
		table.add(u)
	}
	b.Run("find", func(b *testing.B) {
		for i := range b.N {
			if _, ok := table.find(urls[i%len(urls)]); !ok {
				b.Fatal("lost")
			}
		}
	})
}
