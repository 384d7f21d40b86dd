// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"

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

// Span is a run of URL numbers, both ends included.
type Span struct{ First, Last uint32 }

// IDs is a set of URL numbers, as ascending spans that do not touch.
type IDs []Span

// Add adds a number that is larger than all in the set.
func (s *IDs) Add(id uint32) {
	if n := len(*s); n > 0 && id > 0 && (*s)[n-1].Last == id-1 {
		(*s)[n-1].Last = id
		return
	}
	*s = append(*s, Span{id, id})
}

// Len is how many numbers the set has.
func (s IDs) Len() (n int) {
	for _, x := range s {
		n += int(x.Last-x.First) + 1
	}
	return n
}

// Has reports whether the set has a number.
func (s IDs) Has(id uint32) bool {
	for lo, hi := 0, len(s); lo < hi; {
		switch m := (lo + hi) / 2; {
		case id < s[m].First:
			hi = m
		case id > s[m].Last:
			lo = m + 1
		default:
			return true
		}
	}
	return false
}

// All yields the numbers, ascending.
func (s IDs) All() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for _, x := range s {
			for id := x.First; ; id++ {
				if !yield(id) {
					return
				}
				if id == x.Last {
					break
				}
			}
		}
	}
}

// append writes the number of spans, and for each the gap to the one before and, for a span of several
// numbers, its length: a gap of up to 63 to a single number is one byte, of up to 8191 two.
func (s IDs) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	next := uint64(0)
	for _, x := range s {
		gap := (uint64(x.First) - next) << 1
		if x.Last > x.First {
			gap |= 1
		}
		b = binary.AppendUvarint(b, gap)
		if x.Last > x.First {
			b = binary.AppendUvarint(b, uint64(x.Last-x.First))
		}
		next = uint64(x.Last) + 1
	}
	return b
}

// readIDs reads what append wrote.
func readIDs(d *binread.Reader) (s IDs) {
	n := d.Uvarint()
	if n > uint64(len(d.Rest)) {
		d.Fail()
		return nil
	}
	next := uint64(0)
	for ; n > 0 && !d.Bad; n-- {
		gap := d.Uvarint()
		first := next + gap>>1
		last := first
		if gap&1 != 0 {
			last += d.Uvarint()
		}
		if first > math.MaxUint32 || last > math.MaxUint32 || last < first {
			d.Bad = true
			return nil
		}
		s = append(s, Span{uint32(first), uint32(last)})
		next = last + 1
	}
	return s
}

const observationVersion = 1

// Flags of an observation.
const (
	ofComplete = 1 << iota
	ofDoubtful
)

func (o *Observation) append(b []byte) []byte {
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

func (o *Observation) decode(run int, b []byte) error {
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
		return fmt.Errorf("observations of run %d: %w: short value", run, errValue)
	}
	return nil
}

// AddObservation keeps what a run has observed. A run that is resumed writes it again, with all that it has
// observed since it began.
func (s *Records) AddObservation(o *Observation) error {
	v := o.append(nil)
	return s.update("write observations", func(tx *transaction) error {
		return tx.Bucket(bObserved).Put(seqKey(uint64(o.Run)), v)
	})
}

// Observations calls f for what every run has observed, oldest first. f must not keep o.
func (s *Records) Observations(f func(o *Observation) error) error {
	var o Observation
	return s.each(bObserved, func(k, v []byte) error {
		if len(k) != 8 {
			return fmt.Errorf("observations: %w: key %q", errValue, k)
		}
		if err := o.decode(int(binary.BigEndian.Uint64(k)), v); err != nil {
			return err
		}
		return f(&o)
	})
}

// observations checks what runs have observed: numbers that were given, and no change of what was not
// requested.
func (v *verifier) observations() error {
	return v.s.Records.Observations(func(o *Observation) error {
		subject := fmt.Sprintf("observations of run %d", o.Run)
		for _, s := range [...]IDs{o.Asked, o.Spared, o.Changed, o.Entered, o.Left, o.Audited} {
			if n := len(s); n > 0 && s[n-1].Last >= v.known {
				v.problem(BadDatabase, subject, "URL number %d of %d", s[n-1].Last, v.known)
				return v.ctx.Err() // sets that are wrong may have four billion numbers
			}
		}
		for id := range o.Changed.All() {
			if !o.Asked.Has(id) {
				v.problem(BadDatabase, subject, "URL number %d changed without a request", id)
				break
			}
		}
		return v.ctx.Err()
	})
}
