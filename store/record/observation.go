// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/binary"
	"fmt"

	"mirrord/internal/binread"
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
}

const observationVersion = 1

// Flags of an observation.
const (
	ofComplete = 1 << iota
	ofDoubtful
)

func (o *Observation) Append(b []byte) []byte {
	var flags byte
	if o.Complete {
		flags = ofComplete
	}
	if o.Doubtful {
		flags |= ofDoubtful
	}
	b = append(b, observationVersion, flags)
	b = binary.AppendUvarint(b, uint64(o.Time))
	b = binary.AppendUvarint(b, uint64(o.Version))
	for _, s := range [...]IDs{o.Asked, o.Spared, o.Changed, o.Entered, o.Left} {
		b = s.append(b)
	}
	if len(o.Audited) > 0 { // the first releases did not write it
		b = o.Audited.append(b)
	}
	return b
}

func (o *Observation) Decode(run int, b []byte) error {
	d := binread.Reader{Rest: b}
	*o = Observation{Run: run}
	if v := d.Byte(); v != observationVersion && !d.Bad {
		return fmt.Errorf("observations of run %d: format %d: %w", run, v, ErrNewerFormat)
	}
	flags := d.Byte()
	o.Complete, o.Doubtful = flags&ofComplete != 0, flags&ofDoubtful != 0
	o.Time, o.Version = int64(d.Uvarint()), int(d.Uvarint())
	for _, s := range [...]*IDs{&o.Asked, &o.Spared, &o.Changed, &o.Entered, &o.Left} {
		*s = readIDs(&d)
	}
	if len(d.Rest) > 0 {
		o.Audited = readIDs(&d)
	}
	if d.Bad {
		return fmt.Errorf("observations of run %d: %w: short value", run, ErrValue)
	}
	return nil
}
