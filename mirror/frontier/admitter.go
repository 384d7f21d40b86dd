// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// Admitter gives numbers to the URLs that documents name, one document after the other. One goroutine uses
// it.
type Admitter struct {
	a    *Admission
	last *urls.Lookups
	by   urls.Deciding

	// of the document in work
	ids     []int64
	doc     Document
	cs      []scope.Candidate
	types   typesOf
	first   bool
	hasPlan bool
	unknown []int      // places of those without a number
	fresh   []site.URL // may have a session id
	out     Admitted
}

// mostUnknown bounds the list of unknown candidates that is kept for the next document.
const mostUnknown = 4 << 10

// Admitter returns an Admitter. last is that of its goroutine.
func (a *Admission) Admitter(last *urls.Lookups) *Admitter {
	d := &Admitter{a: a, last: last}
	d.by = urls.Deciding{
		URL:     func(i int) []byte { return d.cs[i].URL },
		Settled: func(i int, id uint32) { d.ids[i] = int64(id) },
		Decide:  d.decide,
		Unknown: func(i int) {
			if d.ids[i] = -1; d.cs[i].Follow {
				d.unknown = append(d.unknown, i)
			}
		},
	}
	return d
}

// Admit gives numbers to the URLs that a document names: ids has the number of each candidate, or -1 for one
// that the job does not admit.
func (d *Admitter) Admit(ids []int64, doc Document, cs []scope.Candidate) Admitted {
	a := d.a
	d.ids, d.doc, d.cs, d.types, d.unknown = ids, doc, cs, a.types(), d.unknown[:0]
	d.first = a.First()
	d.hasPlan = d.first || a.Planned()
	for i := range cs {
		if !cs[i].Exact {
			cs[i].URL = a.withoutSession(a.Rules.MainOf(cs[i].URL))
		}
	}
	a.Table.MarkNamed(len(cs), d.last, d.by)
	for _, i := range d.unknown {
		if a.refused.has(&cs[i]) {
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
	out, unknown := d.out, d.unknown
	if cap(unknown) > mostUnknown {
		unknown = nil
	}
	*d = Admitter{
		a:       a,
		last:    d.last,
		by:      d.by,
		unknown: unknown,
	}
	return out
}

// decide says what becomes of a candidate that has a number. It is called while the table waits.
func (d *Admitter) decide(i int, id uint32, s urls.State, u site.URL) urls.Mark {
	a, c := d.a, &d.cs[i]
	if (a.Rescan || s.Outcome() == site.OutOfScope) && !s.Queued() { // other rules admitted it
		if ok, _ := a.Rules.Allow(u, c.Purpose); !ok {
			d.ids[i] = -1
			return urls.Mark{}
		}
	}
	d.ids[i] = int64(id)
	if !c.Follow {
		return urls.Mark{}
	}
	m := d.queue(c, id, s, u)
	// with a rule of types, a page that needs it can still bring it back
	m.Settled = s.Queued() && (m.Seen == urls.Named) && (d.types.rule == nil)
	return m
}

// queue says what becomes of a candidate that may be requested. It is called while the table waits.
func (d *Admitter) queue(c *scope.Candidate, id uint32, s urls.State, u site.URL) urls.Mark {
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
	if s.Queued() {
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
func (d *Admitter) enters(
	c *scope.Candidate, id uint32, s urls.State, u site.URL, hasPlan bool,
) (q Queued) {
	a := d.a
	icon := c.Guess && scope.IsFavicon(u)
	hasTurn := hasPlan && s.Known() && s.Governed() && c.Purpose != scope.Sitemap
	rests := icon && a.Rests(id, s)
	trapped := !s.InSet() && a.Chains.Refuses(u, d.doc.ID)
	if hasTurn || rests || trapped {
		return q
	}
	if hasPlan && d.doc.Before[id] && c.Purpose != scope.Sitemap && a.Leaves(id, s) {
		return q
	}
	q = Queued{ID: id, Origin: u.Origin(), Prio: PrioNew}
	switch {
	case c.Purpose == scope.Sitemap:
		q.Prio = PrioSeed
	case icon:
		q.Prio = PrioGuess
	case c.Guess:
		q.Prio = a.guessPriority()
	case c.Purpose == scope.Requisite:
		q.Prio = PrioRequisite
	case s.Known():
		q.Prio = PrioKnown
	}
	return q
}

// admitNew decides on a URL that was never seen. It returns its number, -1 for one that is not admitted, and
// the record of one that robots.txt forbids.
func (d *Admitter) admitNew(c *scope.Candidate) (int64, *record.Resource) {
	a, doc := d.a, &d.doc
	key := c.URL
	u := site.Canonical(string(key))
	if s, ok := a.Rules.StripSession(u); ok {
		a.Notes.Add("URLs with session ids, asked without them", u)
		u, key = s, []byte(s.String())
	}
	if f, ok := a.Rules.Fold(u); ok {
		a.Notes.Add("URLs with parameters that a profile says do not matter, asked without them", u)
		u, key = f, []byte(f.String())
	}
	depth := doc.Depth + 1
	if len(key) > record.MaxURL || a.tooDeep(c, depth) || !a.allowNew(c, u) {
		return -1, nil
	}
	disallowed := ""
	if _, ok := a.Table.Find(key); !ok {
		if (a.Sessions != nil) && !c.Guess {
			d.fresh = append(d.fresh, u)
		}
		if a.Chains.Refuses(u, doc.ID) {
			a.trapped(u, ChainReason)
			return -1, nil
		}
		if reason, trapped := a.Variants.Add(u); trapped {
			a.trapped(u, reason)
			return -1, nil
		}
		rules, _ := a.Origins.Rules(u)
		if allowed, reason := rules.Permits(u); !allowed && rules.Silent() == "" {
			disallowed = reason
		}
	}
	how := urls.Referral{From: doc.ID + 1, Depth: depth, Requisite: c.Purpose == scope.Requisite}
	mark := func(id uint32, s urls.State, added bool) urls.Mark {
		if !added { // another worker was faster
			disallowed = ""
		}
		if disallowed != "" {
			return urls.Mark{Queue: true}
		}
		return d.queue(c, id, s, u)
	}
	id, s := a.Table.Admit(key, how, mark)
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
