// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"net/http"

	"mirrord/internal/binread"
	"mirrord/site"
)

// Observation is what one run has looked at and what it found. A URL in none of its sets was not
// observed, which is not the same as unchanged.
type Observation struct {
	Run      int
	Time     int64 // Unix seconds at the end of the run
	Version  int   // of the mirror that the run worked for
	Complete bool  // all requests were made, and the result was published or was published already
	Doubtful bool  // the run was suspicious: what it found may be an error of the site, and was not published

	Asked   IDs // answered by the site: as it was, changed, entered, left, or still not part of the mirror
	Spared  IDs // unchanged by evidence: a listing, a sitemap, a lifetime
	Changed IDs // in the mirror before and after, with another body
	Entered IDs // not in the mirror before
	Left    IDs // no longer in the mirror
	Audited IDs // of Asked: to check evidence or a rule that said they need not be
	Joined  IDs // one with another URL from now on, and no longer counted: no change
}

const observationVersion = 1

func (o *Observation) Append(b []byte) []byte { return written(append(b, observationVersion), o.code) }

func (o *Observation) code(c *coder) {
	c.flags(0, &o.Complete, &o.Doubtful)
	numbers(c, &o.Time)
	numbers(c, &o.Version)
	for _, s := range [...]*IDs{&o.Asked, &o.Spared, &o.Changed, &o.Entered, &o.Left} {
		s.code(c)
	}
	// the first releases did not write the last ones
	if (c.reads && len(c.Rest) > 0) || len(o.Audited)+len(o.Joined) > 0 {
		o.Audited.code(c)
	}
	if (c.reads && len(c.Rest) > 0) || len(o.Joined) > 0 {
		o.Joined.code(c)
	}
}

func (o *Observation) Decode(run int, b []byte) error {
	d := binread.Reader{Rest: b}
	*o = Observation{Run: run}
	if v := d.Byte(); v != observationVersion && !d.Bad {
		return fmt.Errorf("observations of run %d: format %d: %w", run, v, ErrNewerFormat)
	}
	if read(&d, o.code); d.Bad {
		return fmt.Errorf("observations of run %d: %w: short value", run, ErrValue)
	}
	return nil
}

// A look is a set of URLs that a run requested and that all answered that they are as they were. It
// takes the place of their records, which would differ from the stored ones in nothing else: a run in which
// nothing changed writes what it looked at as a few sets. Readers apply looks to the records. A record has
// the number of the run up to which it is right by itself, so that no look counts twice. The journal has the
// looks of an unfinished run; Fold joins them, and SettleLooks writes them into the records by and by.
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

func (l *Look) Append(b []byte) []byte { return written(b, l.code) }

func (l *Look) code(c *coder) {
	run := uint64(l.Run)
	if l.Whole {
		run += lookWhole
	}
	if numbers(c, &run); c.reads {
		l.Run, l.Whole = int(run&(lookWhole-1)), run >= lookWhole
	}
	numbers(c, &l.Time)
	l.IDs.code(c)
}

func ReadLook(d *binread.Reader) (l Look) {
	read(d, l.code)
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
