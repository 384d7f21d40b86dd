// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"

	"mirrord/mirror/result"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// EntryPoints is the rule about a site of which no entry point is left: gone, forbidden or leading away, it
// is not what the job means; failed, more can be had later. One dead entry point of several is a gap.
func (rules) EntryPoints() rule { return rule{at: Folded, place: 10, judge: entryPoints} }

func entryPoints(c *Case) (r Ruling, _ error) {
	if c.NoFetch {
		return r, nil
	}
	dead, entered, err := c.entries()
	if (err != nil) || entered {
		return r, err
	}
	lasting := len(dead) == len(c.Seeds) // of the others more can be had later
	for _, d := range dead {
		lasting = lasting && !d.failed
	}
	for _, d := range dead {
		what := fmt.Sprintf("the entry point %s: %s", d.url, d.became)
		if d.away {
			what += "; is that the url to give, or should the scope take it in?"
		}
		switch {
		case !lasting:
			r.partial("%s", what)
		case (c.Live != nil) && !c.Accept:
			r.suspicious("%s", what)
		case c.Live == nil:
			r.partial("%s", what)
			r.Restart = true
		default:
			r.note("entry points that could not be had", d.url)
		}
	}
	if _, ok := c.Table.Entry(c.Seeds); (r.Verdict == result.Suspicious) && !ok { // accept would find out
		r.suspicious("%s", noEntry)
	}
	return r, nil
}

// deadEntry is an entry point that the run looked at and that could not be had.
type deadEntry struct {
	id     uint32
	url    site.URL
	became string
	failed bool // it may be had later
	away   bool // it redirects outside of the mirror
}

// entries returns the dead entry points, and whether they are parts like others: the run had another one, or
// the mirror has a copy of one that failed while its origin gave other URLs.
func (c *Case) entries() (dead []deadEntry, parts bool, err error) {
	t := c.Table
	for _, u := range c.Seeds {
		id, ok := t.FindURL(u)
		if !ok || !t.State(id).Answered() {
			continue // interrupted before
		}
		s := t.State(id)
		if _, inSet := t.Final(id); inSet && (s.Outcome() != site.Failed) {
			parts = true
			continue
		}
		d := deadEntry{
			id:     id,
			url:    u,
			became: c.became(u, s.Outcome()),
			failed: s.Outcome() == site.Failed,
			away:   (s.Outcome() == site.Redirected) && (s.Target() == 0),
		}
		if d.failed && s.InSet() && (len(c.Seeds) > 1) { // its copy stays, see exchange.goneFor
			rec, _, err := c.Records.Get(u)
			if err != nil {
				return nil, false, err
			}
			d.failed = !urls.IsGone(&rec)
		}
		_, inSet := t.Final(id)
		parts = parts || ((c.Live != nil) && d.failed && inSet && c.gave(u.Origin()))
		dead = append(dead, d)
	}
	return dead, parts, nil
}

// gave reports whether some URL of an origin came in this run, or is a dead link.
func (c *Case) gave(origin string) bool {
	for id, s := range c.Table.All() {
		if s.Given() && s.Answered() && isAnswer(s.Outcome()) && (c.Table.URL(id).Origin() == origin) {
			return true
		}
	}
	return false
}

// became says in words what became of a URL in this run.
func (c *Case) became(u site.URL, o site.Outcome) string {
	if why := c.Why(u); why != "" {
		return o.String() + " (" + why + ")"
	}
	return o.String()
}
