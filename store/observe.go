// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"fmt"

	"mirrord/store/record"
)

// AddObservation keeps what a run has observed. A run that is resumed writes it again, with all that it has
// observed since it began.
func (s *Records) AddObservation(o *record.Observation) error {
	v := o.Append(nil)
	return s.update("write observations", func(tx *transaction) error {
		return tx.Bucket(bObserved).Put(seqKey(uint64(o.Run)), v)
	})
}

// Observations calls f for what every run has observed, oldest first. f must not keep o.
func (s *Records) Observations(f func(o *record.Observation) error) error {
	var o record.Observation
	return s.each(bObserved, func(k, v []byte) error {
		if len(k) != 8 {
			return fmt.Errorf("observations: %w: key %q", record.ErrValue, k)
		}
		if err := o.Decode(int(binary.BigEndian.Uint64(k)), v); err != nil {
			return err
		}
		return f(&o)
	})
}

// observations checks what runs have observed: numbers that were given, and no change of what was not
// requested.
func (v *verifier) observations() error {
	return v.s.Records.Observations(func(o *record.Observation) error {
		subject := fmt.Sprintf("observations of run %d", o.Run)
		for _, s := range [...]record.IDs{o.Asked, o.Spared, o.Changed, o.Entered, o.Left, o.Audited} {
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
