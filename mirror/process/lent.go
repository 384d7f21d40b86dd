// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"slices"

	"mirrord/fetch"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// Lent finds the outcome of one URL by a replica, in a turn of the replica's host; nil when the origin has
// to be asked.
func (x *Processor) Lent(
	ctx context.Context, rec *record.Resource, l *source.Lender, release func(fetch.Observation),
) (*urls.Finding, error) {
	if !x.mayLend(rec) {
		return nil, nil
	}
	a, err := x.Chain.Spread.Get(ctx, l, &source.Ask{
		Record: rec,
		Suits:  func(mime string) bool { return x.read.leftOut(rec, mime) == "" },
	}, release)
	defer a.Release()
	if err != nil || a.From == 0 {
		return nil, err
	}
	f, err := x.take(rec, &a)
	if f == nil || err != nil {
		return nil, err
	}
	if out := f.Outcome; out != site.Fetched && out != site.Unchanged { // its meta robots, say
		return nil, nil
	}
	return f, nil
}

// mayLend reports whether a replica may be requested for a URL. The robots rules of both hosts must allow it;
// those of the origin must be known.
func (x *Processor) mayLend(rec *record.Resource) bool {
	_, waits := x.Waits.Until(rec.ID, x.Now())
	rules, known := x.Origins.Rules(rec.URL)
	if waits || !known || rules.Silent() != "" || !source.MayGive(rec) {
		return false
	}
	permitted, _ := rules.Permits(rec.URL)
	others := x.Sources.Offers(source.FromReuse, rec.URL) || x.Sources.Offers(source.FromUpstream, rec.URL)
	named := (rec.Gone > 0) || slices.Contains(x.Rules.Seeds, rec.URL) || slices.Contains(x.Job.Only, rec.URL)
	later := x.Traits.Spent(rec.ID, urls.AfterFailure|urls.AfterGone)
	down := x.HostErrors.IsDown(rec.URL)
	return permitted && !others && !named && !later && !down && x.refusal(rec) == ""
}
