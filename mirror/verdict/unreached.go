// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"slices"

	"mirrord/internal/count"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// Unreached is the rule about resources that no document of the mirror links to now: they leave, unless
// they are more than limits.max_delete. Only a complete run gets here: what failed or was not requested keeps
// its links, so that its children stay; and what skipped documents may have come to link to waits as an
// orphan.
func (rules) Unreached() rule { return rule{at: Settled, place: 10, judge: unreached} }

const (
	fromReplicas = " of the mirror came from replicas: " +
		"those that no document links to stay until the origin has answered"
	tooManyLoose = "%d of %d resources are no longer linked from anywhere, more than limits.max_delete = %v"
)

func unreached(c *Case) (r Ruling, _ error) {
	if c.Live == nil && !leftPages(c.Table) {
		return r, nil
	}
	if c.Parts.Gaps { // a page that could not be had may link to what nothing else does
		return r, nil
	}
	if n := c.Foreign; n > 0 { // links that only a replica lacks are no evidence
		r.note(count.Of(n, "resource")+fromReplicas, site.URL{})
		return r, nil
	}
	reached, err := urls.Reach(c.Table, c.links(), append(c.roots(), c.Parts.Before.Kept()...))
	if err != nil {
		return r, err
	}
	var loose []uint32
	live := 0
	for id, s := range c.Table.All() {
		if (s.Governed() || s.Joined()) && !reached.Has(id) {
			loose = append(loose, id)
		}
		if isPublished(s) {
			live++
		}
	}
	lost, err := c.watch(&r, loose, reached.Docs)
	if err != nil {
		return r, err
	}
	if lost = c.shown(lost); len(lost) == 0 {
		return r, nil
	}
	var dropped []uint32
	for _, id := range lost {
		if isPublished(c.Table.State(id)) {
			dropped = append(dropped, id)
		}
	}
	l, err := c.leaving(dropped)
	if err != nil {
		return r, err
	}
	if !c.Accept && (c.Live != nil) && c.dropsTooMany(l.lost) {
		r.suspicious(tooManyLoose, l.lost, live, c.Limits.MaxDelete)
		r.Dropped, r.Stay = dropped, dropped
		return r, nil
	}
	r.Leave = lost
	return r, nil
}

// leftPages reports whether pages were left after their answers came: what only they link to came, too.
func leftPages(t urls.Settled) bool {
	for _, s := range t.All() {
		if s.Outcome() == site.OutOfScope && s.Answered() {
			return true
		}
	}
	return false
}

// shown returns those of the resources that leave now. Accept drops of the published ones what was shown to
// the user who accepts, and leaves others to the judgement of the next run.
func (c *Case) shown(lost []uint32) []uint32 {
	if !c.NoFetch {
		return lost
	}
	return slices.DeleteFunc(lost, func(id uint32) bool {
		return isPublished(c.Table.State(id)) && !c.Lost.Noted.Has(id)
	})
}

// isPublished reports whether readers can see a resource: what an unfinished run fetched and was never shown
// is no loss.
func isPublished(s urls.State) bool { return s.InSet() && !s.Moved() }

// roots are where reading begins: the entry points, and of the sitemaps those that were read or skipped; all
// that are known when the run makes no requests.
func (c *Case) roots() (ids []uint32) {
	for _, u := range c.Seeds {
		if id, ok := c.Table.FindURL(u); ok {
			ids = append(ids, id)
		}
	}
	for _, id := range c.Sitemaps {
		s := c.Table.State(id)
		if c.NoFetch || s.Answered() || (c.Planned && s.Governed()) {
			ids = append(ids, id)
		}
	}
	return ids
}

// links are those of the mirror, and of sitemaps.
func (c *Case) links() urls.Links {
	documents := urls.DocumentTypes(c.Table.MIMEs())
	sitemaps := setOf(c.Sitemaps)
	return urls.Links{
		Of:    c.Records.TargetsOf,
		Count: func(id uint32, s urls.State) bool { return s.InSet() || sitemaps[id] },
		May:   func(s urls.State) bool { return documents[s.Type()] },
	}
}
