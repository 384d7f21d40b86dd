// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"strings"

	"mirrord/mirror/result"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// load fills the table from the store.
func (r *Retrieval) load() (*loaded, error) {
	l := &loaded{Retrieval: r, skipPlan: r.newSkipPlan()}
	r.dispatcher.HostAdmission.WaitWhile(l.skipPlan.Evidence.First)
	room, err := r.Table.Settled().Fill(urls.Loading{
		From:  r.Site.Records,
		Run:   r.Recording(),
		Bad:   r.Site.DB.Damaged,
		Visit: l.note,
	})
	r.Counts.Hold(room)
	if err != nil {
		return nil, err
	}
	r.recall()
	missing, err := r.Missing()
	if err != nil {
		return nil, err
	}
	for _, id := range missing.Kept() {
		r.Traits.Note(id, urls.IsKept)
	}
	return l, l.endSkipPlan()
}

// note takes what a stored record says beside the table.
func (r *loaded) note(rec *record.Resource, answered bool) {
	r.skipPlan.Load(rec)
	r.Provenance.Note(rec)
	r.ran = r.ran || ((r.Live != nil) && rec.InSet && (rec.Changed > 0) && rec.Changed <= r.Live.Number)
	if answered && r.Resumed {
		r.lent.recall(rec, r.Run.Number, r.chain.Spread)
	}
	if rec.Outcome == site.Failed && rec.Failures >= urls.LastingFailures {
		r.Traits.Note(rec.ID, urls.IsBroken)
	}
	if urls.IsSitemap(rec) {
		r.Traits.Note(rec.ID, urls.NamedSitemap)
	}
	r.Traits.NoteCut(rec.ID, cutOf(rec))
	if answered {
		r.shapes.Note(rec, r.Recording())
	}
}

// cutOf returns what keeps a run from knowing all that a document links to.
func cutOf(rec *record.Resource) result.Cut {
	cut := result.Cut(rec.Cut)
	if rec.InSet && rec.NoFollow {
		cut |= result.CutNoFollow
	}
	return cut
}

// recall finds out what no record says: how many URLs of each shape there are, so that a trap does not grow
// with every run, and which of the URLs that an interrupted run has yet to request are sitemaps.
func (r *Retrieval) recall() {
	t := r.Table.Settled()
	seeds := map[site.URL]bool{}
	for _, u := range r.Rules.Seeds {
		seeds[u] = true
	}
	for id, s := range t.All() {
		if !s.Given() {
			continue
		}
		u := t.URL(id)
		r.variants.Add(u)
		unnamed := s.Referrer() == 0 && !seeds[u]
		if r.Resumed && s.Outcome() == site.Pending && unnamed {
			r.Traits.Note(id, urls.NamedSitemap)
		}
	}
}

// settleBase makes the origin to which the first entry point leads the one that replicas stand for: a site
// that is named without https or www has its pages, and its troubles, there. It is called while no worker
// runs.
func (r *Retrieval) settleBase() {
	t := r.Table.Settled()
	for i, seed := range r.Rules.Seeds {
		id, ok := t.FindURL(seed)
		if !ok {
			continue
		}
		final, in := t.Final(id)
		u := t.URL(final)
		if !in || u.Origin() == seed.Origin() || !r.Rules.Scope.Covers(u) {
			continue
		}
		r.dispatcher.HostErrors.AddEntry(u)
		if i == 0 && strings.HasPrefix(u.Path(), seed.Dir()) {
			r.chain.Replicas.SetBase(u.Origin() + seed.Dir())
		}
	}
}
