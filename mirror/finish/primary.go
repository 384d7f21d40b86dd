// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"mirrord/mirror/render"
	"mirrord/store/record"
)

// mostStay is how many of ten published files of the primary origin may stay there when a site has moved: a
// few that fail must not keep the rest from the root of the tree.
const mostStay = 1

// findPrimary finds out which origin's files lie at the root of the tree: another one when the site has moved
// to that since the published version, such as from http to https, so that readers find its files where they
// were. It returns what gets another path; the old origin hands its paths on, see publish.Naming.
func findPrimary(c *Closing) (again []uint32, err error) {
	t := c.Table.Settled()
	live, err := restoredOr(c, c.Live)
	if err != nil {
		return nil, err
	}
	c.Layout.Primary = render.Primary(c.Site.Trees, live, t, c.Rules.Seeds)
	entry, ok := t.Entry(c.Rules.Seeds)
	if !ok || c.Live == nil || c.Options.Restores != 0 {
		return nil, nil
	}
	from, to := c.Layout.Primary, t.URL(entry).Origin()
	if from == to {
		return nil, nil
	}
	if moved, err := hasMoved(c, from, to); err != nil || !moved {
		return nil, err
	}
	c.Layout.Primary = to
	for id, s := range t.All() {
		if s.InSet() && (t.Path(id) != "") && (t.URL(id).Origin() == to) {
			t.Displace(id)
			again = append(again, id)
		}
	}
	return again, nil
}

// restoredOr returns the version that comes back, live when none does.
func restoredOr(c *Closing, live *record.Version) (*record.Version, error) {
	if c.Options.Restores == 0 {
		return live, nil
	}
	vs, err := c.Site.Versions.List()
	if i := render.VersionAt(vs, c.Options.Restores); i >= 0 {
		return &vs[i], err
	}
	return live, err
}

// hasMoved reports whether nearly all files that were published of an origin lead to another one now.
func hasMoved(c *Closing, from, to string) (bool, error) {
	t := c.Table.Settled()
	past, err := c.Site.Versions.Past(c.Live.Number)
	if err != nil {
		return false, err
	}
	moved, stay := 0, 0
	for id, s := range t.All() {
		if !s.Given() || !(s.InSet() || s.Moved()) {
			continue
		}
		u := t.URL(id)
		if u.Origin() != from {
			continue
		}
		if s.InSet() {
			stay++
			continue
		}
		final, in := t.Final(id)
		if !in || t.URL(final).Origin() != to { // nor when it is redirected and nothing links to it now
			if final, in = t.Find([]byte(to + u.RequestURI())); !in || !t.State(final).InSet() {
				continue
			}
		}
		was, ok, err := past.Get(u)
		if err != nil {
			return false, err
		}
		if ok && was.InSet {
			moved++
		}
	}
	return moved > 0 && stay*10 <= (moved+stay)*mostStay, nil
}
