// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"fmt"
	"strings"
	"testing"

	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

func TestPatternOf(t *testing.T) {
	for raw, want := range map[string]string{
		"http://h/a":              "",
		"http://h/a?b=1":          "http://h/a?b=…",
		"http://h/a?c=2&b=1;c=3":  "http://h/a?b=…&c=…",
		"http://h/2026/11/":       "http://h/#/#/",
		"http://h/p12.html?b=1":   "http://h/p#.html?b=…",
		"http://h/%E4%BD%A0.html": "",
		"http://h/%E4%BD%A01":     "http://h/%E4%BD%A0#",

		"http://h/log/53e33dcc0cbb/a1?n=2": "http://h/log/#/a#?n=…",
		"http://h/log/cafe123/decade":      "http://h/log/#/decade",
	} {
		if got := PatternOf(site.Canonical(raw)); got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
}

// The days of a month and what the URL says are no words.
func TestWithoutNumbers(t *testing.T) {
	for said, want := range map[string]string{
		"may 2026 28 29 30 31 1 2 3": "may # #",
		"page 07 of 36":              "page # of 36",
		"12 degrees 3 mm":            "12 degrees 3 mm",
		"week 45 1 2 week 46 3 4":    "week 45 # week 46 #",
	} {
		numbers := map[string]bool{"2026": true, "7": true}
		if got := strings.Join(withoutNumbers(strings.Fields(said), numbers), " "); got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}

// Pages that an index names are no chain, regardless of their text; those that lead to one another are one,
// unless they have new text or link to something new.
func TestChainsLearn(t *testing.T) {
	page := func(i int) site.URL { return site.Canonical(fmt.Sprintf("http://h/p?n=%d", i)) }
	for _, c := range []struct {
		name    string
		from    func(i int) (uint32, site.URL) // number of the page that names it, plus one
		said    func(i int) string
		entered func(i int) []site.URL
		want    bool
	}{
		{"chain", nil, nil, nil, true},
		{"index", func(int) (uint32, site.URL) { return 900, site.Canonical("http://h/") }, nil, nil, false},
		{"new text", nil, func(i int) string {
			return fmt.Sprintf("a%cx b%[1]cx c%[1]cx d%[1]cx", 'a'+rune(i))
		}, nil, false},
		{"new links", nil, nil, func(i int) []site.URL {
			return []site.URL{site.Canonical(fmt.Sprintf("http://h/image%d.png", i))}
		}, false},
		{"a dead link, asked again", nil, nil, func(int) []site.URL {
			return []site.URL{site.Canonical("http://h/gone.png")}
		}, true},
		{"links to itself", nil, nil, func(i int) []site.URL { return []site.URL{page(i + 1)} }, true},
	} {
		x := NewChains(10, nil)
		for i := range 26 {
			p := &ChainPage{
				ID:     uint32(i),
				URL:    page(i),
				FromID: uint32(i),
				From:   page(i - 1),
				Said:   func() string { return fmt.Sprintf("page %d of the calendar", i) },
				Had:    func(u site.URL) bool { return strings.HasSuffix(u.Path(), "gone.png") },
			}
			if c.from != nil {
				p.FromID, p.From = c.from(i)
			}
			if c.said != nil {
				p.Said = func() string { return c.said(i) }
			}
			if c.entered != nil {
				p.Entered = c.entered(i)
			}
			x.Learn(p)
		}
		if got := x.Refuses(page(99), 25); (got != c.want) || (len(x.Traps()) == 1) != c.want {
			t.Errorf("%s: refused %v, traps %v", c.name, got, x.Traps())
		}
		// The next run needs few pages to find it again.
		next := NewChains(10, x.Known())
		for i := range retestPages {
			next.Learn(&ChainPage{
				ID:     uint32(i),
				URL:    page(i),
				FromID: uint32(i + 1),
				From:   page(i + 1),
			})
		}
		if got := next.Refuses(page(99), retestPages-1); got != c.want {
			t.Errorf("%s: in the next run refused %v", c.name, got)
		}
	}
	var none *Chains
	if none.Learn(&ChainPage{URL: page(1)}); none.Refuses(page(1), 0) || NewChains(0, nil) != nil {
		t.Error("without a limit there are traps")
	}
}

// Learn asks the table, which asks Refuses while it is locked: none of the two waits for the other one.
func TestChainsAskWithoutLock(t *testing.T) {
	x, asked := NewChains(10, nil), false
	page := func(i int) site.URL { return site.Canonical(fmt.Sprintf("http://h/p?n=%d", i)) }
	x.Learn(&ChainPage{
		ID:      1,
		URL:     page(1),
		FromID:  1,
		From:    page(0),
		Said:    func() string { return "page 1" },
		Entered: []site.URL{site.Canonical("http://h/q?n=1&m=2")},
		Knows: func(site.URL) bool {
			if asked = true; !x.mu.TryLock() {
				t.Error("locked")
				return false
			}
			x.mu.Unlock()
			return true
		},
	})
	if !asked {
		t.Error("the table was not asked")
	}
}

// What an index named in a run that was interrupted, or before, is no chain in the run that resumes.
func TestChainsOfBefore(t *testing.T) {
	const pages, limit = 60, 10
	page := func(i int) site.URL { return site.Canonical(fmt.Sprintf("http://h/p?n=%d", i)) }
	for _, c := range []struct {
		name   string
		from   func(i int) int // the page that named it
		asked  int             // pages that the run before got
		reread int             // and this many of them are read again, with all that they name
		want   bool
	}{
		{"an index of each ten", func(i int) int { return (i - 1) / 10 * 10 }, 21, 0, false},
		{"one of its pages is left", func(i int) int { return 0 }, pages - 1, 0, false},
		{"one page after the other", func(i int) int { return i - 1 }, 21, 0, true},
		{"pages that are read again", func(i int) int { return i % 2 }, 2, 2, false},
	} {
		table := urls.New()
		settled := table.Settled()
		settled.Reserve(pages)
		for i := range pages {
			rec := &record.Resource{ID: uint32(i), URL: page(i), InSet: i < c.asked}
			if i > 0 && c.reread == 0 {
				rec.Referrer = uint32(c.from(i)) + 1
			}
			if rec.InSet {
				rec.Outcome = site.Fetched
			}
			settled.Load(rec, urls.Run{Number: 2, Version: 2})
		}
		x := NewChains(limit, nil)
		x.Load(settled)
		for by := range c.reread {
			p := &ChainPage{ID: uint32(by), URL: page(by)}
			for i := c.asked; i < pages; i++ {
				if c.from(i) == by {
					p.Entered = append(p.Entered, page(i))
				}
			}
			x.Recall(p.ID, p.URL, site.Canonical("http://h/"))
			x.Reread(p)
		}
		for i := c.asked; i < pages; i++ {
			p := &ChainPage{
				ID:     uint32(i),
				URL:    page(i),
				FromID: uint32(c.from(i)) + 1,
				From:   page(c.from(i)),
				Said:   func() string { return fmt.Sprintf("page %d of all", i) },
			}
			if next := i + 1; next < pages && c.from(next) == i {
				p.Entered = []site.URL{page(next)}
			}
			x.Learn(p)
		}
		if got := len(x.Traps()) > 0; got != c.want {
			t.Errorf("%s: traps %v", c.name, x.Traps())
		}
	}
}
