// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"mirrord/mirror/ledger"
	"mirrord/site"
	"mirrord/store"
)

// folding says how the journal becomes records: URLs that still wait are kept as such, mirror paths are those
// of the table.
func (r *closing) folding() store.Folding {
	t := r.Table.Settled()
	return store.Folding{
		Version: r.Version,
		Path:    func(rec *store.Resource) string { return t.Path(rec.ID) },
		Pending: func(id uint32) bool {
			s := t.State(id)
			return s.Outcome() == site.Pending && !s.Known()
		},
	}
}

// amend changes the records of some URLs after retrieval. A Fold must follow.
func (r *closing) amend(ids []uint32, change func(*store.Resource)) error {
	t := r.Table.Settled()
	batch := make([]*store.Done, 0, min(len(ids), ledger.BatchItems))
	for _, id := range ids {
		rec, ok, err := r.Site.Records.Get(t.URL(id)) // not r.record: what this run found was just folded
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		change(&rec)
		batch = append(batch, &store.Done{Resource: rec})
		if len(batch) == ledger.BatchItems {
			if err := r.Site.Records.Commit(t.Len(), nil, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return r.Site.Records.Commit(t.Len(), nil, batch)
}

// calm ends a complete run that had nothing to publish: what it took for changed is as the published version
// has it, and the next run need not relocate it again.
func (r *closing) calm() error {
	if r.Live == nil || r.published != nil {
		return nil
	}
	var ids []uint32
	for id, s := range r.Table.Settled().All() {
		if s.Dirty() || s.Moved() {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := r.amend(ids, func(rec *store.Resource) {
		rec.Changed, rec.Moved = min(rec.Changed, r.Live.Number), min(rec.Moved, r.Live.Number)
	}); err != nil {
		return err
	}
	return r.Site.Records.Fold(r.folding())
}
