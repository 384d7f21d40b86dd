// SPDX-License-Identifier: Apache-2.0

package record

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
type Look struct {
	Run   int
	Whole bool  // the bodies came again, and were the same: answers 200 and not 304
	Time  int64 // Unix seconds of the first answer
	IDs   IDs
}

// lookWhole is added to the number of the run of a look whose bodies came again.
const lookWhole = 1 << 32

// lookGrain is how many seconds after the first answer of a look others may join it: Resource.Checked is
// right to so many seconds, and never too late.
const lookGrain = 60

// Looked makes a record one that a run has looked at and found as it was.
func (r *Resource) Looked(l *Look) {
	r.Outcome, r.Status, r.Reason, r.Failures, r.Gone = site.Unchanged, http.StatusNotModified, "", 0, 0
	if l.Whole {
		r.Status = http.StatusOK
	}
	r.Run, r.Checked = l.Run, l.Time
	r.Observe(false)
}

// Append writes a look.
func (l *Look) Append(b []byte) []byte {
	run := uint64(l.Run)
	if l.Whole {
		run += lookWhole
	}
	b = binary.AppendUvarint(b, run)
	b = binary.AppendUvarint(b, uint64(l.Time))
	return l.IDs.append(b)
}

func ReadLook(d *binread.Reader) (l Look) {
	run := d.Uvarint()
	l.Run, l.Whole, l.Time = int(run&(lookWhole-1)), run >= lookWhole, int64(d.Uvarint())
	l.IDs = readIDs(d)
	return l
}

// JoinLooks adds a look to those of earlier ones; the last of its kind takes it in when both are of one run
// and of about the same time.
func JoinLooks(looks []Look, l Look) []Look {
	for i := len(looks) - 1; i >= 0 && i >= len(looks)-2; i-- {
		last := &looks[i]
		fits := last.Run == l.Run && last.Whole == l.Whole
		if fits && l.Time >= last.Time && l.Time-last.Time <= lookGrain {
			last.IDs = last.IDs.union(l.IDs)
			return looks
		}
	}
	return append(looks, l)
}

// ApplyLooks updates a record, and reports whether a look did so.
func ApplyLooks(list []Look, r *Resource) (changed bool) {
	if !r.InSet || r.Body == NoBody {
		return false // it was taken out since
	}
	for i := range list {
		if l := &list[i]; l.Run > r.Run && l.IDs.Has(r.ID) {
			r.Looked(l)
			changed = true
		}
	}
	return changed
}
