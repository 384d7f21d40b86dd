// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/facts"
	"mirrord/store/record"
)

// unpublished are the results of runs that were held back: records have them, because accept publishes them,
// and the site may show something else now. What such a run found that no version has is requested only when
// a document of this run names it, and what this run finds is compared with the published version.
type unpublished struct {
	past  *facts.Past // the published version; nil: there are no such results
	aside []uint32    // what only such runs found
}

// begin finds out whether there are such results, and puts aside what no version has. No worker runs.
func (n *unpublished) begin(r *loaded) (err error) {
	if r.Live == nil {
		return nil
	}
	// New rules judge each record; a rollback holds as long as the site is as it was.
	asides := !r.Rescan && r.Live.Restores == 0 && r.skipPlan.Plan == nil
	t := r.Table.Settled()
	for id, s := range t.All() {
		if !s.Given() || s.Answered() || !(s.Dirty() || s.Moved()) {
			continue
		}
		if n.past == nil {
			if n.past, err = r.Site.Versions.Past(r.Live.Number); err != nil {
				return err
			}
		}
		if !asides || !s.Governed() || !s.Moved() {
			continue
		}
		was, ok, err := n.past.Get(t.URL(id))
		if err != nil {
			return err
		}
		if !ok || (!was.InSet && was.Target == 0) {
			t.PutAside(id)
			n.aside = append(n.aside, id)
		}
	}
	return nil
}

// drop takes what was put aside, and was not named since, out of the records. No worker runs.
func (n *unpublished) drop(r *crawling) error {
	for _, id := range n.aside {
		u, s := r.Table.Get(id)
		if s.Queued() {
			continue
		}
		rec, err := r.process.Record(id, u)
		if err != nil {
			return err
		}
		rec.Reason = "only a run that is held for review found it, and nothing in the mirror links to it"
		r.apply(urls.FindingOf(&rec, urls.Account{Room: urls.Leave(&rec, r.Version)}))
	}
	return nil
}

// compare makes a record, and what the table knew before it, say what changed since the published version,
// not since a run that was held back. It is safe for concurrent use, for one URL at a time.
func (n *unpublished) compare(t *urls.Table, rec *record.Resource) {
	if n.past == nil {
		return
	}
	s := t.State(rec.ID)
	if s.Answered() || !(s.Dirty() || s.Moved()) {
		return
	}
	was, ok, err := n.past.Get(rec.URL)
	if err != nil || !ok || !was.InSet { // without the record it counts as another change
		return
	}
	t.BringBack(rec.ID)
	if came := rec.Outcome == site.Fetched || rec.Outcome == site.Unchanged; came && rec.InSet {
		rec.Recent, rec.Observed = was.Recent, was.Observed
		rec.Observe(rec.Digest != was.Digest)
	}
}
