// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"mirrord/site"
	"mirrord/store/record"
)

// Reserve allocates the numbers below n, which get their URLs by Load and LoadNew. The table is empty.
func (t Settled) Reserve(n uint32) { t.reserve(n) }

// Load takes what a record says. A later record of a number replaces an earlier one. in says whether the
// number was in the mirror by the records before this one; answered, whether the record is of this run.
func (t Settled) Load(rec *record.Resource, run Run) (in, answered bool) {
	e := t.at(rec.ID)
	if e.url == 0 {
		t.LoadURL(rec.ID, rec.URL)
	}
	t.dropPath(rec.ID)
	e.outcome, e.to = rec.Outcome, rec.Target
	if rec.InSet {
		e.to = 0
	}
	t.setFragment(rec)
	in = e.flags&fInSet != 0
	was := in
	if e.flags&fKnown == 0 { // no earlier record of this run has said it
		was = rec.InSet != (rec.Moved >= run.Version)
	}
	e.flags, e.rate = fKnown, RateOf(rec)
	e.refer(Referral{From: rec.Referrer, Depth: rec.Depth, Requisite: rec.Requis})
	e.set(fInSet, rec.InSet)
	e.set(fDirty, rec.Changed >= run.Version)
	e.set(fMoved, rec.Moved >= run.Version)
	e.mime = t.mime(rec.MIME)
	answered = rec.Run == run.Number && rec.Outcome != site.Pending && rec.Outcome != site.Failed
	if answered {
		e.flags |= fQueued | fAnswered
		e.seen = SeenOf(rec, was)
	}
	if rec.Path != "" {
		t.setPath(rec.ID, rec.Path)
	}
	return in, answered
}

// LoadNew takes a URL that was admitted and of which there is no record.
func (t Settled) LoadNew(id uint32, u string, how Referral) {
	t.set(id, []byte(u))
	t.at(id).refer(how)
}

// LoadURL gives a reserved number its URL, unless it has one.
func (t Settled) LoadURL(id uint32, u site.URL) { t.set(id, []byte(u.String())) }

// LoadPast takes what a record of an older version says.
func (t Settled) LoadPast(rec *record.Resource) {
	e := t.at(rec.ID)
	t.setTarget(rec.ID, rec.Target)
	t.setFragment(rec)
	e.mime = t.mime(rec.MIME)
	if rec.InSet {
		e.flags |= fInSet
	}
	if rec.Path != "" {
		t.setPath(rec.ID, rec.Path)
	}
}

// Place gives a resource a mirror path: it is published again, and so is what links to it.
func (t Settled) Place(id uint32, path string) {
	t.setPath(id, path)
	t.at(id).flags |= fMoved | fDirty
}

// Displace takes the mirror path of a URL.
func (t Settled) Displace(id uint32) { t.dropPath(id) }

// Share makes a resource share the file of another one.
func (t Settled) Share(id, owner uint32) { t.setTarget(id, owner+1) }

// Leave takes a resource, or a redirect, out of the mirror.
func (t Settled) Leave(id uint32) {
	e := t.at(id)
	if e.flags&fInSet != 0 {
		e.seen |= Left
	}
	e.flags = e.flags&^fInSet | fMoved
	t.setTarget(id, 0)
}

// PutAside makes a URL one that is known and not in the mirror, until it is requested.
func (t Settled) PutAside(id uint32) {
	t.at(id).flags &^= fInSet
	t.setTarget(id, 0)
}
