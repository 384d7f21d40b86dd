// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/site"
	"mirrord/store"
)

// boxed is a page with a box of its own text.
func boxed(box string) []byte {
	return []byte("<h1>Page</h1><p>" + strings.Repeat("text ", 20) + "<div id=box>" + box + "</div>end")
}

// changing returns the record of a page that changed at its last looks.
func changing(t *testing.T, n int) *store.Resource {
	u, _, err := site.Parse(fmt.Sprintf("http://site.test/%d.html", n))
	if err != nil {
		t.Fatal(err)
	}
	return &store.Resource{URL: u, Recent: 3, Observed: 2}
}

// twice has a page requested twice in a run, and reports whether it was.
func twice(t *testing.T, p *Places, n int, one, two string) bool {
	rec := changing(t, n)
	p.Changed(rec, boxed(one))
	if _, ok := p.Question("http://other.test"); ok {
		t.Fatal("a question for another origin")
	}
	q, ok := p.Question(rec.URL.Origin())
	if ok {
		p.Answered(q, boxed(two))
	}
	return ok
}

func TestPlacesAreRememberedAndForgotten(t *testing.T) {
	p := NewPlaces(10)
	if p.Changed(&store.Resource{Recent: 1}, boxed("a")); p.ripe.Load() {
		t.Error("a page that changed twice only is requested twice")
	}
	for n := range 2 * mostTwice {
		if got, want := twice(t, p, n, "a", "b"), n < mostTwice; got != want {
			t.Errorf("page %d requested twice: %v", n, got)
		}
		if got, want := len(p.Known()), min(n, 1); got != want {
			t.Errorf("%d places known after %d pages, want %d", got, n+1, want)
		}
	}
	fact, err := p.Fact()
	if err != nil {
		t.Fatal(err)
	}
	for run, want := range map[int]int{11: 1, 10 + placeRuns - 1: 1, 10 + placeRuns: 0} {
		later := NewPlaces(run)
		if err := later.Read(fact); err != nil || len(later.Known()) != want {
			t.Errorf("run %d: %d places known, want %d: %v", run, len(later.Known()), want, err)
		}
	}
	if err := NewPlaces(11).Read([]byte("{")); err == nil {
		t.Error("a damaged fact was read")
	}
}

// The more often two answers were the same, the longer nothing is requested twice.
func TestPlacesAreLookedForSeldom(t *testing.T) {
	var fact []byte
	var runs []int
	for run := 1; run <= 200; run++ {
		p := NewPlaces(run)
		if err := p.Read(fact); err != nil {
			t.Fatal(err)
		}
		if twice(t, p, 1, "a", "a") {
			runs = append(runs, run)
		}
		var err error
		if fact, err = p.Fact(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := fmt.Sprint(runs), "[1 3 7 15 31 63 95 127 159 191]"; got != want {
		t.Errorf("requested twice in runs %s, want %s", got, want)
	}
}
