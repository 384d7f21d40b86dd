// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"mirrord/site"
	"mirrord/store"
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
	var became []uint32
	var example site.URL
	err := c.Records.Resources(func(rec *store.Resource) error {
		if !isPage(rec) {
			return nil
		}
		if rec.Run == c.Run.Number {
			pages++ // that the run looked at
		}
		f, ok := c.Probes[rec.URL.Origin()]
		looksLike := ok && (rec.Shape == f.Shape) && alike(rec.Size, f.Size)
		if !looksLike || !becameOther(rec, c.Run) {
			return nil
		}
		if len(became) == 0 {
			example = rec.URL
		}
		became = append(became, rec.ID)
		return nil
	})
	if n := len(became); (err != nil) || (n <= max(softLeast, pages/softShare)) {
		return r, err
	}
	r.suspicious(becameSoft404, len(became), pages, example)
	r.Forget = became // a 304 to the validators of an error page would keep it
	return r, nil
}
