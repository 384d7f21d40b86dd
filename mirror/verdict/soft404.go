// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"slices"
	"strings"

	"mirrord/site"
	"mirrord/store/record"
)

// Soft404 is the rule about pages that became what their origin answers to a path that cannot exist. It finds
// a part of a site that went wrong, where SameShape needs half of it.
func (rules) Soft404() rule { return rule{at: Settled, place: 20, judge: soft404} }

// More pages than softLeast, and than this share of the site, became error pages.
const (
	softLeast = 2
	softShare = 20 // one of so many
)

const becameSoft404 = "%d of %d pages, such as %s, have become what the site answers with status 200 " +
	"to a path that cannot exist: its error page?"

func soft404(c *Case) (r Ruling, _ error) {
	if c.Accept || (len(c.Probes) == 0) {
		return r, nil
	}
	pages := 0
	groups := make([][]*suspect, len(c.Probes))
	err := c.Records.Resources(func(rec *record.Resource) error {
		if !isPage(rec) {
			return nil
		}
		if rec.Run == c.Run.Number {
			pages++ // that the run looked at
		}
		if !hasChanged(rec, c.Run) {
			return nil
		}
		if i := probeFor(rec, c); i >= 0 {
			groups[i] = append(groups[i], suspectOf(rec))
		}
		return nil
	})
	if err != nil {
		return r, err
	}
	var became []uint32
	for i := range c.Probes {
		same, err := becameOne(c, groups[i], &c.Probes[i])
		if err != nil {
			return r, err
		}
		became = append(became, same...)
	}
	n := len(became)
	if n <= max(softLeast, pages/softShare) {
		return r, nil
	}
	r.suspicious(becameSoft404, n, pages, c.Table.URL(became[0]))
	r.Forget = became // a 304 to the validators of an error page would keep it
	r.Dropped = became
	return r, nil
}

// probeFor returns the index of the nearest error page that a page may have become, -1 for none.
func probeFor(rec *record.Resource, c *Case) int {
	best := -1
	for i := range c.Probes {
		p := &c.Probes[i]
		below := strings.HasPrefix(rec.URL.String(), p.Below)
		if !below || ((best >= 0) && (len(p.Below) < len(c.Probes[best].Below))) {
			continue
		}
		if p.mayBe(rec) {
			best = i
		}
	}
	return best
}

// ErrorPage is what an error page with status 200 looks like.
type ErrorPage struct {
	URL   site.URL // that cannot exist
	Below string   // URLs that begin so are answered alike
	Shape uint32
	Size  int64  // bytes
	Said  string // its text
}

func (p *ErrorPage) words() words { return wordsOf(p.Said) }

// mayBe reports whether a page may be the error page, before its text is read: its size is about the same,
// and of an error page without text the shape is, too.
func (p *ErrorPage) mayBe(rec *record.Resource) bool {
	if p.Said == "" {
		return (rec.Shape == p.Shape) && alike(rec.Size, p.Size)
	}
	d := rec.Size - p.Size
	return max(d, -d) <= p.Size/4+looseSlack
}

// looseSlack is by how many bytes more than a quarter an error page may differ from another one.
const looseSlack = 500

// alikeInSize returns the pages that have about one size: that of an error page, or the usual one.
func alikeInSize(all []*suspect, page *ErrorPage) (out []*suspect) {
	if len(all) == 0 {
		return nil
	}
	usual := usualSize(all)
	if page != nil {
		usual = page.Size
	}
	for _, s := range all {
		if alike(s.size, usual) {
			out = append(out, s)
		}
	}
	return out
}

// usualSize is the median size.
func usualSize(all []*suspect) int64 {
	sizes := make([]int64, len(all))
	for i, s := range all {
		sizes[i] = s.size
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}
