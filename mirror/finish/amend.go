// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/facts"
	"mirrord/store/record"
)

// folding says how the journal becomes records: URLs that still wait are kept as such, mirror paths are those
// of the table.
func (c *Closing) folding() facts.Folding {
	t := c.Table.Settled()
	return facts.Folding{
		Version: c.Version,
		Path:    func(rec *record.Resource) string { return t.Path(rec.ID) },
		Pending: func(id uint32) bool {
			s := t.State(id)
			return s.Outcome() == site.Pending && !s.Known()
		},
		Err: c.Table.Err,
	}
}

// amend changes the records of some URLs after retrieval. A Fold must follow.
func (c *Closing) amend(ids []uint32, change func(*record.Resource)) error {
	t := c.Table.Settled()
	batch := make([]*record.Done, 0, min(len(ids), urls.BatchItems))
	for _, id := range ids {
		rec, ok, err := c.Site.Records.Get(t.URL(id)) // not c.record: what this run found was just folded
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		change(&rec)
		batch = append(batch, &record.Done{Resource: rec})
		if len(batch) == urls.BatchItems {
			if err := c.Site.Records.Commit(t.Len(), nil, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if err := c.Table.Err(); err != nil || len(batch) == 0 {
		return err
	}
	return c.Site.Records.Commit(t.Len(), nil, batch)
}

// calm ends a complete run that had nothing to publish: what it took for changed is as the published version
// has it, and the next run need not relocate it again.
func (c *Closing) calm() error {
	if c.Live == nil || c.published != nil {
		return nil
	}
	var ids []uint32
	for id, s := range c.Table.Settled().All() {
		if s.Dirty() || s.Moved() {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := c.amend(ids, func(rec *record.Resource) {
		rec.Changed, rec.Moved = min(rec.Changed, c.Live.Number), min(rec.Moved, c.Live.Number)
	}); err != nil {
		return err
	}
	if err := c.Site.Records.Fold(c.folding()); err != nil {
		return err
	}
	return c.Site.Versions.Join(c.Live.Number + 1)
}
