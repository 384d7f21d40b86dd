// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// lasting is how many runs the tests of one broken part make.
const lasting = 5

// breakage is one way in which a part can be broken for ever.
type breakage struct {
	name  string
	reply Reply
}

func breakages() []breakage {
	html := []string{"Content-Type: text/html"}
	return []breakage{
		{"500", *Status(500)},
		{"503 with a wait of a day", *Status(503, "Retry-After: 86400")},
		{"429", *Status(429)},
		{"reset", Reply{Reset: true}},
		{"no header", Reply{Hang: true}},
		{"trickle", Reply{Header: html, Body: strings.Repeat("x", 9000), Drip: 7 * time.Second}},
		{"403", *Status(403)},
		{"redirect to itself", Reply{Status: 302}},
		{"cut", Reply{Header: html, Body: strings.Repeat("x", 900), Cut: true}},
	}
}

// damaged is a site with one more part that is broken from a run on.
func damaged(s *Site, b breakage, from int, pattern string) *Site {
	first := func(v Visit) *Reply {
		if v.Run < from || !v.At(pattern) {
			return nil
		}
		a := b.reply
		if a.Status == 302 {
			a.Header = []string{"Location: " + v.URL}
		}
		return &a
	}
	s.Twists = append([]Twist{first}, s.Twists...)
	return s
}

// sameBut compares a site with a broken part to the same site without: the rest is published as fresh, for
// as many requests. All runs together may make an eighth and ten more or fewer: when something is broken,
// time goes by until the last page is requested, and a site may answer otherwise by then. Requests for
// parts with faults of their own are not counted, but those are that find out whether its origin answers:
// one for each of 30 failures in a row beside a page that trickles, for three of four without it.
func sameBut(without, with []Result, site *Site, part string, trouble ...string) (problems []string) {
	last := len(with) - 1
	stale := 0
	var first string
	for _, u := range slices.Sorted(maps.Keys(site.Pages)) {
		if match(absolute(part), u) {
			continue
		}
		want, there := without[last].Pages[u]
		got, published := with[last].Pages[u]
		if there != published || want != got {
			if stale++; stale == 1 {
				first = fmt.Sprintf("%s: published %v, edition %q; else %v, %q",
					u, published, got, there, want)
			}
		}
	}
	if stale > 0 {
		problems = append(problems,
			fmt.Sprintf("after run %d %d pages are not as fresh: %s", last+1, stale, first))
	}
	rest := []string{part}
	if !slices.Contains(trouble, "*") {
		rest = append(rest, trouble...)
	}
	want, got := 0, 0
	for i := range with {
		want, got = want+without[i].Requests(rest...), got+with[i].Requests(rest...)
	}
	if bound := want/8 + 10; got > want+bound || got < want-bound {
		problems = append(problems, fmt.Sprintf("%d requests for the rest, want %d ± %d", got, want, bound))
	}
	if problems != nil {
		problems = append(problems, indented(with[last].Text))
	}
	return problems
}

func indented(text string) string { return "\t" + strings.ReplaceAll(text, "\n", "\n\t") }

// leaf is a page of a site that its own trouble does not concern.
func (c *Exhibit) leaf(s *Site) string {
	for _, u := range slices.Sorted(maps.Keys(s.Pages)) {
		if strings.HasSuffix(u, "2.html") && !(Visit{URL: u}).At(strings.Fields(c.Part)...) {
			return u
		}
	}
	return Home + "/docs/2.html"
}

// TestOneBrokenPartInBulk breaks each part of an ordinary site in each way, for ever. A page is broken from
// the start, and those with links to others from the second run on. Without MIRRORD_LONG each part meets
// every second way, and its neighbour the others.
func TestOneBrokenPartInBulk(t *testing.T) {
	site := func() *Site {
		return withCDN(3).Link("/docs/", `<a href="/docs/data.pdf">data</a>`).
			Add("/docs/data.pdf", "%PDF edition {n}")
	}
	c := &Exhibit{Job: `policy = "adaptive"`} // the default: from the fourth run on it plans
	without := c.Play(t, site(), lasting)
	for i, part := range []struct {
		what, pattern string
		from          int
	}{
		{"page", "/news/3.html", 1},
		{"file", "/docs/data.pdf", 1},
		{"hub", "/docs/", 2},
		{"entry", "/", 2},
		{"style sheet", "/style.css", 1},
		{"section", "/news/*.html", 2},
		{"host", "http://cdn.example.org/*", 1},
	} {
		for j, b := range breakages() {
			if part.what == "entry" && b.name == "403" {
				continue // an entry point that is forbidden is suspicious
			}
			if (i+j)%2 > 0 && os.Getenv("MIRRORD_LONG") == "" {
				continue
			}
			name := part.what + " " + b.name
			t.Run(name, func(t *testing.T) {
				s := site()
				with := c.Play(t, damaged(s, b, part.from, part.pattern), lasting)
				expect(t, "broken "+name, sameBut(without, with, s, part.pattern))
			})
		}
	}
}

// TestDeadOriginInBulk gives an ordinary site links to an origin that is dead in each way, for ever.
func TestDeadOriginInBulk(t *testing.T) {
	const dead = "https://dead.example.org"
	c := &Exhibit{}
	site := func() *Site { return Village(5).Link("/docs/", many(12, `<img src="`+dead+`/%d.png">`)) }
	without := c.Play(t, Village(5), lasting)
	for name, f := range map[string]Outage{
		"refused": Refused, "unreachable": Unreachable, "no name": NoName, "silent": Silent,
		"not TLS": NotTLS, "bad certificate": BadCert, "black hole": BlackHole, "hangup": Hangup,
	} {
		t.Run(name, func(t *testing.T) {
			s := site().Origin(dead, Always(f))
			with := c.Play(t, s, lasting)
			problems := sameBut(without, with, s, dead+"*")
			for i := range with {
				w := Want{Down: dead}
				if f == Silent || f == BlackHole { // one timeout
					w.Patience = 30 * time.Second
				}
				if i >= 3 {
					w.Left = dead
				}
				problems = append(problems, w.origin(&with[i])...)
			}
			expect(t, "dead origin "+name, problems)
		})
	}
}
