// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
)

// typesOf is what an admission knows of the types of URLs. A URL that was left out because of its type rests
// for some runs. It comes back when a document needs it to be shown, which may be found out after it was
// left out. The zero value is that of a job without rules about types. The methods are called while the table
// waits.
type typesOf struct {
	rule  *scope.TypeRule
	allow func(site.URL, scope.Purpose) (ok bool, reason string)
	mimes []string // by urls.State.Type, of what was known when it was made
	run   int
}

// types returns a snapshot of types. It must not be called while the table waits.
func (a *Admission) types() (t typesOf) {
	if t.rule = a.Rules.Types; t.rule != nil {
		t.mimes, t.run, t.allow = a.Table.MIMEs(), a.Run, a.Rules.Allow
	}
	return t
}

// refuses reports whether the rule refuses a URL because of its type. A type that is too new is not refused.
func (t *typesOf) refuses(s urls.State, u site.URL, requisite bool) bool {
	if s.Type() >= len(t.mimes) {
		return false
	}
	_, refused := t.rule.Refuses(t.mimes[s.Type()], u, requisite)
	return refused
}

// needs reports whether a document needs a URL of which that was not known.
func (t *typesOf) needs(c *scope.Candidate, s urls.State) bool {
	return t.rule != nil && c.Purpose == scope.Requisite && c.Follow && !c.Guess && !s.Requisite()
}

// leftOut reports whether this run left out a URL that a document needs, or where it leads.
func (t *typesOf) leftOut(c *scope.Candidate, s urls.State) bool {
	if !s.Answered() {
		return false // the worker that has its answer sees that it is needed
	}
	u := site.Canonical(string(c.URL))
	if s.Outcome() == site.OutOfScope {
		ok, _ := t.allow(u, scope.Requisite)
		return ok && !t.refuses(s, u, true)
	}
	return s.Outcome() == site.Redirected && s.Target() > 0
}

// rests reports whether a URL that was left out, in this run or in an earlier one, is not requested in this
// one. needed says that a document needs it to be shown.
func (t *typesOf) rests(id uint32, s urls.State, u site.URL, needed bool) bool {
	leftOut := t.rule != nil && s.Outcome() == site.OutOfScope && (s.Answered() || t.rule.Rests(id, t.run))
	return leftOut && t.refuses(s, u, needed || s.Requisite())
}
