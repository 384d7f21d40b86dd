// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"math"
	"slices"

	"mirrord/internal/binread"
	"mirrord/store/record"
)

// maxLooked is how many runs may be kept as looks before their records are written, and lookedPart the part
// of the records that one run then writes.
const (
	maxLooked  = 24
	lookedPart = 8
)

// settling is how far SettleLooks has come: looks up to a run are in the records in front of a key.
type settling struct {
	run  int
	next []byte
}

func readSettling(m *bucket) (s settling, ok bool) {
	v := m.Get(kLooked)
	if len(v) < 8 {
		return s, false
	}
	return settling{run: int(binary.BigEndian.Uint64(v)), next: slices.Clone(v[8:])}, true
}

// settleAll writes all looks into the records.
func (l *looks) settleAll(chunk int) error {
	for range 2 { // the second time what came in after a cycle had begun
		if err := l.settle(chunk, math.MaxInt, 0); err != nil {
			return err
		}
	}
	return nil
}

// settle changes so many records, chunk in a transaction, when there are looks of more than some runs.
func (l *looks) settle(chunk, records, runs int) error {
	for more := true; more && records > 0; {
		n := min(records, chunk)
		records -= n
		err := l.update("settle looks", func(tx *transaction) (err error) {
			tx.later = redoLater
			more, err = l.settlePart(tx, n, runs)
			return err
		})
		if err != nil {
			return err
		}
		l.dropPages()
		l.at("settled a part")
	}
	return nil
}

// settlePart changes the next records, and reports whether there are others.
func (l *looks) settlePart(tx *transaction, records, runs int) (more bool, err error) {
	list, err := l.folded(tx)
	if err != nil {
		return false, err
	}
	m := tx.Bucket(bMeta)
	at, begun := readSettling(m)
	if !begun {
		kept, last := runsOf(list)
		if kept <= runs {
			return false, nil
		}
		at.run = last
	}
	next, err := recordBuckets()[0].rewrite(tx, at.next, records, func(r *record.Resource) (bool, error) {
		return record.ApplyLooks(list, r), nil
	})
	if err != nil {
		return false, err
	}
	if next != nil {
		return true, m.Put(kLooked, append(seqKey(uint64(at.run)), next...))
	}
	return false, endSettling(tx, at.run)
}

// runsOf is how many runs looks are of, and the last of these.
func runsOf(list []record.Look) (n, last int) {
	for _, l := range list {
		if l.Run != last {
			n, last = n+1, l.Run
		}
	}
	return n, last
}

// endSettling forgets the looks that all records have.
func endSettling(tx *transaction, run int) error {
	b := tx.Bucket(bLooks)
	if _, err := b.NextSequence(); err != nil {
		return err
	}
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.First() {
		d := binread.Reader{Rest: v}
		if l := record.ReadLook(&d); d.Bad || l.Run > run {
			break
		}
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return tx.Bucket(bMeta).Delete(kLooked)
}
