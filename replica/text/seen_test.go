// SPDX-License-Identifier: Apache-2.0

package text

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/replica/hash"
)

// shelf keeps digests in memory.
type shelf []ContentDigest

func (s *shelf) digest(page uint32) (ContentDigest, error) { return (*s)[page], nil }

// seenPages returns an index, which is closed at the end of the test.
func seenPages(t *testing.T, o SeenOptions) *SeenPages {
	t.Helper()
	s, err := NewSeenPages(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask looks a page up and adds it.
func ask(t *testing.T, s *SeenPages, on *shelf, d ContentDigest) (Known, bool) {
	t.Helper()
	k, ok, err := s.Like(&d)
	if err == nil {
		*on = append(*on, d)
		err = s.Add(uint32(len(*on)-1), &d, ok)
	}
	if err != nil {
		t.Fatal(err)
	}
	return k, ok
}

func TestSeen(t *testing.T) {
	some := manyDigests(3)
	near, far := some[1], some[1]
	for i := range 10 {
		near.Sketch[i*12]++
	}
	for i := range 40 {
		far.Sketch[i*3]++
	}
	near.Text, far.Text = 1, 2
	got := ""
	var on shelf
	s := seenPages(t, SeenOptions{Digest: on.digest})
	for _, d := range []ContentDigest{some[0], some[1], {}, some[2], some[1], near, far, {}, near} {
		k, ok := ask(t, s, &on, d)
		got += fmt.Sprint(k.Page, k.Exact, ok, " ")
	}
	if want := "0 false false 0 false false 0 false false 0 false false 1 true true 1 false true 0 false " +
		"false 0 false false 5 true true "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.Current = func(page uint32, of *ContentDigest) bool { return page != 8 }
	if k, ok := ask(t, s, &on, near); ok && k.Page == 8 {
		t.Error("a page that no longer counts is found")
	}
	s.Digest = func(uint32) (ContentDigest, error) { return ContentDigest{}, errors.New("gone") }
	if _, _, err := s.Like(&near); err == nil {
		t.Error("an unreadable digest is no error")
	}
}

// A thousand times the same page, then a thousand others, take memory for the distinct ones.
func TestSeenGrows(t *testing.T) {
	some := manyDigests(5000)
	var on shelf
	s := seenPages(t, SeenOptions{Digest: on.digest})
	for range 20_000 {
		ask(t, s, &on, some[0])
	}
	if len(s.parts) != 1<<10 {
		t.Errorf("%d slots for one page", len(s.parts))
	}
	for _, d := range some {
		ask(t, s, &on, d)
	}
	if per := 6 * len(s.parts) / len(some); per > 60 {
		t.Errorf("%d bytes a page", per)
	}
	for i, d := range some {
		if k, ok := ask(t, s, &on, d); !ok || !k.Exact || on[k.Page] != d {
			t.Fatalf("page %d is no longer known", i)
		}
	}
}

// Pages whose keys all want the same places cost as many steps as any, and others are known as before.
func TestSeenFlooded(t *testing.T) {
	some := manyDigests(500)
	var on shelf
	s := seenPages(t, SeenOptions{Digest: on.digest, Pages: 50_000})
	d, v := ContentDigest{Words: 10}, uint32(0)
	for n := range 5000 {
		d.Text = uint64(n)
		for i := range seenBands {
			for ; ; v++ {
				binary.LittleEndian.PutUint32(d.Sketch[i*BandRows:], v)
				if s.home(seenKey(&d, i)) < 256 {
					v++
					break
				}
			}
			at, _ := s.place(seenKey(&d, i))
			if far := at - s.home(seenKey(&d, i)); far > mostProbes {
				t.Fatalf("page %d: a key lies %d places from where it belongs", n, far)
			}
		}
		ask(t, s, &on, d)
	}
	for _, d := range some {
		ask(t, s, &on, d)
	}
	missed := 0
	for _, d := range some {
		if k, ok, err := s.Like(&d); err != nil || !ok || on[k.Page] != d {
			missed++
		}
	}
	if missed > 0 {
		t.Errorf("%d of %d pages are not known", missed, len(some))
	}
}

// An index that grows into a file says what one in memory says, of pages that are new, known, and nearly
// known.
func TestSeenInFile(t *testing.T) {
	const pages = 210_000 // more than have room in memory
	r := rand.New(rand.NewPCG(1, 2))
	var on shelf
	files := 0
	here := seenPages(t, SeenOptions{Digest: on.digest})
	there := seenPages(t, SeenOptions{Digest: on.digest, Scratch: func() (SeenFile, error) {
		files++
		return os.Create(filepath.Join(t.TempDir(), "numbers"))
	}})
	known := 0
	for i := range pages {
		d := ContentDigest{Text: r.Uint64(), Words: 40}
		if i%10 == 0 && i > 0 {
			d = on[r.IntN(i)]
			if i%20 == 0 {
				d.Sketch[r.IntN(Bins)]++
				d.Text++
			}
		} else {
			for b := 0; b < Bins; b += 8 {
				binary.LittleEndian.PutUint64(d.Sketch[b:], r.Uint64())
			}
		}
		on = append(on, d)
		k, ok, err := here.Like(&d)
		k2, ok2, err2 := there.Like(&d)
		if k != k2 || ok != ok2 || err != nil || err2 != nil {
			t.Fatalf("page %d: %v %v %v in memory, %v %v %v in a file", i, k, ok, err, k2, ok2, err2)
		}
		if ok {
			known++
		}
		if err := errors.Join(here.Add(uint32(i), &d, ok), there.Add(uint32(i), &d, ok)); err != nil {
			t.Fatal(err)
		}
	}
	if files != 1 || there.pages.list != nil || known < pages/12 {
		t.Errorf("%d files, %d numbers in memory, %d pages known", files, len(there.pages.list), known)
	}
}

// brokenFile is a file on a disk that is full.
type brokenFile struct{ *os.File }

func (brokenFile) WriteAt([]byte, int64) (int, error) { return 0, errFull }

var errFull = errors.New("no space left on device")

// Without disk space for its file an index returns an error.
func TestSeenWithoutRoom(t *testing.T) {
	some := manyDigests(1)
	var on shelf
	full := seenPages(t, SeenOptions{Digest: on.digest, Pages: 200_000, Scratch: func() (SeenFile, error) {
		f, err := os.Create(filepath.Join(t.TempDir(), "numbers"))
		return brokenFile{f}, err
	}})
	if err := full.Add(0, &some[0], false); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
	none, err := NewSeenPages(SeenOptions{Digest: on.digest, Pages: 200_000, Scratch: func() (SeenFile, error) {
		return (*os.File)(nil), errFull // as of a function that returns a file
	}})
	if !errors.Is(err, errFull) || none.Close() != nil {
		t.Errorf("%v", err)
	}
}

// manyDigests makes the digests of n pages of 40 words each, drawn from 5000.
func manyDigests(n int) (digests []ContentDigest) {
	s := NewSketcher(SketchOptions{})
	for i := range n {
		var b strings.Builder
		for j := range 40 {
			fmt.Fprintf(&b, "w%d ", hash.Mix(uint64(i)<<16|uint64(j))%5000)
		}
		digests = append(digests, s.Plain([]byte(b.String())))
	}
	return digests
}
