package replica

import (
	"fmt"
	"testing"
)

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
	s := NewSeen(0)
	for _, d := range []Digest{some[0], some[1], {}, some[2], some[1], near, far, {}, near} {
		k := s.Add(d)
		got += fmt.Sprint(k.Like, k.Exact, " ")
	}
	if want := "0 false 1 false 2 false 3 false 1 true 1 false 6 false 7 false 5 true "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
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
	s := NewSeen(0.9)
	first, missed := map[uint32]bool{}, 0
	for i, d := range digests {
		k := s.Add(d)
		root := sets.Find(uint32(i))
		switch {
		case k.Like == k.Page && first[root]:
			missed++
		case k.Like != k.Page && sets.Find(k.Like) != root:
			t.Errorf("page %d is like %d, which is in another group", i, k.Like)
		}
		first[root] = true
	}
	if missed*50 > len(digests) {
		t.Errorf("%d of %d pages were not known", missed, len(digests))
	}
}
