// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"slices"

	"mirrord/store/record"
)

// UsedBodies calls f for each body that is published as it came and that a record, a kept version or the
// unfinished run refers to, in order of digests.
func UsedBodies(ctx context.Context, s *Records, f func(digest [32]byte) error) error {
	var used [][32]byte
	err := s.Bodied(ctx, func(r *record.Resource, _ bool) error {
		if r.Body == record.BlobBody {
			used = append(used, r.Digest)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(used, func(a, b [32]byte) int { return slices.Compare(a[:], b[:]) })
	for _, digest := range slices.Compact(used) {
		if err := f(digest); err != nil {
			return err
		}
	}
	return nil
}

// Needed is what of a site must be here at once: for its published tree, and for the next run.
type Needed struct {
	LastPack uint32 // to which frames are appended
	Places   []record.Place
	Bodies   map[[32]byte]bool // that are published as they came
}

// NeededNow finds what the records that are part of the mirror, and the unfinished run, refer to. What that
// is over, if it is a delta, only who reads it knows.
func NeededNow(ctx context.Context, s *Records) (*Needed, error) {
	n := &Needed{Bodies: map[[32]byte]bool{}}
	add := func(r *record.Resource) error {
		switch r.Body {
		case record.PackBody:
			n.Places = append(n.Places, r.At)
		case record.BlobBody:
			n.Bodies[r.Digest] = true
		}
		return ctx.Err()
	}
	err := s.Resources(func(r *record.Resource) error {
		if !r.InSet {
			return nil
		}
		return add(r)
	})
	if err != nil {
		return nil, err
	}
	err = s.Replay(func(uint32, record.NewURL) error { return ctx.Err() },
		func(r *record.Resource, _ []byte, _ bool) error { return add(r) })
	if err != nil {
		return nil, err
	}
	slices.SortFunc(n.Places, record.Place.Compare)
	n.LastPack, _, err = s.PacksEnd()
	return n, err
}
