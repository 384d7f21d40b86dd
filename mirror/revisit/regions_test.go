// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// regionSite is a site of which each page has a box.
type regionSite struct {
	t      *testing.T
	pages  int
	box    func(page, run int, at time.Time) string
	stored map[int][]byte
	fact   []byte
	run    int
}

func (s *regionSite) body(page, run int, at time.Time) []byte {
	return []byte("<h1>Page</h1><p>" + strings.Repeat("and so on ", 60) + "<div id=box>" +
		s.box(page, run, at) + "</div>end")
}

// next makes a run, and returns how many pages changed, and how many requests more than one a page it made.
func (s *regionSite) next() (changed, more int) {
	s.run++
	p := NewNoise(s.run)
	if err := p.Read(s.fact); err != nil {
		s.t.Fatal(err)
	}
	now := noon.Add(time.Duration(s.run) * 86_399_123 * time.Millisecond)
	var again []int
	look := func(i int) {
		a := PageAnswer{
			URL:  addressOf(s.t, fmt.Sprintf("%d.html", i)),
			Body: s.body(i, s.run, now),
			At:   now,
		}
		p.Again(a)
		a.Was = s.stored[i]
		_, _, same := p.Known(a.URL).Same(a.Was, a.Body)
		edited, waits := false, false
		if same {
			edited, waits = p.InRegions(a, int64(s.pages))
		}
		switch {
		case waits:
			again = append(again, i)
		case a.Was == nil:
			p.Came(a, IsNew)
			s.stored[i] = a.Body
		case edited || (!same && string(a.Was) != string(a.Body)):
			p.Came(a, IsOther)
			s.stored[i], changed = a.Body, changed+1
		default:
			p.Came(a, IsKept)
		}
	}
	for i := range s.pages {
		look(i)
		now = now.Add(10 * time.Millisecond)
	}
	for len(again) > 0 {
		now = now.Add(SecondsApart)
		list := again
		again = nil
		for _, i := range list {
			more++
			look(i)
		}
	}
	for q, ok := p.Question("", int64(s.pages), now); ok; q, ok = p.Question("", int64(s.pages), now) {
		var i int
		fmt.Sscanf(q.URL.Path(), "/%d.html", &i)
		a := q.PageAnswer
		a.Body = s.body(i, s.run, now.Add(time.Second))
		p.Answered(q, a)
		more++
	}
	var err error
	if s.fact, err = p.Fact(); err != nil {
		s.t.Fatal(err)
	}
	return changed, more
}

// Items drawn into a region, from few or many, are no edit, and cost few requests; the same holds for who is
// online, where they come and go while the pages are requested.
func TestLotsInRegionsRest(t *testing.T) {
	var random *rand.Rand
	draw := func(pool, n int) string {
		out := ""
		for _, k := range random.Perm(pool)[:n] {
			out += fmt.Sprintf("<li><a href=/p/%d>thing %c%c%c</a>", k, 'a'+k%26, 'a'+k/26%26, 'a'+k/676)
		}
		return out
	}
	for name, box := range map[string]func(page, run int, at time.Time) string{
		"two of four":      func(int, int, time.Time) string { return draw(4, 2) },
		"one of five":      func(int, int, time.Time) string { return draw(5, 1) },
		"three of five":    func(int, int, time.Time) string { return draw(5, 3) },
		"three of 40":      func(int, int, time.Time) string { return draw(40, 3) },
		"five of 2000":     func(int, int, time.Time) string { return draw(2000, 5) },
		"up to four of 30": func(int, int, time.Time) string { return draw(30, random.IntN(5)) },
		"in any order":     func(int, int, time.Time) string { return draw(9, 9) },
		"who is online": func(_, _ int, at time.Time) string { // they come and go within seconds
			out := ""
			for k := range 12 {
				out += fmt.Sprintf("<a href=/u/%d>user %[1]d</a>", (at.UnixMilli()/1500+int64(k*k))%500)
			}
			return out
		},
	} {
		for _, pages := range []int{8, 100} {
			random = rand.New(rand.NewPCG(7, uint64(pages))) //nolint:gosec // a test
			s := regionSite{
				t:      t,
				pages:  pages,
				box:    box,
				stored: map[int][]byte{},
			}
			versions, more := 0, 0
			for range 60 {
				changed, n := s.next()
				if s.run > 10 && changed > 0 {
					versions++
				}
				if more += n; n > leastTwice {
					t.Errorf("%s, %d pages: %d requests more in a run", name, pages, n)
				}
			}
			t.Logf("%s, %d pages: %d versions, %.1f requests more", name, pages, versions, float64(more)/60)
			if versions > 1 {
				t.Errorf("%s, %d pages: %d versions of a site that did not change", name, pages, versions)
			}
		}
	}
}

// Looks leave to a run the second requests that learn positions.
func TestLooksLeaveWhatLearns(t *testing.T) {
	p := NewNoise(2)
	if !p.lots.mayLook(0) {
		t.Error("no look in a small run")
	}
	p.lots.insisted = 10 * laterTwice
	for range laterTwice {
		if !p.mayAsk(0) {
			t.Fatalf("%d second requests beside looks, want %d", p.asked, laterTwice)
		}
		p.asked++
	}
	if p.mayAsk(0) || p.lots.mayLook(0) {
		t.Error("more requests than a run has")
	}
}
