// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"
	"slices"

	"mirrord/mirror/ledger"
	"mirrord/mirror/source"
	"mirrord/site"
	"mirrord/store"
)

// fromReuse takes a URL from the mirror of another job; nil when that does not give it. down says that
// nothing more is requested of its host in this run.
func (r *asking) fromReuse(ctx context.Context, rec *store.Resource, down bool) (*ledger.Finding, error) {
	if !r.chain.Reuse.Covers(rec.URL) || r.traits.Sitemap(rec.ID) {
		return nil, nil
	}
	_, known := r.motor.Origins.Rules(rec.URL)
	if unknown := !known && !down; unknown || r.motor.Origins.Forbids(rec.URL) {
		return nil, nil
	}
	a, err := r.chain.Get(ctx, &source.Ask{Record: rec, Of: source.FromReuse})
	defer a.Release()
	if err != nil {
		return nil, err
	}
	return r.take(rec, &a)
}

// fallback takes a URL that the origin did not give from a replica; nil when no replica gives it. why is what
// the origin did.
func (r *asking) fallback(ctx context.Context, rec *store.Resource, why string) (*ledger.Finding, error) {
	unwanted := r.traits.Sitemap(rec.ID) || (r.read.isGuess(rec.ID) && !rec.InSet)
	repair := rec.Outcome != site.Gone || r.job.Repair
	if !r.chain.Replicas.Covers(rec.URL) || unwanted || r.motor.Origins.Forbids(rec.URL) || !repair {
		return nil, nil
	}
	a, err := r.chain.Get(ctx, &source.Ask{
		Record:   rec,
		Of:       source.FromReplica,
		Why:      why,
		Suits:    func(mime string) bool { return !r.read.misled(rec, mime) },
		Redirect: r.traits.Hops(rec.ID) < int(r.job.Limits.MaxRedirects),
	})
	defer a.Release()
	if err != nil {
		return nil, err
	}
	if a.From == 0 {
		for _, note := range a.Notes {
			r.notes.Add(note, rec.URL)
		}
		return nil, nil
	}
	f, err := r.take(rec, &a)
	if f != nil && a.To.IsZero() {
		r.chain.Replicas.Took(&a, f.Outcome == site.Unchanged)
	}
	return f, err
}

// take reads an answer that is not from the origin; nil when there is none.
func (r *asking) take(rec *store.Resource, a *source.Answer) (*ledger.Finding, error) {
	now := *rec
	now.Status, now.Checked = a.Status, a.Checked
	as := ledger.Account{Notes: a.Notes}
	switch {
	case a.From == 0:
		return nil, nil
	case !a.To.IsZero():
		r.log.Debug("redirect of a replica", "url", rec.URL.String(), "to", a.To.String())
		f, err := r.redirect(&now, a.Result, a.To) // to another URL: there is no further turn
		return f.finding, err
	}
	now.Reason, now.Answer = a.Reason, nil // the origin's head brought nothing
	if a.Same {
		r.provenance.SetHearsay(rec.ID)
		return r.read.unchanged(&now, as)
	}
	return r.read.body(&now, a, as)
}

// postponedOrFallback falls back to the replicas for a URL of a host of an entry point that is postponed to
// the next run. It returns nil when no replica is well: the URL is left for the next run.
func (r *asking) postponedOrFallback(
	ctx context.Context, rec *store.Resource, why string,
) (*ledger.Finding, error) {
	if r.motor.Troubles.IsSlow(rec.URL) {
		return nil, nil
	}
	f, err := r.fallback(ctx, rec, why)
	switch {
	case f != nil || err != nil:
		return f, err
	case ctx.Err() != nil || !r.chain.Replicas.IsWell():
		return nil, nil
	case rec.Outcome == site.Gone && !rec.InSet: // as it was
		return &ledger.Finding{Done: store.Done{Resource: *rec}}, nil
	}
	return r.read.notGiven(rec, why+"; no replica gave it", ledger.Account{}), nil
}

// repairs takes what the origin says is gone from a replica, if the job wants that; nil when none gave it.
// The record keeps the origin's status: such a body is no promise of the origin's to come, and holds nothing
// back.
func (r *asking) repairs(ctx context.Context, rec *store.Resource) (*ledger.Finding, error) {
	if !r.job.Repair || !ledger.IsGone(rec) || slices.Contains(r.rules.Seeds, rec.URL) {
		return nil, nil
	}
	f, err := r.fallback(ctx, rec, fmt.Sprintf("status %d", rec.Status))
	if f != nil {
		f.As.Notes = append(f.As.Notes, "broken links repaired from replicas")
	}
	return f, err
}
