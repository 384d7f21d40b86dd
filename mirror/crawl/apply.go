// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"slices"
	"sync"

	"mirrord/mirror/frontier"
	"mirrord/mirror/run"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// apply writes what was found out about a URL, and is the only one who does: into the table, the counts and
// notes of the run, what the plan and the sources of evidence receive, and, by way of the committer, onto
// the disk. It is safe for concurrent use, for one URL at a time.
func (r *crawling) apply(f *urls.Finding) {
	for _, rec := range f.As.Disallowed {
		r.apply(urls.FindingOf(&rec, urls.Account{Tally: urls.AsDisallowed}))
	}
	d := &f.Done
	d.Run = r.Run.Number
	d.Evidence = r.skipPlan.Evidence.For(&d.Resource, r.Provenance.Hearsay(d.ID))
	r.shapes.Note(&d.Resource, r.Recording())
	r.Provenance.Note(&d.Resource)
	r.Traits.NoteCut(d.ID, cutOf(&d.Resource))
	r.account(&d.Resource, &f.As)
	if d.Reason != "" && d.Referrer == 0 {
		r.Notes.Decided(d.URL, d.Reason)
	}
	if d.Outcome == site.Disallowed && slices.Contains(r.Job.Only, d.URL) { // the run is for this one
		r.Notes.Add("forbidden by the site: "+d.Reason, d.URL)
	}
	r.needed.note(&f.As)
	defer r.needed.lock()()
	r.held.compare(r.Table, &d.Resource)
	was, now := r.Table.Record(&d.Resource, r.Recording())
	late := now.Requisite() && !d.Requis
	d.Requis = d.Requis || late
	if was.Guessed() && !was.Answered() && !scope.IsFavicon(d.URL) {
		switch d.Outcome {
		case site.Gone:
			r.Counts.GuessGone.Add(1)
		case site.Fetched, site.Redirected:
			r.Counts.GuessFound.Add(1)
		}
	}
	if d.Body == record.BlobBody && d.Outcome == site.Fetched && d.Changed == r.Version {
		r.bodies.Add(d.Size)
	}
	r.skipPlan.Plan.Tell(d.ID, now.Seen())
	if len(d.Targets) > 1 {
		slices.Sort(d.Targets)
	}
	if d.Outcome == site.Fetched {
		r.dispatcher.Front.Credit(d.ID, d.Targets)
	}
	r.commits.Add(d)
	if late {
		r.needed.again(d)
	}
}

// account takes a finding into the counts, the notes and what the run knows of the origin.
func (r *crawling) account(rec *record.Resource, as *urls.Account) {
	r.Counts.Account(as)
	r.recent.Note(rec.URL, rec.Outcome)
	if as.Lost {
		r.dispatcher.HostErrors.Lose(rec.URL, as.Tally&urls.AsFailed != 0)
	}
	if as.Refused {
		r.Traits.Note(rec.ID, urls.IsRefused)
	}
	if as.Failed != "" {
		r.Notes.Fail(rec.URL, as.Failed)
	}
	for _, what := range as.Notes {
		r.Notes.Add(what, rec.URL)
	}
	if as.Stale {
		r.skipPlan.Validators.NoteStale(rec.ID, rec.URL)
	}
}

// needed keeps that a document needs URLs to be shown of which that was not known: a job with rules about
// types requests them once more when it left them out before. Records of one URL are then written by two
// workers; the lock orders them. Without such rules it does nothing. Safe for concurrent use.
type needed struct {
	*run.Session
	commits *urls.Committer
	front   *frontier.Frontier

	mu sync.Mutex
}

// lock begins to write a record; what it returns ends that.
func (n *needed) lock() (unlock func()) {
	if n.Rules.Types == nil {
		return func() {}
	}
	n.mu.Lock()
	return n.mu.Unlock
}

// note writes into the records of URLs that a document needs them, before the record of the document is
// written: a run that resumes after a kill knows it, too. Those of which the table took the outcome back are
// requested once more.
func (n *needed) note(as *urls.Account) {
	if len(as.Needed)+len(as.Reopened) == 0 {
		return
	}
	defer n.lock()()
	for _, id := range as.Needed {
		if !n.Table.State(id).Answered() {
			n.write(id)
		}
	}
	for _, id := range as.Reopened {
		n.reopen(id)
	}
}

// again requests a URL once more that is left out although a document needs it, which was read meanwhile. The
// caller holds the lock.
func (n *needed) again(d *record.Done) {
	left := d.Outcome == site.OutOfScope || d.Outcome == site.Redirected
	if n.Rules.Types == nil || !left {
		return
	}
	if _, refused := n.Rules.Types.Refuses(d.MIME, d.URL, true); !refused && n.Table.Reopen(d.ID) {
		n.reopen(d.ID)
	}
}

// reopen requests a URL once more, as if it was new. The caller holds the lock.
func (n *needed) reopen(id uint32) {
	n.Traits.Note(id, urls.IsReopened)
	n.write(id)
	n.front.Add(n.Table.URL(id).Origin(), id, frontier.PrioRequisite)
}

// write writes the record of a URL that waits for its request. The caller holds the lock.
func (n *needed) write(id uint32) {
	rec := n.pending(id)
	rec.Requis = true
	n.commits.Add(&record.Done{Resource: rec})
}

// forget resets the record of a URL to one that documents name.
func (n *needed) forget(id uint32) {
	defer n.lock()()
	n.commits.Add(&record.Done{Resource: n.pending(id), Linked: true})
}

// pending is the record of a URL that waits for its request.
func (n *needed) pending(id uint32) record.Resource {
	u, s := n.Table.Get(id)
	return record.Resource{
		ID:       id,
		URL:      u,
		Run:      n.Run.Number,
		Outcome:  site.Pending,
		Referrer: s.Referrer(),
		Depth:    s.Depth(),
		Requis:   s.Requisite(),
	}
}
