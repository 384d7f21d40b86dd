// SPDX-License-Identifier: Apache-2.0

package text

import (
	"errors"
	"fmt"
	"testing"

	"mirrord/replica/hash"
)

// shelf keeps in memory what pages say.
type shelf []Said

func (s *shelf) said(page uint32) (Said, error) { return (*s)[page], nil }

// ask looks a page up and adds it.
func ask(t *testing.T, s *SeenPages, on *shelf, x Said) (Known, bool) {
	t.Helper()
	k, ok, err := s.Like(x)
	if err != nil {
		t.Fatal(err)
	}
	*on = append(*on, x)
	s.Add(uint32(len(*on)-1), x, ok)
	return k, ok
}

// unlike are n things to say that have no gist in common.
func unlike(n int) (out []Said) {
	for i := range n {
		out = append(out, Said{Text: hash.Mix(uint64(2*i + 1)), Gist: hash.Mix(uint64(2*i + 2))})
	}
	return out
}

func TestSeen(t *testing.T) {
	some := unlike(3)
	near := Said{Text: 1, Gist: some[1].Gist}
	got := ""
	var on shelf
	s := NewSeenPages(on.said)
	for _, x := range []Said{some[0], some[1], {}, some[2], some[1], near, {Text: 2, Gist: 2}, {}, near} {
		k, ok := ask(t, s, &on, x)
		got += fmt.Sprint(k.Page, k.Exact, ok, " ")
	}
	if want := "0 false false 0 false false 0 false false 0 false false 1 true true 1 false true 0 false " +
		"false 0 false false 1 false true "; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	on[1] = Said{}
	if k, ok := ask(t, s, &on, near); ok {
		t.Errorf("page %d, which no longer counts, is found", k.Page)
	}
	if k, ok := ask(t, s, &on, near); !ok || !k.Exact || k.Page != 9 {
		t.Errorf("the page in its place is not found: %v %v", k, ok)
	}
	s.said = func(uint32) (Said, error) { return Said{}, errors.New("gone") }
	if _, _, err := s.Like(near); err == nil {
		t.Error("what cannot be read is no error")
	}
}

// A thousand times the same page, then a thousand others, take memory for the distinct ones.
func TestSeenGrows(t *testing.T) {
	some := unlike(5000)
	var on shelf
	s := NewSeenPages(on.said)
	for range 20_000 {
		ask(t, s, &on, some[0])
	}
	if len(s.pages) != 1 {
		t.Errorf("%d places for one page", len(s.pages))
	}
	for _, x := range some {
		ask(t, s, &on, x)
	}
	for i, x := range some {
		if k, ok := ask(t, s, &on, x); !ok || !k.Exact || on[k.Page] != x {
			t.Fatalf("page %d is no longer known", i)
		}
	}
}

// Pages whose keys are equal take each other's place, and others are known as before.
func TestSeenAlikeByChance(t *testing.T) {
	some := unlike(500)
	var on shelf
	s := NewSeenPages(on.said)
	x := Said{Text: 10, Gist: some[0].Gist}
	for x.Gist++; part(x) == part(some[0]); x.Gist++ {
	}
	s.pages[part(x)] = 0 // a guess that is wrong
	on = append(on, some[0])
	if k, ok := ask(t, s, &on, x); ok {
		t.Errorf("a page is like page %d of another gist", k.Page)
	}
	for _, x := range some {
		ask(t, s, &on, x)
	}
	for i, x := range append(some, x) {
		if k, ok, err := s.Like(x); err != nil || !ok || on[k.Page] != x {
			t.Errorf("page %d is not known", i)
		}
	}
}
