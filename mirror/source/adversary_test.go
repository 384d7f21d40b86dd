// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
	"mirrord/testing/mirrortest"
)

// townSize is the number of pages of a site, and townHeld how many of them the mirror holds.
const (
	townSize = 24
	townHeld = 20
)

// town is a site of a few sections, each with its own template beside that of the site.
type town struct {
	r        *rand.Rand
	frame    []string // of the site
	sections [][]string
	own      [townSize][]string
}

func someWords(r *rand.Rand, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("w%d", r.IntN(4000))
	}
	return out
}

func newTown(r *rand.Rand, least, most int) *town {
	c := &town{r: r, frame: someWords(r, r.IntN(500))}
	for range 1 + r.IntN(3) {
		c.sections = append(c.sections, someWords(r, r.IntN(150)))
	}
	for i := range c.own {
		c.own[i] = someWords(r, least+r.IntN(most-least+1))
	}
	return c
}

func (c *town) path(i int) string { return fmt.Sprintf("s%d/p%d.html", i%len(c.sections), i) }

// page is a page that says something in the frame of the site.
func (c *town) page(i int, says []string) string {
	middle := len(c.frame) / 2
	return "<html><title>" + strings.Join(says[:min(2, len(says))], " ") + "</title><p>" +
		strings.Join(c.frame[:middle], " ") + "<p>" + strings.Join(c.sections[i%len(c.sections)], " ") + "<main>" +
		strings.Join(says, " ") + "</main><p>" + strings.Join(c.frame[middle:], " ") + "</html>"
}

// replaced replaces a part of some words by others, in runs.
func replaced(r *rand.Rand, words []string, share float64, run int) []string {
	out := append([]string(nil), words...)
	for n := int(share * float64(len(words))); n > 0; n -= run {
		copy(out[r.IntN(len(out)):], someWords(r, min(run, n)))
	}
	return out
}

// adversary is a host that poses as a replica. It answers with page i; right says that this may be
// published instead of the origin's.
type adversary struct {
	name   string
	least  int // words of a page's own
	most   int
	answer func(c *town, other *town, i int) (body string, right bool)
	all    bool // it has a page at any path
	known  bool // what the mirror does not hold is counted too
	copies bool // most of what it has must be taken
}

var adversaries = []adversary{
	{
		name:   "a shop with the same template",
		least:  30,
		most:   120,
		known:  true,
		answer: func(c, other *town, i int) (string, bool) { return c.page(i, other.own[i]), false },
	},
	{
		name:   "a catalogue of other things",
		least:  3,
		most:   12,
		known:  true,
		answer: func(c, other *town, i int) (string, bool) { return c.page(i, other.own[i]), false },
	},
	{
		name:  "a catalogue in which one word differs",
		least: 4,
		most:  30,
		known: true,
		answer: func(c, other *town, i int) (string, bool) {
			return c.page(i, append([]string{other.own[i][0]}, c.own[0][1:4]...)), false
		},
	},
	{
		name:  "a translation with the same examples",
		least: 100,
		most:  300,
		known: true,
		answer: func(c, other *town, i int) (string, bool) {
			n := len(c.own[i]) * (30 + i) / 100
			return c.page(i, append(append([]string(nil), c.own[i][:n]...), other.own[i]...)), false
		},
	},
	{
		name:  "copies that are cut off",
		least: 60,
		most:  300,
		known: true,
		answer: func(c, _ *town, i int) (string, bool) {
			all := c.page(i, c.own[i])
			from := strings.Index(all, "<main>")
			end := from + (strings.Index(all, "</main>")-from)*(10+3*i)/100
			return all[:end], false
		},
	},
	{
		name:  "some copies that are cut off",
		least: 100,
		most:  300,
		answer: func(c, _ *town, i int) (string, bool) {
			if i%4 > 0 {
				return c.page(i, c.own[i]), true
			}
			return c.page(i, c.own[i][:len(c.own[i])*(10+3*i)/100]), false
		},
	},
	{
		name:  "some copies without a part of their middle, of any length",
		least: 12,
		most:  2500,
		answer: func(c, _ *town, i int) (string, bool) {
			if i%4 > 0 {
				return c.page(i, c.own[i]), true
			}
			n := len(c.own[i])
			gone := max(min(n/4, 10), n*(2+i)/100)
			at := (n - gone) * i / townSize
			return c.page(i, append(append([]string(nil), c.own[i][:at]...), c.own[i][at+gone:]...)), false
		},
	},
	{
		name:  "some copies that end where their frame does not",
		least: 12,
		most:  200,
		answer: func(c, _ *town, i int) (string, bool) {
			all := c.page(i, c.own[i])
			words := strings.Fields(all)
			if i%4 > 0 || len(words) < 40 {
				return all, true
			}
			return strings.Join(words[:len(words)-4-i], " "), false
		},
	},
	{
		name:  "some copies without a part, and with advertisements",
		least: 100,
		most:  2500,
		answer: func(c, other *town, i int) (string, bool) {
			if i%4 > 0 {
				return c.page(i, c.own[i]), true
			}
			n := len(c.own[i])
			at, gone := n/3, n*(8+i)/100
			says := append(append([]string(nil), other.own[i][:6]...), c.own[i][:at]...)
			return c.page(i, append(says, c.own[i][at+gone:]...)), false
		},
	},
	{
		name:  "pages at the paths of others",
		least: 30,
		most:  200,
		answer: func(c, _ *town, i int) (string, bool) {
			if i%4 > 0 {
				return c.page(i, c.own[i]), true
			}
			return c.page(i, c.own[(i+5)%townSize]), false
		},
	},
	{
		name:  "a parked domain",
		least: 30,
		most:  200,
		all:   true,
		known: true,
		answer: func(c, other *town, i int) (string, bool) {
			return "<title>For sale</title><p>" + strings.Join(other.frame, " ") + " this domain is for sale", false
		},
	},
	{
		name:  "a parked domain with other offers at each path",
		least: 30,
		most:  200,
		all:   true,
		known: true,
		answer: func(c, other *town, i int) (string, bool) {
			return other.page(i, append(strings.Split(c.path(i), "/"), other.own[i]...)), false
		},
	},
	{
		name:  "a login page",
		least: 30,
		most:  200,
		all:   true,
		known: true,
		answer: func(c, _ *town, i int) (string, bool) {
			return c.page(i, strings.Fields("please log in with your name and password to read this")), false
		},
	},
	{
		name:   "older versions",
		least:  60,
		most:   300,
		copies: true,
		known:  true,
		answer: func(c, _ *town, i int) (string, bool) {
			return c.page(i, replaced(c.r, c.own[i], 0.04, 4)), true
		},
	},
	{
		name:   "another frame",
		least:  150,
		most:   400,
		copies: true,
		known:  true,
		answer: func(c, _ *town, i int) (string, bool) {
			return "<h1>a mirror of the town</h1>" + c.page(i, c.own[i]), true
		},
	},
}

// trial counts what became of the pages of an adversary.
type trial struct{ tries, rights, given, wrong int }

// No page of another site, another page or a part of one is published instead of a page, whether the
// replica was tested before it became what it is or is tested now, and with any date. Without
// alternates_replace none is at all. MIRRORD_LONG=1 makes more than 10 000 tries.
func TestNoWrongPageInBulk(t *testing.T) {
	rounds := 1
	if os.Getenv("MIRRORD_LONG") != "" {
		rounds = 25
	}
	tries := 0
	for _, kind := range adversaries {
		var n trial
		for round := range rounds {
			for _, before := range []bool{false, true} {
				kind.try(t, uint64(round), before, true, &n)
				kind.try(t, uint64(round), before, false, new(trial))
			}
		}
		t.Logf("%s: %d of %d right pages are taken, %d wrong ones", kind.name, n.given, n.rights, n.wrong)
		if kind.copies && 10*n.given < 9*n.rights {
			t.Errorf("%s: %d of %d pages are taken", kind.name, n.given, n.rights)
		}
		tries += n.tries
	}
	t.Logf("%d tries", tries)
}

// try requests the pages of a site from an adversary, which was tested before, or not.
func (kind *adversary) try(t *testing.T, seed uint64, before, replace bool, n *trial) {
	t.Helper()
	p, r := newUntested(t, replace), rand.New(rand.NewPCG(seed, 20))
	c, other := newTown(r, kind.least, kind.most), newTown(r, kind.least, kind.most)
	p.build(c)
	if before {
		p.tested(t, true)
	}
	web := p.fake.Web
	web.Set("*", mirrortest.Status(404))
	if body, _ := kind.answer(c, other, 0); kind.all {
		web.Set("*", htmlPage(body))
	}
	web.Set("http://copy.example.net/robots.txt", mirrortest.Status(404))
	for i := range townSize {
		body, _ := kind.answer(c, other, i)
		web.Set(there+c.path(i), htmlPage(body))
	}
	for i := range townSize {
		if i >= townHeld && !kind.known {
			break
		}
		rec, held := p.records[home+c.path(i)]
		if !held {
			rec = record.Resource{URL: site.Canonical(home + c.path(i))}
		}
		ask := &source.Ask{Record: &rec, Of: source.FromReplica, Why: "status 503"}
		a, err := p.chain.Get(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		a.Release()
		_, right := kind.answer(c, other, i)
		taken := a.From == source.FromReplica
		n.tries++
		switch {
		case held && taken && !a.Same && !replace:
			t.Errorf("%s, seed %d: page %d of the mirror is replaced", kind.name, seed, i)
		case right:
			n.rights++
			if taken {
				n.given++
			}
		case taken && !a.Same:
			n.wrong++
			const form = "%s, tested before %v, seed %d: page %d, held %v, is taken"
			t.Errorf(form, kind.name, before, seed, i, held)
		}
	}
}

func htmlPage(body string) mirrortest.Page {
	p := mirrortest.HTML("", "")
	p.Header["Last-Modified"] = time.Now().UTC().Format(http.TimeFormat)
	p.Body = body
	return p
}

// build gives the mirror the first pages of a site.
func (p *place) build(c *town) {
	s := p.table.Settled()
	s.Reserve(townHeld)
	for i := range townHeld {
		rec := p.record(c.path(i), c.page(i, c.own[i]))
		rec.ID, rec.Outcome = uint32(i), site.Fetched
		p.records[rec.URL.String()] = *rec
		s.Load(rec, urls.Run{Number: 1, Version: 1})
	}
}
