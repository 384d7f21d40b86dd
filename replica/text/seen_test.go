// SPDX-License-Identifier: Apache-2.0

package text

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"mirrord/replica/hash"
)

// shelf keeps digests in memory.
type shelf []ContentDigest

func (s *shelf) digest(page uint32) (ContentDigest, error) { return (*s)[page], nil }

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
	s := NewSeenPages(SeenOptions{Digest: on.digest})
	for _, d := range []ContentDigest{some[0], some[1], {}, some[2], some[1], near, far, {}, near} {
		k, ok := ask(t, s, &on, d)
		got += fmt.Sprint(k.Page, k.Exact, ok, " ")
	}
	if want := "0 false false 0 false false 0 false false 0 false false 1 true true 1 false true 0 false " +
		"false 0 false false 5 true true "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.o.Current = func(page uint32, of *ContentDigest) bool { return page != 8 }
	if k, ok := ask(t, s, &on, near); ok && k.Page == 8 {
		t.Error("a page that does not count any more is found")
	}
	s.o.Digest = func(uint32) (ContentDigest, error) { return ContentDigest{}, errors.New("gone") }
	if _, _, err := s.Like(&near); err == nil {
		t.Error("an unreadable digest is no error")
	}
}

// A thousand times the same page, then a thousand others, take room for what differs.
func TestSeenGrows(t *testing.T) {
	some := manyDigests(5000)
	var on shelf
	s := NewSeenPages(SeenOptions{Digest: on.digest})
	for range 20_000 {
		ask(t, s, &on, some[0])
	}
	if len(s.pages) != 1<<10 {
		t.Errorf("%d slots for one page", len(s.pages))
	}
	for _, d := range some {
		ask(t, s, &on, d)
	}
	if per := 6 * len(s.pages) / len(some); per > 80 {
		t.Errorf("%d bytes a page", per)
	}
	for i, d := range some {
		if k, ok := ask(t, s, &on, d); !ok || !k.Exact || on[k.Page] != d {
			t.Fatalf("page %d is not known any more", i)
		}
	}
}

// Pages whose keys all want the same places cost as many steps as any, and others are known as before.
func TestSeenFlooded(t *testing.T) {
	some := manyDigests(500)
	var on shelf
	s := NewSeenPages(SeenOptions{Digest: on.digest, Pages: 50_000})
	home := func(key uint64) int { return int(key>>16) & (len(s.pages) - 1) }
	d, v := ContentDigest{Words: 10}, uint32(0)
	for n := range 5000 {
		d.Text = uint64(n)
		for i := range seenBands {
			for ; ; v++ {
				binary.LittleEndian.PutUint32(d.Sketch[i*BandRows:], v)
				if home(seenKey(&d, i)) < 256 {
					v++
					break
				}
			}
			if far := s.place(seenKey(&d, i)) - home(seenKey(&d, i)); far > mostProbes {
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
