// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"net/http"

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
