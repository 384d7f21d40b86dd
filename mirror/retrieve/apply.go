// SPDX-License-Identifier: Apache-2.0

package retrieve

import (
	"slices"

	"mirrord/mirror/admit"
	"mirrord/mirror/ledger"
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
