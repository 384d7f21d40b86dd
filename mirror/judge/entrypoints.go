// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"

	"mirrord/site"
)

// EntryPoints is the rule about entry points: a site whose entry point is gone, forbidden or broken is not
// what the job means.
func (rules) EntryPoints() rule { return rule{at: Retrieved, place: 30, judge: entryPoints} }

func entryPoints(c *Case) (r Ruling, _ error) {
	t := c.Ledger
	held := false
	for i, u := range c.Seeds {
		id, ok := t.Find([]byte(u.String()))
		if !ok || !t.State(id).Answered() {
			continue // interrupted before
		}
		s := t.State(id)
		if _, inSet := t.Final(id); inSet && (s.Outcome() != site.Failed) {
			continue
		}
		what := fmt.Sprintf("the entry point %s: %s", u, c.became(u, s.Outcome()))
		if (s.Outcome() == site.Redirected) && (s.Target() == 0) {
			what += "; is that the url to give, or should the scope take it in?"
		}
		switch {
		case s.Outcome() == site.Failed:
			r.partial("%s", what)
		case (c.Live != nil) && !c.Accept:
			r.suspicious("%s", what)
			held = true
		case (c.Live == nil) && (i == 0):
			r.partial("%s", what)
			r.Restart = true
		default:
			r.note("entry points that could not be had", u)
		}
	}
	if _, ok := t.Entry(c.Seeds); held && !ok { // accept would find out
		r.suspicious("%s", noEntry)
	}
	return r, nil
}

// became says in words what became of a URL in this run.
func (c *Case) became(u site.URL, o site.Outcome) string {
	if why := c.Why(u); why != "" {
		return o.String() + " (" + why + ")"
	}
	return o.String()
}
