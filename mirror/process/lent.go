// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"slices"

	"mirrord/fetch"
	"mirrord/mirror/source"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store"
)

// Lent finds out what one URL comes to by a replica, in a turn of the replica's host; nil when the origin has
// to be asked.
func (x *Processor) Lent(
	ctx context.Context, rec *store.Resource, l *source.Lender, release func(fetch.Observation),
) (*urls.Finding, error) {
	if !x.mayLend(rec) {
		return nil, nil
	}
	a, err := x.chain.Spread.Get(ctx, l, &source.Ask{
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
func (x *Processor) mayLend(rec *store.Resource) bool {
	_, waits := x.waits.Until(rec.ID, x.now())
	rules, known := x.motor.Origins.Rules(rec.URL)
	if waits || !known || rules.Silent() != "" || !source.MayGive(rec) {
		return false
	}
	permitted, _ := rules.Permits(rec.URL)
	others := x.chain.Reuse.Covers(rec.URL) || x.chain.Upstream.Follows()
	named := (rec.Gone > 0) || slices.Contains(x.rules.Seeds, rec.URL) || slices.Contains(x.job.Only, rec.URL)
	later := x.traits.Spent(rec.ID, urls.AfterFailure|urls.AfterGone)
	down := x.motor.Troubles.IsDown(rec.URL)
	return permitted && !others && !named && !later && !down && x.refusal(rec) == ""
}
