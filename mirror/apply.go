// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"slices"
	"sync/atomic"

	"mirrord/site"
	"mirrord/store"
)

// finding is what one answer, or one decision, taught of a URL: its record and links, and what the summary says of it. Whoever reads an answer
// makes one; apply writes it.
type finding struct {
	store.Done
	as account
}

// account is what the summary says of a finding.
type account struct {
	tally  tally
	failed string // why the URL counts among those that failed; "" when it does not
}

// tally says under which counts a finding comes. A stored document that is scanned again under new rules comes under two.
type tally uint16

const (
	asFetched tally = 1 << iota
	asUnchanged
	asRedirected
	asGone
	asDisallowed
	asTrapped
	asFailed      // limits.max_failures counts it
	asRefused     // a failure that does not spoil the run
	asNotRedirect // it came under asRedirected earlier in this run, and does not any more
	asSpared      // by evidence: shifted by the kind, so it stays the last
)

// count adds a finding to the counts.
func (s *stats) count(a tally) {
	for _, c := range [...]struct {
		as tally
		n  *atomic.Int64
		by int64
	}{
		{asFetched, &s.fetched, 1},
		{asUnchanged, &s.unchanged, 1},
		{asRedirected, &s.redirected, 1},
		{asGone, &s.gone, 1},
		{asDisallowed, &s.disallowed, 1},
		{asTrapped, &s.trapped, 1},
		{asFailed, &s.failed, 1},
		{asRefused, &s.refused, 1},
		{asNotRedirect, &s.redirected, -1},
	} {
		if a&c.as != 0 {
			c.n.Add(c.by)
		}
	}
	for k := range evidenceKinds {
		if a&(asSpared<<k) != 0 {
			s.spared[k].Add(1)
		}
	}
}

// apply writes what was found out about a URL, and is the only one who does: into the table, the counts and notes of the run, what the plan and the
// sources of evidence are told, and, by way of the committer, onto the disk. It is safe for concurrent use, for one URL at a time.
func (r *run) apply(f *finding) {
	d := &f.Done
	d.Run = r.state.Number
	d.Evidence = r.evidenceFor(&d.Resource)
	r.noteShape(&d.Resource)
	r.noteSource(&d.Resource)
	r.stats.count(f.as.tally)
	if f.as.failed != "" {
		r.notes.fail(d.URL, f.as.failed)
	}
	if d.Reason != "" && d.Referrer == 0 {
		r.notes.decided(d.URL, d.Reason)
	}
	was, now := r.table.Record(&d.Resource, r.recording())
	if was.Guessed() && !was.Answered() && !isFavicon(d.URL) {
		switch d.Outcome {
		case site.Gone:
			r.stats.guessGone.Add(1)
		case site.Fetched, site.Redirected:
			r.stats.guessFound.Add(1)
		}
	}
	if r.planner != nil {
		r.planner.tell(d.ID, now.Seen())
	}
	if len(d.Targets) > 1 {
		slices.Sort(d.Targets)
	}
	r.commits <- d
}

// evidenceFor returns what the sources of evidence said of a resource when it was found to be as its record says.
func (r *run) evidenceFor(rec *store.Resource) [spokenKinds]uint64 {
	none := [spokenKinds]uint64{}
	if !rec.InSet || (rec.Outcome != site.Fetched && rec.Outcome != site.Unchanged) {
		return rec.Evidence
	}
	if rec.Source != "" || r.alt.isAside(rec.ID) {
		return none // what listings say is said of the origin's body
	}
	say := r.evidence.of(rec.ID)
	switch {
	case rec.Listing && say == none: // what was said of a listing's directory is only ever a reason to ask for it: it may be old
	case rec.Status != 0, say != none:
		return say
	}
	return rec.Evidence
}
