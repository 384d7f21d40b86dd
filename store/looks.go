// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"slices"
	"sync"

	"mirrord/internal/binread"
	"mirrord/store/record"
)

// looks are the looks of a site. Reading is safe for concurrent use.
type looks struct {
	*home
	heads   *headFiles
	written record.Bits // numbers of the records in the journal; nil: not known yet
	mu      sync.Mutex  // of what follows
	known   bool
	seqs    [2]uint64 // of their bucket, and of the journal
	list    []record.Look
}

// folded returns the looks of the runs before, for who only reads also those of the journal. The
// result must not be changed.
func (l *looks) folded(tx *transaction) ([]record.Look, error) {
	b := tx.Bucket(bLooks)
	if b == nil {
		return nil, nil // of an older format
	}
	seqs := [2]uint64{b.Sequence(), 0}
	if l.readOnly {
		seqs[1] = l.db.journal.last()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known && l.seqs == seqs {
		return l.list, nil
	}
	list, err := readLooks(b)
	if (err == nil) && l.readOnly {
		list, err = l.joinJournal(list)
	}
	if err != nil {
		return nil, err
	}
	l.known, l.seqs, l.list = true, seqs, list
	return list, nil
}

// joinJournal adds the looks of the journal to those of earlier runs.
func (l *looks) joinJournal(list []record.Look) ([]record.Look, error) {
	own := len(list) // the earlier ones are shared
	var b record.LogBatch
	err := l.batches(func(_ uint64, v []byte) error {
		if err := b.Decode(v); err != nil {
			return err
		}
		for _, one := range b.Looks {
			list = append(list[:own:own], record.JoinLooks(list[own:], one)...)
		}
		return nil
	})
	return list, err
}

func readLooks(b *bucket) (list []record.Look, err error) {
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		d := binread.Reader{Rest: v}
		l := record.ReadLook(&d)
		if d.Bad || len(d.Rest) > 0 {
			return nil, fmt.Errorf("looks %x: %w", k, record.ErrValue)
		}
		list = append(list, l)
	}
	return list, nil
}

// all returns also what the journal of the unfinished run has.
func (l *looks) all() (list []record.Look, err error) {
	err = l.db.View(func(tx *transaction) (err error) {
		list, err = l.folded(tx)
		return err
	})
	if err != nil || l.readOnly {
		return list, err
	}
	return l.joinJournal(list)
}

// addLooks keeps the looks of a journal.
func addLooks(b *bucket, news []record.Look) error {
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
			k = seqKey(n)
		}
		if err := b.Put(k, list[i].Append(nil)); err != nil {
			return err
		}
	}
	return nil
}

// looks checks what runs have looked at: numbers that were given.
func (v *verifier) looks() error {
	list, err := v.s.Records.looks.all()
	if err != nil {
		v.problem(BadDatabase, "looks", "%v", err)
		return nil
	}
	for _, l := range list {
		if n := len(l.IDs); n > 0 && l.IDs[n-1].Last >= v.known {
			v.problem(BadDatabase, fmt.Sprintf("looks of run %d", l.Run), "URL number %d of %d",
				l.IDs[n-1].Last, v.known)
		}
	}
	return v.ctx.Err()
}
