// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// admitting gives numbers to the URLs that one document names.
type admitting struct {
	*Admission
	ids     []int64
	doc     Document
	types   typesOf
	first   bool
	hasPlan bool
	fresh   []site.URL // may have a session id
	out     Admitted
}

// Admit gives numbers to the URLs that a document names: ids has the number of each candidate, or -1 for one
// that the job does not admit.
func (a *Admission) Admit(ids []int64, doc Document, cs []scope.Candidate) Admitted {
	d := admitting{
		Admission: a,
		ids:       ids,
		doc:       doc,
		types:     a.types(),
		first:     a.First(),
	}
	d.hasPlan = d.first || a.Planned()
	for i := range cs {
		if !cs[i].Exact {
			cs[i].URL = a.withoutSession(a.Rules.MainOf(cs[i].URL))
		}
	}
	a.Repeats.Named(func() site.URL { return a.Table.URL(doc.ID) }, cs)
	var unknown []int
	a.Table.MarkNamed(urls.Mentions{
		N:   len(cs),
		URL: func(i int) []byte { return cs[i].URL },
		Decide: func(i int, id uint32, s urls.State, u site.URL) urls.Mark {
			return d.decide(i, &cs[i], id, s, u)
		},
		Unknown: func(i int) {
			ids[i] = -1
			unknown = append(unknown, i)
		},
	})
	for _, i := range unknown {
		if a.refused.has(&cs[i]) {
			continue
		}
		a.Lists(site.Canonical(string(cs[i].URL)))
		if !cs[i].Follow {
			continue
		}
		id, rec := d.admitNew(&cs[i])
		if ids[i] = id; rec != nil {
			d.out.Forbidden = append(d.out.Forbidden, *rec)
		}
	}
	if len(d.fresh) > 0 {
		a.Sessions.Answer(doc.ID, a.Table.URL(doc.ID), d.fresh)
	}
	return d.out
}

// decide says what becomes of a candidate that has a number. It is called while the table waits.
func (d *admitting) decide(i int, c *scope.Candidate, id uint32, s urls.State, u site.URL) urls.Mark {
	if (d.Rescan || s.Outcome() == site.OutOfScope) && !s.Queued() { // other rules admitted it
		if !d.Allows(u, s, c.Purpose) {
			d.ids[i] = -1
			return urls.Mark{}
		}
	}
	d.ids[i] = int64(id)
	if !c.Follow {
		return urls.Mark{}
	}
	return d.queue(c, id, s, u)
}

// queue says what becomes of a candidate that may be requested. It is called while the table waits.
func (d *admitting) queue(c *scope.Candidate, id uint32, s urls.State, u site.URL) urls.Mark {
	needed := d.types.needs(c, s)
	if needed && !s.InSet() {
		if !d.types.leftOut(c, s) {
			d.out.Needed = append(d.out.Needed, id)
		} else {
			d.out.Reopened = append(d.out.Reopened, id)
			return urls.Mark{
				Seen:      seenAs(c),
				Queue:     true,
				Requisite: true,
				Reopen:    true,
			}
		}
	}
	if s.Queued() || s.Joined() {
		return urls.Mark{Seen: seenAs(c), Requisite: needed}
	}
	q, m := d.enters(c, id, s, u, d.hasPlan && !needed), urls.Mark{Seen: seenAs(c)}
	if d.types.rests(id, s, u, needed) {
		q = Queued{}
	}
	m.Queue, m.Requisite = (q.Origin != "") && !d.first, needed
	if q.Origin != "" {
		d.out.Add = append(d.out.Add, q)
	}
	return m
}

// enters says how a candidate that may be requested enters the frontier, in which it never was; the zero
// Queued: not now. hasPlan says that known URLs have their turn without being named. It is called while the
// table waits.
func (d *admitting) enters(
	c *scope.Candidate, id uint32, s urls.State, u site.URL, hasPlan bool,
) (q Queued) {
	icon := c.Guess && scope.IsFavicon(u)
	hasTurn := hasPlan && s.Known() && s.Governed()
	rests := icon && d.Rests(id, s)
	trapped := !s.InSet() && d.Chains.Refuses(u, d.doc.ID)
	if hasTurn || rests || trapped {
		return q
	}
	if hasPlan && d.doc.Before[id] && d.Leaves(id, s) {
		return q
	}
	q = Queued{ID: id, Origin: u.Origin(), Prio: PrioNew}
	switch {
	case icon:
		q.Prio = PrioGuess
	case c.Guess:
		q.Prio = d.guessPriority()
	case c.Purpose == scope.Requisite:
		q.Prio = PrioRequisite
	case s.Known():
		q.Prio = PrioKnown
	}
	return q
}

// admitNew decides on a URL that was never seen. It returns its number, -1 for one that is not admitted, and
// the record of one that robots.txt forbids.
func (d *admitting) admitNew(c *scope.Candidate) (int64, *record.Resource) {
	key := c.URL
	u := site.Canonical(string(key))
	if s, ok := d.Rules.StripSession(u); ok {
		d.Notes.Add("URLs with session ids, asked without them", u)
		u, key = s, []byte(s.String())
	}
	if f, ok := d.Rules.Fold(u); ok {
		d.Notes.Add("URLs with parameters that a profile says do not matter, asked without them", u)
		u, key = f, []byte(f.String())
	}
	depth := d.doc.Depth + 1
	if len(key) > record.MaxURL || d.tooDeep(c, depth) || !d.allowNew(c, u) {
		return -1, nil
	}
	disallowed := ""
	if _, ok := d.Table.Find(key); !ok {
		if (d.Sessions != nil) && !c.Guess {
			d.fresh = append(d.fresh, u)
		}
		if d.Chains.Refuses(u, d.doc.ID) {
			d.trapped(u, ChainReason)
			return -1, nil
		}
		if reason, trapped := d.Variants.Add(u); trapped {
			d.trapped(u, reason)
			return -1, nil
		}
		rules, _ := d.Origins.Rules(u)
		if allowed, reason := rules.Permits(u); !allowed && rules.Silent() == "" {
			disallowed = reason
		}
	}
	how := urls.Referral{From: d.doc.ID + 1, Depth: depth, Requisite: c.Purpose == scope.Requisite}
	mark := func(id uint32, s urls.State, added bool) urls.Mark {
		if !added { // another worker was faster
			disallowed = ""
		}
		if disallowed != "" {
			return urls.Mark{Queue: true}
		}
		return d.queue(c, id, s, u)
	}
	id, s := d.Table.Admit(key, how, mark)
	if disallowed == "" {
		return int64(id), nil
	}
	return int64(id), &record.Resource{
		ID:       id,
		URL:      u,
		Referrer: s.Referrer(),
		Depth:    depth,
		Requis:   how.Requisite,
		Outcome:  site.Disallowed,
		Reason:   disallowed,
	}
}
