// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/internal/volatile"
	"mirrord/site"
	"mirrord/store/record"
)

// boxed is a page with a box of its own text and a token.
func boxed(box, token string) []byte {
	return []byte("<h1>Page</h1><form><input type=hidden name=csrf value=" + token + "></form><p>" +
		strings.Repeat("text ", 20) + "<div id=box>" + box + "</div>end")
}

func addressOf(t *testing.T, name string) site.URL {
	t.Helper()
	u, _, err := site.Parse("http://site.test/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// twice has a page come, and requested twice; it reports whether it was.
func twice(t *testing.T, p *Noise, name string, one, two []byte) bool {
	t.Helper()
	u := addressOf(t, name)
	p.Came(PageAnswer{URL: u, Body: one, At: noon}, IsNew)
	if _, ok := p.Question("http://other.test", 0, noon.Add(SecondsApart)); ok {
		t.Fatal("a question for another origin")
	}
	if _, ok := p.Question(u.Origin(), 0, noon); ok {
		t.Fatal("a question at once")
	}
	q, ok := p.Question(u.Origin(), 0, noon.Add(SecondsApart))
	if ok {
		p.Answered(q, PageAnswer{URL: u, Body: two, At: noon})
	}
	return ok
}

const (
	tokenA = "9c59c3c75325c48e5f8e"
	tokenB = "15c1bd8c8d00668624bf"
)

// Two pages of a template are requested twice; more of them, up to eight in a run, while there are
// differences
// that are not yet believed.
func TestPagesRequestedTwice(t *testing.T) {
	for name, c := range map[string]struct {
		one, two []byte
		want     int // pages
		known    int // positions
	}{
		"the same":       {boxed("a", tokenA), boxed("a", tokenA), firstTwice, 0},
		"a token":        {boxed("a", tokenA), boxed("a", tokenB), firstTwice, 1},
		"a box":          {boxed("a", tokenA), boxed("b", tokenA), firstTwice + 1, 1},
		"something else": {boxed("a", tokenA), append(boxed("a", tokenA), "more"...), leastTwice, 0},
	} {
		p, n := NewNoise(1), 0
		for i := range 20 {
			if twice(t, p, fmt.Sprintf("%d.html", i), c.one, c.two) {
				n++
			}
		}
		if n != c.want || len(p.Known(site.URL{})) != c.known {
			t.Errorf("%s: %d pages requested twice, want %d; %d known, want %d", name, n, c.want,
				len(p.Known(site.URL{})), c.known)
		}
	}
}

func TestNoiseIsRememberedAndForgotten(t *testing.T) {
	p := NewNoise(10)
	for i := range 3 {
		twice(t, p, fmt.Sprintf("%d.html", i), boxed("a", tokenA), boxed("b", tokenB))
	}
	fact, err := p.Fact()
	if err != nil || len(p.Known(site.URL{})) != 2 || len(p.All()) != 2 {
		t.Fatalf("%v, %v: %s", p.Known(site.URL{}), err, fact)
	}
	for run, want := range map[int]int{11: 2, 10 + noiseRuns - 1: 2, 10 + noiseRuns: 0} {
		later := NewNoise(run)
		if err := later.Read(fact); err != nil || len(later.Known(site.URL{})) != want {
			t.Errorf("run %d: %d positions known, want %d: %v", run, len(later.Known(site.URL{})), want, err)
		}
		again := run-10 >= shapeRuns
		if got := twice(t, later, "9.html", boxed("a", tokenA), boxed("a", tokenA)); got != again {
			t.Errorf("run %d: the template is looked at again: %v", run, got)
		}
	}
	if err := NewNoise(11).Read([]byte("{")); err == nil {
		t.Error("a damaged fact was read")
	}
	if fact, err := NewNoise(11).Fact(); err != nil || fact != nil {
		t.Errorf("a fact of nothing: %s, %v", fact, err)
	}
}

// A page that the mirror has but for noise has its template looked at again, two of them a run.
func TestKeptPagesAreLookedAtAgain(t *testing.T) {
	p := NewNoise(3)
	for i := range 5 {
		body := []byte(fmt.Sprintf("<div id=%s>x</div>", strings.Repeat("x", i+1)))
		p.Came(PageAnswer{URL: addressOf(t, fmt.Sprintf("%d.html", i)), Body: body, At: noon}, IsKept)
	}
	if len(p.waiting) != firstTwice {
		t.Errorf("%d pages wait", len(p.waiting))
	}
	p.Question("", 0, noon.Add(atOneMoment+1))
	if len(p.waiting) != 0 {
		t.Error("a second answer is of another moment")
	}
}

// Pages that change each time are requested twice, and the more often two answers were the same, the rarer.
func TestPagesThatChangeEachTimeAreRequestedTwice(t *testing.T) {
	var fact []byte
	var runs []int
	rec := &record.Resource{URL: addressOf(t, "1.html"), Recent: 3, Observed: 2}
	for run := 1; run <= 200; run++ {
		p := NewNoise(run)
		if err := p.Read(fact); err != nil {
			t.Fatal(err)
		}
		p.shapes[shapeOf(rec.URL, boxed("a", tokenA))] = &shapeFact{Asked: firstTwice, Run: run}
		same := PageAnswer{URL: rec.URL, Body: boxed("a", tokenA), At: noon}
		p.Changed(&record.Resource{URL: rec.URL, Recent: 1}, same)
		if p.ripe.Load() {
			t.Fatal("a page that changed twice only is requested twice")
		}
		p.Changed(rec, same)
		if q, ok := p.Question("", 0, noon); ok {
			p.Answered(q, same)
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

// A timing may be the same in most answers: it is believed when it differed on two pages.
func TestTimingsAreMostlyTheSame(t *testing.T) {
	page := func(n, before string) []byte {
		return boxed("</div>"+before+"0.00"+n+" of it<div>", tokenA)
	}
	for before, want := range map[string]bool{"generated in ": true, "it costs ": false} {
		found, ok := volatile.Apart(page("3", before), page("4", before), nil)
		if !ok || len(found) != 1 {
			t.Fatalf("%+v", found)
		}
		f := PositionFact{Prose: found[0].Prose, Counted: found[0].Counted}
		f.Pages, f.Seen, f.Differed = 2, 8, 2
		if f.IsSure() != want {
			t.Errorf("%s: believed: %v", before, f.IsSure())
		}
	}
}

// A processor time is so coarse that two answers mostly agree: in a script one page of many is enough, and
// all pages are masked there then.
func TestCoarseTimingsOfScripts(t *testing.T) {
	for name, want := range map[string]int{"cputime": 1, "price": 0} {
		fill := func(value string) []byte {
			return boxed(`<script>set({"`+name+`":"0.00`+value+`","n":7})</script>`, tokenA)
		}
		p := NewNoise(1)
		for n, second := range []string{"2", "2", "3", "2", "2", "2"} {
			p.shapes = map[uint64]*shapeFact{}
			twice(t, p, fmt.Sprintf("%d.html", n), fill("2"), fill(second))
		}
		if got := len(p.Known(addressOf(t, "other.html"))); got != want {
			t.Errorf("%s: %d positions, want %d", name, got, want)
		}
	}
}

// A position that is the same on most pages is known for the one on which it differs.
func TestNoiseOfOnePage(t *testing.T) {
	p := NewNoise(1)
	own := addressOf(t, "own.html")
	twice(t, p, "own.html", boxed("a", tokenA), boxed("a", tokenB))
	for i := range 3 {
		p.shapes = map[uint64]*shapeFact{}
		twice(t, p, fmt.Sprintf("%d.html", i), boxed("a", tokenA), boxed("a", tokenA))
	}
	if len(p.Known(own)) != 1 || len(p.Known(addressOf(t, "0.html"))) != 0 {
		t.Errorf("known for the page %v, for others %v", p.Known(own), p.Known(addressOf(t, "0.html")))
	}
}

func TestRedirectsThatVary(t *testing.T) {
	u, had := addressOf(t, "random"), addressOf(t, "a")
	p := NewNoise(2)
	if p.Varies(u, had, had, false) || p.Varies(u, addressOf(t, "b"), had, false) {
		t.Error("one answer says that a redirect varies")
	}
	if p.Varies(u, addressOf(t, "b"), had, true) {
		t.Error("two answers that are the same do")
	}
	if !p.Varies(u, addressOf(t, "c"), had, true) || !p.Varies(u, had, had, false) {
		t.Error("two answers that differ do not")
	}
	fact, err := p.Fact()
	later := NewNoise(3)
	if err != nil || later.Read(fact) != nil || !later.Varies(u, had, had, false) {
		t.Errorf("not remembered: %s, %v", fact, err)
	}
}

// Two answers within one second show the same clock, which says nothing against it.
func TestClockWithinASecond(t *testing.T) {
	p := NewNoise(1)
	pixel := func(at int) []byte { return boxed(fmt.Sprintf("<img class=px src='/px?t=%d'>", at), tokenA) }
	twice(t, p, "a", pixel(1763624096), pixel(1763624099))
	if n := len(p.Known(addressOf(t, "z"))); n != 1 {
		t.Fatalf("%d positions", n)
	}
	fact, err := p.Fact()
	if err != nil {
		t.Fatal(err)
	}
	for run := 2; run < 8; run++ {
		p = NewNoise(run)
		if err := p.Read(fact); err != nil {
			t.Fatal(err)
		}
		u := addressOf(t, "b")
		page := PageAnswer{URL: u, Body: pixel(1763624096 + run), At: noon}
		p.Came(page, IsOther)
		p.Changed(&record.Resource{URL: u, Recent: 0xff}, page)
		if q, ok := p.Question("", 0, noon.Add(SecondsApart)); ok {
			p.Answered(q, page)
		}
		if n := len(p.Known(u)); n != 1 {
			t.Fatalf("run %d: the clock is forgotten", run)
		}
		if fact, err = p.Fact(); err != nil {
			t.Fatal(err)
		}
	}
}

// ETags of a template are new in each answer when two answers of one moment that say the same have different
// ones. Two with the same one end that.
func TestETagsOfATemplate(t *testing.T) {
	u := addressOf(t, "1.html")
	a, b, other := boxed("a", tokenA), boxed("a", tokenB), append(boxed("a", tokenA), "more"...)
	for name, c := range map[string]struct {
		two      []byte
		one, tag string
		was      bool
		want     bool
	}{
		"a hash of the answer":          {b, `"1"`, `"2"`, false, true},
		"another one for the same":      {a, `W/"1"`, `W/"2"`, false, true},
		"the same":                      {b, `"1"`, `"1"`, false, false},
		"none":                          {b, "", "", false, false},
		"one of two":                    {b, `"1"`, "", false, false},
		"another text":                  {other, `"1"`, `"2"`, false, false},
		"no longer new":                 {b, `"1"`, `"1"`, true, false},
		"no longer sent":                {b, "", "", true, false},
		"new, and the text another one": {other, `"1"`, `"2"`, true, true},
	} {
		p := NewNoise(3)
		p.Came(PageAnswer{
			URL:  u,
			Body: a,
			Tag:  c.one,
			At:   noon,
		}, IsNew)
		p.shapes[shapeOf(u, a)].Tags = c.was
		q, ok := p.Question("", 0, noon)
		if !ok {
			t.Fatalf("%s: not requested twice", name)
		}
		p.Answered(q, PageAnswer{
			URL:  u,
			Body: c.two,
			Tag:  c.tag,
			At:   noon,
		})
		fact, err := p.Fact()
		later := NewNoise(4)
		if err != nil || later.Read(fact) != nil {
			t.Fatal(err)
		}
		if got, next := p.HasNewTags(u, b), later.HasNewTags(u, b); got != c.want || next != c.want {
			t.Errorf("%s: %v, in the next run %v; want %v", name, got, next, c.want)
		}
		if later.HasNewTags(addressOf(t, "1.html?page=1"), b) {
			t.Errorf("%s: of another template, too", name)
		}
	}
}
