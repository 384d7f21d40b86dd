// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"slices"

	"mirrord/mirror/urls"
	"mirrord/site"
)

// Postponed is the rule about hosts of entry points that are left for the next run: more can be had later
// when that is true of all of them. One of several is a gap.
func (rules) Postponed() rule { return rule{at: Retrieved, place: 20, judge: postponed} }

func postponed(c *Case) (r Ruling, _ error) {
	if (c.Ended != nil) || !c.waits() {
		return r, nil
	}
	for _, p := range c.Postponed {
		r.partial("%s was left for the next run: %s", p.Host, p.Reason)
	}
	return r, nil
}

// waits reports whether something is left for the next run because every entry point is on, or redirects to,
// a host that is postponed. Once an origin of entry points gave something, what was missing before does not
// count: requests for it come last in a run, and that they fail one after the other may be why the host was
// postponed.
func (c *Case) waits() bool {
	if (c.Left == 0) || (len(c.Postponed) == 0) || c.Parts.Closed {
		return false
	}
	for _, u := range c.Seeds {
		if !c.isPostponedEntry(u) {
			return false
		}
	}
	left := c.Left
	// the origin of an entry point gave something in this run
	gave := func(u site.URL) bool { return c.gave(u.Origin()) }
	if (c.Parts.Before != nil) && slices.ContainsFunc(c.Seeds, gave) {
		for id := range c.Parts.Before.URLs {
			if s := c.Table.State(id); s.Queued() && !s.Answered() {
				left--
			}
		}
	}
	return left > 0
}

// isPostponedEntry reports whether an entry point, or something that it redirects to, is on a postponed host.
func (c *Case) isPostponedEntry(u site.URL) bool {
	id, ok := c.Table.FindURL(u)
	for range urls.MaxHops {
		if c.postponement(u) != "" {
			return true
		}
		if !ok || (c.Table.State(id).Target() == 0) {
			break
		}
		id = c.Table.State(id).Target() - 1
		u = c.Table.URL(id)
	}
	return false
}

// postponement says why the host or origin of a URL is left for the next run, "" when it is not.
func (c *Case) postponement(u site.URL) string {
	for _, p := range c.Postponed {
		if (p.Host == u.Origin()) || (p.Host == u.Hostname()) {
			return p.Reason
		}
	}
	return ""
}
