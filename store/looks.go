// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"mirrord/internal/binread"
	"mirrord/site"
)

// A look is a set of URLs that a run requested and that all answered that they are as they were. It
// takes the place of their records, which would differ from the stored ones in nothing else: a run in which
// nothing changed writes what it looked at as a few sets. Readers apply looks to the records. A record has
// the number of the run up to which it is right by itself, so that no look counts twice.
//
// The journal has the looks of an unfinished run, each batch its own. Fold joins them, and SettleLooks writes
// them into the records by and by.
type look struct {
	run   int
	whole bool  // the bodies came again, and were the same: answers 200 and not 304
	time  int64 // Unix seconds of the first answer
	ids   IDs
}

// lookWhole is added to the number of the run of a look whose bodies came again.
const lookWhole = 1 << 32

// lookGrain is how many seconds after the first answer of a look others may join it: Resource.Checked is
// right to so many seconds, and never too late.
const lookGrain = 60

// looked makes a record one that a run has looked at and found as it was.
func (r *Resource) looked(l *look) {
	r.Outcome, r.Status, r.Reason, r.Failures, r.Gone = site.Unchanged, http.StatusNotModified, "", 0, 0
	if l.whole {
		r.Status = http.StatusOK
	}
	r.Run, r.Checked = l.run, l.time
	r.Observe(false)
}

// append writes a look.
func (l *look) append(b []byte) []byte {
	run := uint64(l.run)
	if l.whole {
		run += lookWhole
	}
	b = binary.AppendUvarint(b, run)
	b = binary.AppendUvarint(b, uint64(l.time))
	return l.ids.append(b)
}

func readLook(d *binread.Reader) (l look) {
	run := d.Uvarint()
	l.run, l.whole, l.time = int(run&(lookWhole-1)), run >= lookWhole, int64(d.Uvarint())
	l.ids = readIDs(d)
	return l
}

// join adds a look to those of earlier ones; the last of its kind takes it in when both are of one run and of
// about the same time.
func join(looks []look, l look) []look {
	for i := len(looks) - 1; i >= 0 && i >= len(looks)-2; i-- {
		last := &looks[i]
		fits := last.run == l.run && last.whole == l.whole
		if fits && l.time >= last.time && l.time-last.time <= lookGrain {
			last.ids = last.ids.union(l.ids)
			return looks
		}
	}
	return append(looks, l)
}

// union returns the numbers of both sets.
func (s IDs) union(o IDs) IDs {
	out := make(IDs, 0, len(s)+len(o))
	for len(s) > 0 || len(o) > 0 {
		if len(s) == 0 || (len(o) > 0 && o[0].First < s[0].First) {
			s, o = o, s
		}
		x := s[0]
		s = s[1:]
		if n := len(out); n > 0 && uint64(x.First) <= uint64(out[n-1].Last)+1 {
			out[n-1].Last = max(out[n-1].Last, x.Last)
			continue
		}
		out = append(out, x)
	}
	return out
}

// setOf makes a set of numbers in any order.
func setOf(ids []uint32) (s IDs) {
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		s.Add(id)
	}
	return s
}

// looks are the looks of a site. Reading is safe for concurrent use.
type looks struct {
	*home
	heads   *headFiles
	written idBits     // numbers of the records in the journal; nil: not known yet
	mu      sync.Mutex // of what follows
	known   bool
	seqs    [2]uint64 // of their bucket, and of the journal
	list    []look
}

// apply updates a record, and reports whether a look did so.
func apply(list []look, r *Resource) (changed bool) {
	if !r.InSet || r.Body == NoBody {
		return false // it was taken out since
	}
	for i := range list {
		if l := &list[i]; l.run > r.Run && l.ids.Has(r.ID) {
			r.looked(l)
			changed = true
		}
	}
	return changed
}

// folded returns the looks of the runs before, for who only reads also those of the journal. The
// result must not be changed.
func (l *looks) folded(tx *transaction) ([]look, error) {
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
func (l *looks) joinJournal(list []look) ([]look, error) {
	own := len(list) // the earlier ones are shared
	var b batch
	err := l.batches(func(_ uint64, v []byte) error {
		if err := b.decode(v); err != nil {
			return err
		}
		for _, one := range b.looks {
			list = append(list[:own:own], join(list[own:], one)...)
		}
		return nil
	})
	return list, err
}

func readLooks(b *bucket) (list []look, err error) {
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		d := binread.Reader{Rest: v}
		l := readLook(&d)
		if d.Bad || len(d.Rest) > 0 {
			return nil, fmt.Errorf("looks %x: %w", k, errValue)
		}
		list = append(list, l)
	}
	return list, nil
}

// all returns also what the journal of the unfinished run has.
func (l *looks) all() (list []look, err error) {
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
func addLooks(b *bucket, news []look) error {
	if len(news) == 0 {
		return nil
	}
	k, v := b.Cursor().Last()
	var list []look
	if k != nil {
		d := binread.Reader{Rest: v}
		if list = []look{readLook(&d)}; d.Bad {
			return fmt.Errorf("looks %x: %w", k, errValue)
		}
	}
	k = slices.Clone(k)
	for _, l := range news {
		list = join(list, l)
	}
	for i := range list {
		n, err := b.NextSequence() // also of one that is written again: readers see by it that there is more
		if err != nil {
			return err
		}
		if i > 0 || k == nil {
			k = seqKey(n)
		}
		if err := b.Put(k, list[i].append(nil)); err != nil {
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
		if n := len(l.ids); n > 0 && l.ids[n-1].Last >= v.known {
			v.problem(BadDatabase, fmt.Sprintf("looks of run %d", l.run), "URL number %d of %d",
				l.ids[n-1].Last, v.known)
		}
	}
	return v.ctx.Err()
}
