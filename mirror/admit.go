// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"iter"

	"mirrord/mirror/admit"
	"mirrord/mirror/crawl"
	"mirrord/mirror/intake"
	"mirrord/mirror/ledger"
	"mirrord/site"
	"mirrord/store"
)

// admit gives numbers to the URLs that a document names, and puts those to be asked into the frontier. The
// answer has the number of each candidate, or -1 for one that the job does not admit. depth is the
// document's.
func (r *run) admit(doc uint32, depth int, cs []admit.Candidate) []int64 {
	ids := make([]int64, len(cs))
	r.entrance.Add(r.admitInto(ids, doc, depth, cs)...)
	return ids
}

// numbers returns the numbers of URLs on their way into the frontier.
func numbers(qs []crawl.Queued) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for i := range qs {
			if !yield(qs[i].ID) {
				return
			}
		}
	}
}

// admitInto is admit without the last step: what it returns is for enqueue.
func (r *run) admitInto(ids []int64, doc uint32, depth int, cs []admit.Candidate) (add []crawl.Queued) {
	queue := func(c *admit.Candidate, id uint32, s ledger.State, u site.URL) ledger.Mark {
		m := ledger.Mark{Seen: seenIn(c)}
		icon := c.Guess && intake.IsFavicon(u)
		hasTurn := c.Purpose != admit.Sitemap && s.Known() && (r.evidence.First() || r.planner != nil) && s.Governed() // without being named
		if s.Queued() || hasTurn || (icon && r.rests(id, s)) {
			return m
		}
		m.Queue = !r.evidence.First()
		q := crawl.Queued{ID: id, Origin: u.Origin(), Prio: crawl.PrioNew}
		switch {
		case c.Purpose == admit.Sitemap:
			q.Prio = crawl.PrioSeed
		case icon:
			q.Prio = crawl.PrioGuess
		case c.Guess:
			q.Prio = r.guessPriority()
		case c.Purpose == admit.Requisite:
			q.Prio = crawl.PrioRequisite
		case s.Known():
			q.Prio = crawl.PrioKnown
		}
		add = append(add, q)
		return m
	}
	var unknown []int
	r.table.MarkNamed(urlsOf(cs), func(i int, id uint32, s ledger.State, u site.URL) ledger.Mark {
		if (r.rescan || s.Outcome() == site.OutOfScope) && !s.Queued() { // other rules admitted it
			if ok, _ := r.rules.Allow(u, cs[i].Purpose); !ok {
				ids[i] = -1
				return ledger.Mark{}
			}
		}
		ids[i] = int64(id)
		if !cs[i].Follow {
			return ledger.Mark{}
		}
		return queue(&cs[i], id, s, u)
	}, func(i int) {
		ids[i] = -1
		if cs[i].Follow {
			unknown = append(unknown, i)
		}
	})
	if len(unknown) > 0 {
		r.admitNew(ids, unknown, doc, depth, cs, queue)
	}
	return add
}

// urlsOf returns the URLs of candidates.
func urlsOf(cs []admit.Candidate) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for i := range cs {
			if !yield(i, cs[i].URL) {
				return
			}
		}
	}
}

// deciding says what becomes of a candidate that may be asked. It is called while the table waits.
type deciding func(c *admit.Candidate, id uint32, s ledger.State, u site.URL) ledger.Mark

// admitNew decides on URLs that were never seen.
func (r *run) admitNew(ids []int64, unknown []int, doc uint32, depth int, cs []admit.Candidate, queue deciding) {
	for _, i := range unknown {
		u := site.Canonical(string(cs[i].URL))
		if s, ok := site.StripSession(u); ok {
			r.notes.Add("URLs with session ids, asked without them", u)
			u = s
		}
		if len(u.String()) > store.MaxURL {
			continue
		}
		d := depth + 1
		if cs[i].Purpose == admit.Page && r.job.Limits.MaxDepth > 0 && int64(d) > r.job.Limits.MaxDepth {
			r.notes.Cap(fmt.Sprintf("limits.max_depth = %d left out what is linked from further away", r.job.Limits.MaxDepth))
			continue
		}
		if ok, reason := r.rules.Allow(u, cs[i].Purpose); !ok {
			if _, trapped := r.rules.Traps.Check(u); trapped && r.rules.Scope.Covers(u) {
				r.stats.Trapped.Add(1)
				r.notes.Trap(u, reason)
			}
			continue
		}
		b := []byte(u.String())
		disallowed := ""
		if _, ok := r.table.Find(b); !ok {
			if reason, trapped := r.variants.Add(u); trapped {
				r.stats.Trapped.Add(1)
				r.notes.Trap(u, reason)
				continue
			}
			rules, _ := r.origins.Rules(u)
			if allowed, reason := rules.Permits(u); !allowed && rules.Silent() == "" {
				disallowed = reason
			}
		}
		how := ledger.Referral{From: doc + 1, Depth: d, Requisite: cs[i].Purpose == admit.Requisite} // noDoc + 1 is 0
		id, s := r.table.Admit(b, how, func(id uint32, s ledger.State, added bool) ledger.Mark {
			if !added { // another worker was faster
				disallowed = ""
			}
			if disallowed != "" {
				return ledger.Mark{Queue: true}
			}
			return queue(&cs[i], id, s, u)
		})
		ids[i] = int64(id)
		if disallowed != "" {
			r.apply(&ledger.Finding{As: ledger.Account{Tally: ledger.AsDisallowed}, Done: store.Done{Resource: store.Resource{
				ID:       id,
				URL:      u,
				Referrer: s.Referrer(),
				Depth:    d,
				Requis:   how.Requisite,
				Outcome:  site.Disallowed,
				Reason:   disallowed,
			}}})
		}
	}
}
