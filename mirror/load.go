// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"strings"

	"mirrord/mirror/ledger"
	"mirrord/site"
	"mirrord/store"
)

// load fills the table from what is stored.
func (r *run) load() error {
	r.startAdvice()
	room, err := r.table.Settled().Fill(ledger.Loading{
		From:  r.site.Records,
		Run:   r.recording(),
		Bad:   r.site.BadValue,
		Visit: r.loaded,
	})
	r.stats.Hold(room)
	if err != nil {
		return err
	}
	r.recall()
	return r.endAdvice()
}

// loaded takes what a stored record says beside the table.
func (r *run) loaded(rec *store.Resource, answered bool) {
	r.advice.Load(rec)
	r.provenance.Note(rec)
	if rec.Outcome == site.Failed && rec.Failures >= ledger.LastingFailures {
		r.traits.NoteBroken(rec.ID)
	}
	if ledger.IsSitemap(rec) {
		r.traits.NoteSitemap(rec.ID)
	}
	if answered {
		r.shapes.Note(rec, r.recording())
	}
}

// recall finds out what no record says: how many URLs of each shape there are, so that a trap does not go on
// with every run, and which of the URLs that an interrupted run has yet to request are sitemaps.
func (r *run) recall() {
	t := r.table.Settled()
	seeds := map[site.URL]bool{}
	for _, u := range r.rules.Seeds {
		seeds[u] = true
	}
	for id, s := range t.All() {
		if !s.Given() {
			continue
		}
		u := t.URL(id)
		r.variants.Add(u)
		unnamed := s.Referrer() == 0 && !seeds[u]
		if r.resumed && s.Outcome() == site.Pending && unnamed {
			r.traits.NoteSitemap(id)
		}
	}
}

// settleBase makes the origin to which the first entry point leads the one that replicas stand for: a site
// that is named without https or www has its pages, and its troubles, there. It is called while no worker
// runs.
func (r *run) settleBase() {
	t := r.table.Settled()
	for i, seed := range r.rules.Seeds {
		id, ok := t.Find([]byte(seed.String()))
		if !ok {
			continue
		}
		final, in := t.Final(id)
		u := t.URL(final)
		if !in || u.Origin() == seed.Origin() || !r.rules.Scope.Covers(u) {
			continue
		}
		r.motor.Troubles.AddEntry(u)
		if i == 0 && strings.HasPrefix(u.Path(), seed.Dir()) {
			r.chain.Replicas.SetBase(u.Origin() + seed.Dir())
		}
	}
}
