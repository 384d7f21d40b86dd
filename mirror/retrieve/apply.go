// SPDX-License-Identifier: Apache-2.0

package retrieve

import (
	"slices"
	"sync"

	"mirrord/mirror/admit"
	"mirrord/mirror/crawl"
	"mirrord/mirror/ledger"
	"mirrord/mirror/session"
	"mirrord/site"
	"mirrord/store"
)

// apply writes what was found out about a URL, and is the only one who does: into the table, the counts and
// notes of the run, what the plan and the sources of evidence are told, and, by way of the committer, onto
// the disk. It is safe for concurrent use, for one URL at a time.
func (r *Retrieval) apply(f *ledger.Finding) {
	for _, rec := range f.As.Disallowed {
		as := ledger.Account{Tally: ledger.AsDisallowed}
		r.apply(&ledger.Finding{Done: store.Done{Resource: rec}, As: as})
	}
	d := &f.Done
	d.Run = r.Run.Number
	d.Evidence = r.advice.Evidence.For(&d.Resource, r.Provenance.Hearsay(d.ID))
	r.shapes.Note(&d.Resource, r.Recording())
	r.Provenance.Note(&d.Resource)
	r.account(&d.Resource, &f.As)
	if d.Reason != "" && d.Referrer == 0 {
		r.Notes.Decided(d.URL, d.Reason)
	}
	r.reopening.all(f.As.Reopened)
	if d.Outcome == site.OutOfScope || d.Outcome == site.Redirected {
		defer r.reopening.leaveOut(d)()
	}
	was, now := r.Table.Record(&d.Resource, r.Recording())
	if was.Guessed() && !was.Answered() && !admit.IsFavicon(d.URL) {
		switch d.Outcome {
		case site.Gone:
			r.Counts.GuessGone.Add(1)
		case site.Fetched, site.Redirected:
			r.Counts.GuessFound.Add(1)
		}
	}
	r.advice.Plan.Tell(d.ID, now.Seen())
	if len(d.Targets) > 1 {
		slices.Sort(d.Targets)
	}
	r.commits.Add(d)
}

// account takes a finding into the counts, the notes and what the run knows of the origin.
func (r *Retrieval) account(rec *store.Resource, as *ledger.Account) {
	r.Counts.Account(as)
	if as.Lost {
		r.motor.Troubles.Lose(rec.URL, as.Tally&ledger.AsFailed != 0)
	}
	if as.Refused {
		r.Traits.NoteRefused(rec.ID)
	}
	if as.Failed != "" {
		r.Notes.Fail(rec.URL, as.Failed)
	}
	for _, what := range as.Notes {
		r.Notes.Add(what, rec.URL)
	}
	if as.Stale {
		r.advice.Validators.NoteStale(rec.ID, rec.URL)
	}
}

// reopening requests URLs once more that were left out because of their types, and of which it turns out that
// a document needs them to be shown. Then two workers write one record, one after the other: its lock orders
// them. Safe for concurrent use.
type reopening struct {
	*session.Session
	commits *ledger.Committer
	front   *crawl.Frontier

	mu sync.Mutex
}

// all requests URLs once more whose outcomes the table took back.
func (o *reopening) all(ids []uint32) {
	if len(ids) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range ids {
		o.one(id)
	}
}

// one requests a URL once more. Its record says so, in case the run is killed. The caller holds o.mu.
func (o *reopening) one(id uint32) {
	u, s := o.Table.Get(id)
	o.Traits.NoteReopened(id)
	o.commits.Add(&store.Done{Resource: store.Resource{
		ID:       id,
		URL:      u,
		Run:      o.Run.Number,
		Outcome:  site.Pending,
		Referrer: s.Referrer(),
		Depth:    s.Depth(),
		Requis:   true,
	}})
	o.front.Add(u.Origin(), id, crawl.PrioRequisite)
}

// leaveOut begins to write the record of a URL that is left out, or leads elsewhere. What it returns ends
// that, and requests the URL once more when a document needs it that was read meanwhile.
func (o *reopening) leaveOut(d *store.Done) (end func()) {
	if o.Rules.Types == nil {
		return func() {}
	}
	o.mu.Lock()
	return func() {
		defer o.mu.Unlock()
		if d.Requis || !o.Table.State(d.ID).Requisite() {
			return
		}
		if _, refused := o.Rules.Types.Refuses(d.MIME, d.URL, true); !refused && o.Table.Reopen(d.ID) {
			o.one(d.ID)
		}
	}
}
