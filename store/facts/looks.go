// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"mirrord/internal/binread"
	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/store/record"
)

// looks are the looks of a site. Reading is safe for concurrent use.
type looks struct {
	*home.Folder
	heads   *bodies.HeadFiles
	written record.Bits // numbers of the records in the journal; nil: not known yet
	mu      sync.Mutex  // of what follows
	known   bool
	seqs    [2]uint64 // of their bucket, and of the journal
	list    []record.Look
}

// folded returns the looks of the runs before, for who only reads also those of the journal. The
// result must not be changed.
func (l *looks) folded(tx *db.Tx) ([]record.Look, error) {
	b := tx.Bucket(home.Looks)
	if b == nil {
		return nil, nil // of an older format
	}
	seqs := [2]uint64{b.Sequence(), 0}
	if l.ReadOnly {
		seqs[1] = l.DB.Journal.Now().Last()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known && l.seqs == seqs {
		return l.list, nil
	}
	var list []record.Look
	for k, v := range b.From(nil) {
		d := binread.Reader{Rest: v}
		look := record.ReadLook(&d)
		if d.Bad || len(d.Rest) > 0 {
			return nil, fmt.Errorf("looks %x: %w", k, record.ErrValue)
		}
		list = append(list, look)
	}
	if l.ReadOnly {
		var err error
		if list, err = l.joinJournal(list); err != nil {
			return nil, err
		}
	}
	l.known, l.seqs, l.list = true, seqs, list
	return list, nil
}

func (l *looks) joinJournal(list []record.Look) ([]record.Look, error) {
	own := len(list) // the earlier ones are shared
	err := l.Batches(func(_ uint64, b *record.LogBatch) error {
		for _, one := range b.Looks {
			list = append(list[:own:own], record.JoinLooks(list[own:], one)...)
		}
		return nil
	})
	return list, err
}

// Looks are all looks that are not in the records yet.
func (s *Records) Looks() ([]record.Look, error) { return s.looks.all() }

// all returns also what the journal of the unfinished run has.
func (l *looks) all() (list []record.Look, err error) {
	err = l.DB.View(func(tx *db.Tx) (err error) {
		list, err = l.folded(tx)
		return err
	})
	if err != nil || l.ReadOnly {
		return list, err
	}
	return l.joinJournal(list)
}

func addLooks(b *db.Bucket, news []record.Look) error {
	if len(news) == 0 {
		return nil
	}
	k, v := b.Cursor().Last()
	var list []record.Look
	if k != nil {
		d := binread.Reader{Rest: v}
		if list = []record.Look{record.ReadLook(&d)}; d.Bad {
			return fmt.Errorf("looks %x: %w", k, record.ErrValue)
		}
	}
	k = slices.Clone(k)
	for _, l := range news {
		list = record.JoinLooks(list, l)
	}
	for i := range list {
		n, err := b.NextSequence() // also of one that is written again: readers see by it that there is more
		if err != nil {
			return err
		}
		if i > 0 || k == nil {
			k = db.NumberKey(n)
		}
		if err := b.Put(k, list[i].Append(nil)); err != nil {
			return err
		}
	}
	return nil
}

// split takes the looks out of a batch. A URL of which the journal has a record is in none: the record
// would count, and not the look.
func (l *looks) split(done []*record.Done) (rest []*record.Done, out []record.Look, err error) {
	if err := l.readWritten(); err != nil {
		return nil, nil, err
	}
	var ids [2][]uint32
	kinds := [2]record.Look{1: {Whole: true}}
	err = l.DB.View(func(tx *db.Tx) error {
		list, err := l.folded(tx)
		if err != nil {
			return err
		}
		stored := tx.Bucket(home.Resources)
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
	return l.Batches(func(_ uint64, b *record.LogBatch) error {
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
func (l *looks) isLook(stored *db.Bucket, d *record.Done, list []record.Look) (bool, error) {
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
	if l.Volatile || d.Answer == nil || d.SaysNothingNew() { // what lives for one run keeps no heads
		return true, nil
	}
	return l.heads.Knows(&was, d.Answer), nil
}

// maxLooked is how many runs may be kept as looks before their records are written.
const maxLooked = 24

// SettleLooks writes what runs have looked at into the records, once more than a few runs are kept as looks.
// It is called at the end of a run.
func (s *Records) SettleLooks() error { return s.settle(maxLooked) }

// settle writes all looks into the records when they are of more than some runs. A record says itself which
// looks it has: a crash in between is harmless.
func (s *Records) settle(most int) error {
	var list []record.Look
	err := s.DB.View(func(tx *db.Tx) (err error) {
		list, err = s.looks.folded(tx)
		return err
	})
	runs := map[int]bool{}
	for _, l := range list {
		runs[l.Run] = true
	}
	if err != nil || len(runs) <= most {
		return err
	}
	apply := func(tx *db.Tx, _ bool, r *record.Resource) (bool, error) {
		tx.DeferSync()
		return record.ApplyLooks(list, r), nil
	}
	if err := s.rewrite("settle looks", false, apply, nil); err != nil {
		return err
	}
	return s.Update("settle looks", func(tx *db.Tx) error {
		b := tx.Bucket(home.Looks)
		_, err := b.NextSequence()
		return errors.Join(err, b.Clear())
	})
}
