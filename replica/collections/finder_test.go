// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mirrord/replica/hash"
	"mirrord/replica/text"
	"mirrord/testing/replicatest"
)

// memorySpill keeps runs in memory and counts them. After fail writes every call fails.
type memorySpill struct {
	made, open, bytes int
	fail              int
}

var errSpill = errors.New("no room")

func (s *memorySpill) Create() (SpillFile, error) {
	if s.fail > 0 && s.bytes >= s.fail {
		return nil, errSpill
	}
	s.made++
	s.open++
	return &memoryRun{s: s}, nil
}

type memoryRun struct {
	s      *memorySpill
	b      []byte
	closed bool
}

func (r *memoryRun) Write(b []byte) (int, error) {
	if r.s.bytes += len(b); r.s.fail > 0 && r.s.bytes >= r.s.fail {
		return 0, errSpill
	}
	r.b = append(r.b, b...)
	return len(b), nil
}

func (r *memoryRun) ReadAt(b []byte, off int64) (int, error) {
	if off >= int64(len(r.b)) {
		return 0, io.EOF
	}
	n := copy(b, r.b[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (r *memoryRun) Close() error {
	if r.closed {
		return errors.New("closed twice")
	}
	r.closed = true
	r.s.open--
	return nil
}

// sameFound holds what a Finder finds against the results of the obvious way.
func sameFound(
	t *testing.T, pages []Address, digests []text.ContentDigest, o FindOptions, memory int64,
) (spill *memorySpill, found int) {
	t.Helper()
	w := plainGroup(digests, o.Group)
	want := plainPairs(pages, digests, w.Sets, o.Votes)
	spill = &memorySpill{}
	f := NewFinder(spill, FinderOptions{FindOptions: o, Memory: memory})
	for i := range pages {
		if err := f.Add(pages[i], digests[i]); err != nil {
			t.Fatal(err)
		}
	}
	g, got, err := f.Find()
	if err != nil {
		t.Fatal(err)
	}
	if g.Pages != w.Pages || g.Exact != w.Exact || g.Candidates != w.Candidates || g.Near != w.Near {
		t.Errorf("memory %d: %d pages, %d exact, %d candidates, %d near; want %d, %d, %d, %d", memory, g.Pages,
			g.Exact, g.Candidates, g.Near, w.Pages, w.Exact, w.Candidates, w.Near)
	}
	for i := range pages {
		if g.Sets.Find(uint32(i)) != w.Sets.Find(uint32(i)) {
			t.Fatalf("memory %d: page %d is in set %d, want %d", memory, i, g.Sets.Find(uint32(i)),
				w.Sets.Find(uint32(i)))
		}
	}
	pairs := append(got.Copies, got.Related...)
	for i := range pairs {
		pairs[i].Places, pairs[i].Same, pairs[i].Differ = 0, 0, 0
	}
	slices.SortFunc(pairs, func(x, y DirPair) int {
		return cmp.Or(cmp.Compare(y.Pages, x.Pages), x.A.compare(y.A), x.B.compare(y.B))
	})
	if !slices.Equal(pairs, want) {
		t.Errorf("memory %d: %d pairs of directories, want %d", memory, len(pairs), len(want))
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if spill.open != 0 {
		t.Errorf("%d files stay open", spill.open)
	}
	if _, _, err := f.Find(); err == nil {
		t.Error("found twice")
	}
	return spill, len(pairs)
}

// The results do not depend on the memory.
func TestFinderFindsTheSame(t *testing.T) {
	n := 10_000
	if replicatest.Long() {
		n = 20_000
	}
	pages, digests := generated(n)
	for _, memory := range []int64{1, 300_000, 2 << 20, 1 << 30} {
		spill, found := sameFound(t, pages, digests, FindOptions{}, memory)
		if few := memory == 1<<30; few != (spill.made == 0) || found == 0 {
			t.Errorf("memory %d: %d files, %d pairs", memory, spill.made, found)
		}
	}
	if c := replicatest.ReadCorpus(t); c != nil {
		pages, digests := digestsOf(c)
		sameFound(t, pages, digests, FindOptions{}, 1)
		sameFound(t, pages, digests, FindOptions{Votes: Votes{Pages: 3, Window: 4}}, 1<<20)
	}
}

// Small random webs, full of copies, near copies, empty pages and odd addresses.
func TestFinderFindsTheSameAtRandom(t *testing.T) {
	pairs := 0
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 7))
		var pages []Address
		var digests []text.ContentDigest
		for i := range 200 + r.IntN(1500) {
			a := Address{fmt.Sprintf("h%d.test", r.IntN(4)),
				fmt.Sprintf("/%s%d/%d.html", strings.Repeat("d/", r.IntN(3)), r.IntN(4), r.IntN(400))}
			switch r.IntN(30) {
			case 0:
				a.Path = "/"
			case 1:
				a.Path = "*"
			case 2:
				a.Path = "/" + strings.Repeat("long", 300)
			}
			d := text.ContentDigest{Words: 100, Text: hash.Mix(uint64(i) + seed<<32)}
			for j := range d.Sketch {
				d.Sketch[j] = byte(r.UintN(256))
			}
			if i > 0 && r.IntN(4) > 0 {
				from := r.IntN(i)
				d = digests[from]
				if r.IntN(2) == 0 {
					d.Text++
					for range r.IntN(90) {
						d.Sketch[r.IntN(text.Bins)]++
					}
				}
				if r.IntN(3) > 0 {
					a = Address{fmt.Sprintf("h%d.test", r.IntN(4)), "/c" + pages[from].Path}
					switch r.IntN(8) {
					case 0:
						a.Path = strings.ToUpper(a.Path)
					case 1:
						a.Path = strings.ReplaceAll(a.Path, "d/", "D/")
					case 2:
						a.Path = strings.ReplaceAll(a.Path, ".html", ".HTM")
					}
				}
			}
			if r.IntN(20) == 0 {
				d = text.ContentDigest{}
			}
			pages, digests = append(pages, a), append(digests, d)
		}
		_, found := sameFound(t, pages, digests, FindOptions{Votes: Votes{
			Pages:  2 + r.IntN(4),
			Window: 1 + r.IntN(9),
		}}, 1)
		if pairs += found; t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if pairs < 100 {
		t.Errorf("only %d pairs of directories were compared", pairs)
	}
}

// Wherever the disk is full, that is said, and all files are closed.
func TestFinderWithoutRoom(t *testing.T) {
	pages, digests := generated(2500)
	room := memorySpill{}
	run := func(spill *memorySpill) error {
		f := NewFinder(spill, FinderOptions{Memory: 1})
		err := addAndFind(f, pages, digests)
		if err := f.Close(); err != nil || spill.open != 0 {
			t.Errorf("%v, %d files open", err, spill.open)
		}
		return err
	}
	if err := run(&room); err != nil {
		t.Fatal(err)
	}
	for fail := 1; fail < room.bytes; fail += room.bytes / 20 {
		if err := run(&memorySpill{fail: fail}); !errors.Is(err, errSpill) {
			t.Errorf("space for %d of %d bytes: %v", fail, room.bytes, err)
		}
	}
}

// The callback for progress can end it.
func TestFinderEnds(t *testing.T) {
	pages, digests := generated(3000)
	for _, end := range []string{
		"compare words", "compare pages", "read pages again", "compare directories", "",
	} {
		f := NewFinder(&memorySpill{}, FinderOptions{Progress: func(phase string, done, total int) error {
			if phase == end {
				return errSpill
			}
			return nil
		}})
		for i := range pages {
			if err := f.Add(pages[i], digests[i]); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := f.Find(); errors.Is(err, errSpill) != (end != "") {
			t.Errorf("ended at %q: %v", end, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func addAndFind(f *Finder, pages []Address, digests []text.ContentDigest) error {
	for i := range pages {
		if err := f.Add(pages[i], digests[i]); err != nil {
			return err
		}
	}
	_, _, err := f.Find()
	return err
}
