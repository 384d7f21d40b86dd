package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
)

// shelf keeps digests in memory.
type shelf []Digest

func (s *shelf) digest(page uint32) (Digest, error) { return (*s)[page], nil }

// ask looks a page up and adds it.
func ask(t *testing.T, s *Seen, on *shelf, d Digest) (Known, bool) {
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
	_, some := sitePages("a.test", "/", "", 0, 3)
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
	s := NewSeen(SeenOptions{Digest: on.digest})
	for _, d := range []Digest{some[0], some[1], {}, some[2], some[1], near, far, {}, near} {
		k, ok := ask(t, s, &on, d)
		got += fmt.Sprint(k.Page, k.Exact, ok, " ")
	}
	if want := "0 false false 0 false false 0 false false 0 false false 1 true true 1 false true 0 false false 0 false false 5 true true "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.o.Current = func(page uint32, of *Digest) bool { return page != 8 }
	if k, ok := ask(t, s, &on, near); ok && k.Page == 8 {
		t.Error("a page that does not count any more is found")
	}
	s.o.Digest = func(uint32) (Digest, error) { return Digest{}, errors.New("gone") }
	if _, _, err := s.Like(&near); err == nil {
		t.Error("an unreadable digest is no error")
	}
}

// A thousand times the same page, then a thousand others, take room for what differs.
func TestSeenGrows(t *testing.T) {
	_, some := sitePages("a.test", "/", "", 0, 5000)
	var on shelf
	s := NewSeen(SeenOptions{Digest: on.digest})
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
	_, some := sitePages("a.test", "/", "", 0, 500)
	var on shelf
	s := NewSeen(SeenOptions{Digest: on.digest, Pages: 50_000})
	home := func(key uint64) int { return int(key>>16) & (len(s.pages) - 1) }
	d, v := Digest{Words: 10}, uint32(0)
	for n := range 5000 {
		d.Text = uint64(n)
		for i := range seenBands {
			for ; ; v++ {
				binary.LittleEndian.PutUint32(d.Sketch[i*bandRows:], v)
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

// What is said to be nearly the same is, and nearly all that Group joins at that resemblance has a page like it.
func TestSeenAgainstGroup(t *testing.T) {
	c := readCorpus(t)
	if c == nil {
		return
	}
	_, digests := digestsOf(c)
	sets := Group(digests, GroupOptions{Resemblance: 0.9}).Sets
	var on shelf
	s := NewSeen(SeenOptions{Digest: on.digest})
	first, missed := map[uint32]bool{}, 0
	for i, d := range digests {
		k, ok := ask(t, s, &on, d)
		root := sets.Find(uint32(i))
		switch {
		case !ok && first[root]:
			missed++
		case ok && sets.Find(k.Page) != root:
			t.Errorf("page %d is like %d, which is in another group", i, k.Page)
		}
		first[root] = true
	}
	if missed*50 > len(digests) {
		t.Errorf("%d of %d pages were not known", missed, len(digests))
	}
}
