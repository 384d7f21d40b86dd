// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// HostAdmission lets URLs enter the frontier, each once in a run; the table remembers which did. While the
// sources
// of evidence are requested, what documents name waits for the end of that. Safe for concurrent use.
type HostAdmission struct {
	table *urls.Table
	front *Frontier
	waits func() bool
	first scope.Priorities

	mu        sync.Mutex // may be taken while the table waits
	postponed []Queued   // until the sources of evidence were requested, in the order of additions
	delayed   []delayed
	stored    urls.IDSet // of those that wait: what stored documents name
}

// Queued is a URL on its way into the frontier.
type Queued struct {
	ID     uint32
	Origin string
	Prio   Priority
}

// delayed is a URL that must not be requested before a time.
type delayed struct {
	id     uint32
	origin string
	at     time.Time
}

// NewHostAdmission returns the admission to front. What first names comes before all other pages.
func NewHostAdmission(table *urls.Table, front *Frontier, first scope.Priorities) *HostAdmission {
	return &HostAdmission{
		table: table,
		front: front,
		waits: func() bool { return false },
		first: first,
	}
}

// enter puts a URL into the frontier.
func (e *HostAdmission) enter(q Queued) {
	if q.Prio.ordered() && e.first.Any() && e.first.Of(e.table.URL(q.ID)) > 0 {
		q.Prio = PrioFirst
	}
	e.front.Add(q.Origin, q.ID, q.Prio)
}

// Add lets URLs enter that the table has marked, or lets them wait.
func (e *HostAdmission) Add(qs ...Queued) {
	if e.waits() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.postponed = append(e.postponed, qs...)
		return
	}
	for _, q := range qs {
		e.enter(q)
	}
}

// WaitWhile says when the sources of evidence are requested. No URL enters meanwhile. The answer of first
// changes only while no worker runs.
func (e *HostAdmission) WaitWhile(first func() bool) { e.waits = first }

// First reports whether this is the first stored document that names a URL which waits, so that it is added
// once.
func (e *HostAdmission) First(id uint32) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := !e.stored.Has(id)
	e.stored.Put(id, true)
	return first
}

// New lets a URL enter that no stored document names, and returns its number.
func (e *HostAdmission) New(u site.URL, p Priority) uint32 {
	id, first := urls.Enter(e.table, []byte(u.String()), urls.Named)
	if first {
		e.front.Add(u.Origin(), id, p)
	}
	return id
}

// Known lets a URL enter that the table knows.
func (e *HostAdmission) Known(id uint32, p Priority) {
	if u, first := e.table.Queue(id); first {
		e.enter(Queued{ID: id, Origin: u.Origin(), Prio: p})
	}
}

// Again puts a URL back for the end of the run, not before a time; the zero time means any time. While the
// sources of evidence are requested, nothing waits for one of them.
func (e *HostAdmission) Again(id uint32, origin string, at time.Time) {
	switch {
	case at.IsZero():
		e.front.Add(origin, id, PrioLast)
	case e.waits():
		e.mu.Lock()
		defer e.mu.Unlock()
		e.delayed = append(e.delayed, delayed{id, origin, at})
	default:
		e.front.AddAt(origin, id, at, false)
	}
}

// Later puts a URL back for a second look that does not hold the run, not before a time.
func (e *HostAdmission) Later(id uint32, origin string, at time.Time) {
	e.front.AddAt(origin, id, at, true)
}

// AnyDelayed reports whether some URL waits that is put back for a time.
func (e *HostAdmission) AnyDelayed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.delayed) > 0
}

// EndWait lets enter what waited, as far as it need not be left to the plan of the run. No worker runs.
func (e *HostAdmission) EndWait() {
	list, again := e.postponed, e.delayed
	e.postponed, e.delayed, e.stored = nil, nil, nil
	var q Queued // the one whose turn it is
	ids := func(yield func(uint32) bool) {
		for _, q = range list {
			if !yield(q.ID) {
				return
			}
		}
	}
	add := list[:0]
	e.table.Mark(ids, func(_ uint32, s urls.State, _ site.URL) urls.Mark {
		if s.Queued() || (s.Governed() && q.Prio != PrioSeed) { // a governed URL has its turn
			return urls.Mark{}
		}
		add = append(add, q)
		return urls.Mark{Queue: true}
	})
	for _, q := range add {
		e.enter(q)
	}
	for _, d := range again {
		e.front.AddAt(d.origin, d.id, d.at, false)
	}
}

// pending returns the priority of a URL that an unfinished run has not requested yet.
func pending(s urls.State) Priority {
	if s.Requisite() {
		return PrioRequisite
	}
	return PrioNew
}

// lateURL is a URL that earlier runs did not get to, since a time.
type lateURL struct {
	id    uint32
	since int64
}

// All lets enter what earlier runs know, as a run without a plan requests it: everything in the mirror, what
// failed, what redirects, and what an unfinished run has not requested yet. Other URLs come back when a
// document links to them. What changes most often comes first, so that a run that is cut short has spent its
// requests best; what late names, which earlier runs did not get to, comes in between. skip says about a URL
// that it must not enter. No worker runs.
func (e *HostAdmission) All(
	late func(id uint32) (since int64, ok bool), skip func(id uint32, u site.URL, s urls.State) (bool, error),
) error {
	t := e.table.Settled()
	var known []uint32
	var waiting []lateURL
	for id, s := range t.All() {
		if !s.Given() || s.Queued() {
			continue
		}
		u := t.URL(id)
		if out, err := skip(id, u, s); err != nil {
			return err
		} else if out {
			continue
		}
		switch {
		case s.Outcome() == site.Pending:
			e.Known(id, pending(s))
		case s.Governed(), s.Outcome() == site.Failed:
			if since, ok := late(id); ok && (s.Outcome() != site.Failed) {
				waiting = append(waiting, lateURL{id, since})
			} else {
				known = append(known, id)
			}
		}
	}
	slices.SortStableFunc(waiting, func(a, b lateURL) int { return cmp.Compare(a.since, b.since) })
	failed := func(id uint32) int { // comes last: what could not be had does not hold up the rest
		if t.State(id).Outcome() == site.Failed {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(known, func(a, b uint32) int {
		return cmp.Or(failed(a)-failed(b), int(t.State(b).Rate())-int(t.State(a).Rate()))
	})
	known = takeTurns(known, waiting)
	if e.front.order.LIFO {
		slices.Reverse(known) // the last one is requested first
	}
	for _, id := range known {
		e.Known(id, PrioKnown)
	}
	return nil
}

// takeTurns puts one of the late URLs behind each of the others: a part that fails, and that no run got
// through, does not come in one piece.
func takeTurns(known []uint32, late []lateURL) []uint32 {
	out := make([]uint32, 0, len(known)+len(late))
	for len(known)+len(late) > 0 {
		if len(known) > 0 {
			out, known = append(out, known[0]), known[1:]
		}
		if len(late) > 0 {
			out, late = append(out, late[0].id), late[1:]
		}
	}
	return out
}

// Owed admits what a run requests regardless of its plan: what an unfinished run has not requested yet,
// what failed and is no broken link, and what owed names. No worker runs.
func (e *HostAdmission) Owed(broken, owed func(id uint32) bool) {
	var failed []uint32
	for id, s := range e.table.Settled().All() {
		switch {
		case !s.Given() || s.Queued():
		case s.Outcome() == site.Pending:
			e.Known(id, pending(s))
		case s.Outcome() == site.Failed && !broken(id):
			failed = append(failed, id)
		case owed(id):
			e.Known(id, PrioKnown)
		}
	}
	for _, id := range failed {
		e.Known(id, PrioKnown)
	}
}
