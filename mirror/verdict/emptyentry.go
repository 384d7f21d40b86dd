// SPDX-License-Identifier: Apache-2.0

package verdict

import "mirrord/store/record"

// EmptyEntry is the rule about an entry page without a byte, as a program answers that hides its errors. It
// is nothing to begin a mirror with, and takes the place of a good one only when a user accepts it.
func (rules) EmptyEntry() rule { return rule{at: Folded, place: 11, judge: emptyEntry} }

const (
	firstEmpty = "the entry point %s: it answers with an empty page (0 bytes)"
	emptied    = "the entry point %s: an empty page (0 bytes), where the published one has text"
)

func emptyEntry(c *Case) (r Ruling, _ error) {
	if c.NoFetch || c.Accept {
		return r, nil
	}
	for _, u := range c.Seeds {
		id, ok := c.Table.FindURL(u)
		if !ok {
			continue
		}
		id, inSet := c.Table.Final(id)
		if !inSet {
			continue
		}
		rec, ok, err := c.Records.Get(c.Table.URL(id))
		switch {
		case err != nil:
			return r, err
		case !ok:
		case (c.Live == nil) && (rec.Size > 0):
			return Ruling{}, nil // there is a page to open
		case c.Live == nil:
			r.partial(firstEmpty, u)
			r.Restart = true
		case (rec.Size == 0) && isEmptied(&rec, c):
			r.suspicious(emptied, u)
			r.Forget = append(r.Forget, id) // a 304 to its validators would keep it
		}
	}
	return r, nil
}

// isEmptied reports whether a page that readers can see came without a byte since it was published.
func isEmptied(rec *record.Resource, c *Case) bool {
	return (rec.Moved < c.Run.Version) && (rec.Changed >= c.Run.Version)
}
