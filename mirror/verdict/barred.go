// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"mirrord/fetch"
	"mirrord/internal/count"
	"mirrord/site"
)

// Barred is the rule about a first run in which the site refuses as much as it gives, as firewalls do that
// take a crawler for an attack. Each refused page is data; all of them together are no complete mirror. Later
// runs do not say it again: a page that the mirror had and that is refused is a gap.
func (rules) Barred() rule { return rule{at: Folded, place: 14, judge: barred} }

// leastBarred is how many refusals are a wall.
const leastBarred = 10

const wall = "the site refuses %s, such as %s (status %d), and gives %s: it may take this crawler for an " +
	"attack; ask its owner, or set polite.delay and [auth] as it wants them"

func barred(c *Case) (r Ruling, _ error) {
	if c.Live != nil || c.NoFetch || c.Accept {
		return r, nil
	}
	given, refused, status := 0, 0, 0
	var such site.URL
	for id, s := range c.Table.All() {
		if s.InSet() {
			given++
		}
		if s.Outcome() != site.Failed || !s.Given() {
			continue
		}
		rec, ok, err := c.Records.Get(c.Table.URL(id))
		if err != nil {
			return r, err
		}
		if ok && fetch.RefusingStatus(rec.Status) && c.Parts.Covers(rec.URL) {
			if refused++; refused == 1 {
				such, status = rec.URL, rec.Status
			}
		}
	}
	if refused >= leastBarred && refused >= given {
		r.gaps(wall, count.Of(refused, "URL"), such, status, count.Of(given, "file"))
	}
	return r, nil
}
