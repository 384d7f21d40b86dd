// SPDX-License-Identifier: Apache-2.0

package store

import (
	"net/http"

	"mirrord/site"
	"mirrord/store/record"
)

// split takes the looks out of a batch. A URL of which the journal has a record is in none: the record
// would count, and not the look.
func (l *looks) split(done []*record.Done) (rest []*record.Done, out []record.Look, err error) {
	if err := l.readWritten(); err != nil {
		return nil, nil, err
	}
	var ids [2][]uint32
	kinds := [2]record.Look{1: {Whole: true}}
	err = l.db.View(func(tx *transaction) error {
		list, err := l.folded(tx)
		if err != nil {
			return err
		}
		stored := tx.Bucket(bResources)
		for _, d := range done {
			is := false
			if d.Outcome == site.Unchanged && !l.written.Has(d.ID) {
				if is, err = l.isLook(stored, d, list); err != nil {
					return err
				}
			}
			if !is {
				l.written.Add(d.ID)
				rest = append(rest, d)
				continue
			}
			k := 0
			if d.Status == http.StatusOK {
				k = 1
			}
			kind := &kinds[k]
			if ids[k] = append(ids[k], d.ID); kind.Time == 0 || d.Checked < kind.Time {
				kind.Run, kind.Time = d.Run, d.Checked
			}
		}
		return nil
	})
	for k := range kinds {
		if kinds[k].IDs = record.SetOf(ids[k]...); len(ids[k]) > 0 {
			out = append(out, kinds[k])
		}
	}
	return rest, out, err
}

// readWritten finds out of which URLs the journal of a resumed run has records.
func (l *looks) readWritten() error {
	if l.written != nil {
		return nil
	}
	l.written = make(record.Bits, 1)
	var b record.LogBatch
	return l.batches(func(_ uint64, v []byte) error {
		if err := b.Decode(v); err != nil {
			return err
		}
		for _, d := range b.Done {
			var r record.Resource
			if err := r.Decode(site.URL{}, d.Record); err != nil {
				return err
			}
			l.written.Add(r.ID)
		}
		return nil
	})
}

// isLook reports whether a result says of the stored record only that the URL was looked at.
func (l *looks) isLook(stored *bucket, d *record.Done, list []record.Look) (bool, error) {
	if d.Linked {
		return false, nil
	}
	v := stored.Get(d.URL.Key(nil))
	if v == nil {
		return false, nil
	}
	var after record.Resource
	if err := after.Decode(d.URL, v); err != nil {
		return false, err
	}
	record.ApplyLooks(list, &after)
	if d.Run <= after.Run || !after.LastHead.IsZero() || (d.Answer == nil && d.HeadSum != 0) {
		return false, nil
	}
	was := after
	after.Looked(&record.Look{Run: d.Run, Whole: d.Status == http.StatusOK, Time: d.Checked})
	now := d.Resource
	now.Answer = nil
	if after != now {
		return false, nil
	}
	if l.volatile || d.Answer == nil || d.SaysNothingNew() { // what lives for one run keeps no heads
		return true, nil
	}
	return l.heads.knows(&was, d.Answer), nil
}
