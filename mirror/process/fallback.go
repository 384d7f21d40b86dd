// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"slices"

	"mirrord/fetch"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// fromReuse takes a URL from the mirror of another job; nil when that does not give it, or may not yet: ready
// says that the rules of its origin are known, or that nothing more is requested of its host in this run.
func (x *Processor) fromReuse(ctx context.Context, rec *record.Resource, ready bool) (*urls.Finding, error) {
	covers := x.Sources.Offers(source.FromReuse, rec.URL) && !x.Traits.Is(rec.ID, urls.NamedSitemap)
	if !covers || !ready || x.Origins.Forbids(rec.URL) {
		return nil, nil
	}
	a, err := x.Sources.Get(ctx, &source.Ask{Record: rec, Of: source.FromReuse})
	defer a.Release()
	if err != nil {
		return nil, err
	}
	return x.take(rec, &a)
}

// fromUpstream takes a URL from what a site that is a mirror says of its versions; nothing when that does not
// give it. What it has no more is gone at once: no single answer says so, but its file table.
func (x *Processor) fromUpstream(ctx context.Context, rec *record.Resource) (f Found, err error) {
	if !x.Sources.Offers(source.FromUpstream, rec.URL) || (x.Traits.Is(rec.ID, urls.NamedSitemap) && x.Rescan) {
		return f, nil
	}
	a, err := x.Sources.Get(ctx, &source.Ask{
		Record:  rec,
		Of:      source.FromUpstream,
		Request: fetch.Request{URL: rec.URL},
		Refuse:  x.read.refuse(rec),
	})
	defer a.Release()
	if err != nil || a.From == 0 {
		return f, err
	}
	rec.Status, rec.Checked, rec.Reason, rec.Answer = a.Status, a.Checked, "", a.Result.Whole
	return x.answer(ctx, rec, exchanged{Answer: &a, second: true})
}

// fromSpace takes a URL from another mirror of the space, which the site gave it a short while ago; nil when
// none has it so. What runs learn of other URLs by, and what they must be sure of, is requested.
func (x *Processor) fromSpace(ctx context.Context, rec *record.Resource) (*urls.Finding, error) {
	if rec.Gone > 0 {
		return nil, nil
	}
	named := slices.Contains(x.Rules.Seeds, rec.URL) || slices.Contains(x.Job.Only, rec.URL)
	tells := rec.Listing || x.Traits.Is(rec.ID, urls.NamedSitemap) || x.read.isGuess(rec.ID)
	const later = urls.AfterFailure | urls.AfterSilence | urls.AfterGone | urls.WithCookie
	if !x.Sources.Offers(source.FromSpace, rec.URL) || named || tells || x.Traits.Spent(rec.ID, later) {
		return nil, nil
	}
	a, err := x.Sources.Get(ctx, &source.Ask{Record: rec, Of: source.FromSpace})
	defer a.Release()
	if err != nil {
		return nil, err
	}
	f, err := x.take(rec, &a)
	if f != nil && err == nil {
		x.Sources.Took(&a)
	}
	return f, err
}

// fallback takes a URL that the origin did not give from a replica; nil when no replica gives it. why is what
// the origin did.
func (x *Processor) fallback(ctx context.Context, rec *record.Resource, why string) (*urls.Finding, error) {
	unwanted := x.Traits.Is(rec.ID, urls.NamedSitemap) || (x.read.isGuess(rec.ID) && !rec.InSet)
	repair := rec.Outcome != site.Gone || x.Job.Repair
	if !x.Sources.Offers(source.FromReplica, rec.URL) || unwanted || x.Origins.Forbids(rec.URL) || !repair {
		return nil, nil
	}
	a, err := x.Sources.Get(ctx, &source.Ask{
		Record: rec,
		Of:     source.FromReplica,
		Why:    why,
		Suits: func(mime string) bool {
			return !x.read.misled(rec, mime) && x.read.leftOut(rec, mime) == ""
		},
		Redirect: x.Traits.Hops(rec.ID) < int(x.Job.Limits.MaxRedirects),
	})
	defer a.Release()
	if err != nil {
		return nil, err
	}
	if a.From == 0 {
		for _, note := range a.Notes {
			x.Notes.Add(note, rec.URL)
		}
		return nil, nil
	}
	f, err := x.take(rec, &a)
	if f != nil {
		x.Sources.Took(&a)
	}
	return f, err
}

// take reads an answer that is not from the origin; nil without one.
func (x *Processor) take(rec *record.Resource, a *source.Answer) (*urls.Finding, error) {
	now := *rec
	now.Status, now.Checked = a.Status, a.Checked
	as := urls.Account{Notes: a.Notes}
	switch {
	case a.From == 0:
		return nil, nil
	case !a.To.IsZero():
		x.Log.Debug("redirect of a replica", "url", rec.URL.String(), "to", a.To.String())
		f, err := x.redirect(&now, a.Result, a.To) // to another URL: there is no further turn
		return f.Finding, err
	}
	now.Reason, now.Answer = a.Reason, nil // the origin's head is of no use
	if a.Same || a.Told != "" {
		x.Provenance.SetHearsay(rec.ID)
	}
	if a.Same {
		return x.read.unchanged(&now, as)
	}
	return x.read.body(&now, a, as)
}

// postponedOrFallback falls back to the replicas for a URL of a host of an entry point that is postponed to
// the next run. It returns nil when no replica is well: the URL is left for the next run.
func (x *Processor) postponedOrFallback(
	ctx context.Context, rec *record.Resource, why string,
) (*urls.Finding, error) {
	if x.HostErrors.IsSlow(rec.URL) {
		return nil, nil
	}
	f, err := x.fallback(ctx, rec, why)
	switch {
	case f != nil || err != nil:
		return f, err
	case ctx.Err() != nil || !x.Sources.IsWell():
		return nil, nil
	case rec.Outcome == site.Gone && !rec.InSet: // as it was
		return urls.FindingOf(rec, urls.Account{}), nil
	}
	return x.read.notGiven(rec, why+"; no replica gave it", urls.Account{}), nil
}

// repairs takes what the origin says is gone from a replica, if the job wants that; nil when none gave it.
// The record keeps the origin's status: such a body is no promise of the origin's to come, and holds nothing
// back.
func (x *Processor) repairs(ctx context.Context, rec *record.Resource) (*urls.Finding, error) {
	if !x.Job.Repair || !urls.IsGone(rec) || slices.Contains(x.Rules.Seeds, rec.URL) {
		return nil, nil
	}
	f, err := x.fallback(ctx, rec, fmt.Sprintf("status %d", rec.Status))
	if f != nil {
		f.As.Notes = append(f.As.Notes, "broken links repaired from replicas")
	}
	return f, err
}
