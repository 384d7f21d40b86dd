// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"

	"mirrord/mirror/ledger"
	"mirrord/site"
	"mirrord/store"
)

// load fills the table from what is stored.
func (r *run) load() error {
	n, err := r.site.Records.Known()
	if err != nil {
		return err
	}
	t := r.table.Settled()
	t.Reserve(n)
	put := func(rec *store.Resource) error {
		if rec.ID >= n || rec.Target > n || rec.Referrer > n {
			return r.site.BadValue(fmt.Errorf("record of %s: it names a number that no URL has", rec.URL))
		}
		in, answered := t.Load(rec, r.recording())
		if rec.InSet && !in {
			r.stats.Hold(ledger.RoomOf(rec))
		} else if in && !rec.InSet {
			r.stats.Hold(ledger.RoomOf(rec).Neg())
		}
		r.loadEvidence(rec)
		r.provenance.Note(rec)
		if rec.Outcome == site.Failed && rec.Failures >= lastingFailures {
			r.traits.NoteBroken(rec.ID)
		}
		if wasSitemap(rec) {
			r.traits.NoteSitemap(rec.ID)
		}
		if answered {
			r.shapes.Note(rec, r.recording())
		}
		return nil
	}
	if err := r.site.Records.Resources(put); err != nil {
		return err
	}
	err = r.site.Records.Replay(func(id uint32, u store.NewURL) error {
		if id >= n || u.Referrer > n {
			return r.site.BadValue(fmt.Errorf("journal: %s: it names a number that no URL has", u.URL))
		}
		t.LoadNew(id, u.URL, ledger.Referral{From: u.Referrer, Depth: u.Depth, Requisite: u.Requis})
		return nil
	}, func(rec *store.Resource, _ []byte, _ bool) error { return put(rec) })
	if err == nil {
		r.recall()
	}
	return err
}

// recording says which run the table is kept for.
func (r *run) recording() ledger.Run { return ledger.Run{Number: r.state.Number, Version: r.version} }

// recall takes what was found earlier into account that no record says: how many URLs of each shape there are, so that a trap does not
// go on with every run, and which of the URLs that an interrupted run has yet to ask are sitemaps.
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
		if r.resumed && s.Outcome() == site.Pending && s.Referrer() == 0 && !seeds[u] { // no document named it
			r.traits.NoteSitemap(id)
		}
	}
}
