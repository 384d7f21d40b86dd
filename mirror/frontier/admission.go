// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"fmt"
	"iter"

	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// Admission decides which URLs enter the frontier, and lets them in. All exported fields are needed but
// MaxDepth. It is safe for concurrent use.
type Admission struct {
	*urls.KnownURLs
	*Dispatcher

	Rules    *scope.URLRules
	Variants *urls.Variants
	Chains   *Chains       // nil: chains are not traps
	Sessions *SessionIDs   // nil: session ids are not learned
	Repeats  *StateRepeats // nil: pages that repeat others are not learned
	MaxDepth int64         // limits.max_depth; 0 for none
	Run      int
	Rescan   bool // the rules changed
	// First reports whether the sources of evidence are requested first, and all else waits.
	First func() bool
	// Planned reports whether a plan says when known URLs are requested.
	Planned func() bool
	// Leaves reports whether the plan does not request a known URL because a document names it that named it
	// before. It is called while the table waits.
	Leaves func(id uint32, s urls.State) bool

	refused refusals
}

// Document is what names candidates.
type Document struct {
	ID    uint32
	Depth int // links from an entry point
	// Before are the URLs that it named when it was last stored, by number; nil: none, or it does not matter.
	Before map[uint32]bool
}

// Admitted is what becomes of the URLs that a document names.
type Admitted struct {
	Add       []Queued          // they enter the frontier, which is for HostAdmission.Add
	Forbidden []record.Resource // records of new ones that robots.txt forbids
	Needed    []uint32          // see urls.Account, like Reopened
	Reopened  []uint32
}

// seenAs says what a candidate is known as.
func seenAs(c *scope.Candidate) urls.Seen {
	if c.Guess {
		return urls.Guess
	}
	return urls.Named
}

// tooDeep reports whether a page is linked from too far away.
func (a *Admission) tooDeep(c *scope.Candidate, depth int) bool {
	deep := a.MaxDepth > 0 && int64(depth) > a.MaxDepth
	if c.Purpose != scope.Page || !deep {
		return false
	}
	const what = "limits.max_depth = %d left out pages that only deeper ones link to"
	a.Notes.Cap(fmt.Sprintf(what, a.MaxDepth))
	return true
}

// allowNew asks the rules about a URL that was never seen.
func (a *Admission) allowNew(c *scope.Candidate, u site.URL) bool {
	why := a.Rules.Leaves(u, c.Purpose)
	if (why == "") && (c.Purpose == scope.Page) {
		why = a.leaves(u)
	}
	if why != "" {
		if a.Notes.Add(why, u); why != LeftRepeat { // which the next document may name otherwise
			a.refused.add(c)
		}
		return false
	}
	ok, reason := a.Rules.Allow(u, c.Purpose)
	if ok {
		return true
	}
	_, trapped := a.Rules.Traps.Check(u)
	switch {
	case trapped && a.Rules.Scope.Covers(u):
		a.trapped(u, reason) // each time, for the count
	case u.String() == string(c.URL):
		a.refused.add(c)
	}
	return false
}

// leaves returns why a page is left to the origin, "" when it is not.
func (a *Admission) leaves(u site.URL) (why string) {
	if a.Repeats.Leaves(u) {
		return LeftRepeat
	}
	return a.Sessions.Leaves(u)
}

func (a *Admission) trapped(u site.URL, reason string) {
	a.Counts.Trapped.Add(1)
	a.Notes.Trap(u, reason)
}

// ChainReason is why a URL is left out that belongs to a trap, see Chains.
const ChainReason = "a chain of pages without new text or links"

// Vouch takes what a document names, by numbers, see Chains.
func (a *Admission) Vouch(doc *record.Resource, ids iter.Seq[uint32]) {
	if !a.Chains.Doubts() {
		return
	}
	for id := range ids {
		if !a.Table.State(id).InSet() {
			a.Chains.Vouch(id, a.Table.URL(id), doc.ID, doc.URL)
		}
	}
}

// Recall takes a page that is in the mirror already, see Chains.
func (a *Admission) Recall(rec *record.Resource) {
	if rec.Referrer > 0 {
		a.Chains.Recall(rec.ID, rec.URL, a.Table.URL(rec.Referrer-1))
	}
}

// Stored puts the targets of an unchanged document into the frontier, so that recursion never stops at a 304.
func (a *Admission) Stored(targets []byte) {
	guess := false // the one whose turn it is
	ids := func(yield func(uint32) bool) {
		record.Targets(targets, func(id uint32) bool {
			if guess = id < record.Mention && id&record.Guess != 0; guess {
				id &^= record.Guess
			}
			return yield(id)
		})
	}
	var add []Queued
	first, types := a.First(), a.types()
	a.Table.Mark(ids, func(id uint32, s urls.State, u site.URL) urls.Mark {
		m := urls.Mark{Seen: urls.Named}
		if guess {
			m.Seen = urls.Guess
			if a.Rests(id, s) {
				return m
			}
		}
		switch {
		case s.Queued(), !s.Given(), s.Joined(), first && s.Governed():
			return m
		case a.refuses(u, s), a.Leaves(id, s):
			return m
		case s.Outcome() == site.OutOfScope && !a.Allows(u, s, PurposeOf(s)), types.rests(id, s, u, false):
			return m
		case first && !a.HostAdmission.First(id):
			return m
		}
		m.Queue = !first
		add = append(add, Queued{ID: id, Origin: u.Origin(), Prio: PrioKnown})
		return m
	})
	a.HostAdmission.Add(add...)
}

// refuses reports whether a known URL belongs to a trap, whose pages were the first to name it.
func (a *Admission) refuses(u site.URL, s urls.State) bool {
	return !s.InSet() && (s.Referrer() > 0) && a.Chains.Refuses(u, s.Referrer()-1)
}

// PurposeOf says what a known URL was first wanted for.
func PurposeOf(s urls.State) scope.Purpose {
	if s.Requisite() {
		return scope.Requisite
	}
	return scope.Page
}

// Allows asks the rules about a URL that is known.
func (a *Admission) Allows(u site.URL, s urls.State, p scope.Purpose) bool {
	ok, _ := a.Rules.Allow(u, p)
	return ok && (s.InSet() || (p != scope.Page) || a.leaves(u) == "")
}
