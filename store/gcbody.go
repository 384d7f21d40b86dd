// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"slices"
)

// forgetBodies takes the bodies away from records that are no part of the mirror: nothing refers to them.
// Those of older versions are in the history.
func (s *compactor) forgetBodies() error {
	if idle, err := s.idle(); !idle || err != nil {
		return err
	}
	var next []byte
	for done := false; !done; {
		var keys, values [][]byte
		err := s.db.View(func(tx *transaction) error {
			c := tx.Bucket(bResources).Cursor()
			k, v := c.Seek(next)
			for n := 0; k != nil && n < viewChunk; n++ {
				changed, err := withoutBody(k, v)
				if err != nil {
					return err
				}
				if changed != nil {
					keys, values = append(keys, slices.Clone(k)), append(values, changed)
				}
				k, v = c.Next()
			}
			next, done = slices.Clone(k), k == nil
			return nil
		})
		if err != nil {
			return err
		}
		s.dropPages()
		if len(keys) == 0 {
			continue
		}
		err = s.update("forget bodies", func(tx *transaction) error {
			b := tx.Bucket(bResources)
			for i, k := range keys {
				if err := b.Put(k, values[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		s.at("bodies forgotten")
	}
	return nil
}

// withoutBody returns the record of a URL that is no part of the mirror without its body, nil when it is to
// stay as it is.
func withoutBody(k, v []byte) ([]byte, error) {
	u, err := urlOfKey(k)
	if err != nil {
		return nil, err
	}
	var r Resource
	if err := r.decode(u, v); err != nil {
		return nil, err
	}
	if r.InSet || r.Body == NoBody {
		return nil, nil
	}
	r.Body, r.At, r.Digest, r.ETag, r.LastModified, r.Head = NoBody, Place{}, [32]byte{}, "", "", HeadPlace{}
	return r.append(nil), nil
}

// idle reports whether no run is unfinished.
func (s *compactor) idle() (idle bool, err error) {
	err = s.db.View(func(tx *transaction) error {
		idle = s.db.journal.last() == 0 && tx.Bucket(bMeta).Get(kRun) == nil
		return nil
	})
	return idle, err
}

// bodied calls f for every record that has a body, from the buckets and the journal; pinned reports that
// it is of the journal. f must not keep r.
func (s *Records) bodied(ctx context.Context, f func(r *Resource, pinned bool) error) error {
	var r Resource
	record := func(k, v []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(v) == 0 {
			return nil
		}
		u, err := urlOfKey(k)
		if err == nil {
			err = r.decode(u, v)
		}
		if err != nil || r.Body == NoBody {
			return err
		}
		return f(&r, false)
	}
	if err := s.each(bResources, record); err != nil {
		return err
	}
	err := s.each(bHistory, func(k, v []byte) error {
		if len(k) < 8 {
			return fmt.Errorf("history: %w: key %x", errValue, k)
		}
		return record(k[8:], v)
	})
	if err != nil {
		return err
	}
	return s.Replay(func(uint32, NewURL) error { return ctx.Err() }, func(r *Resource, _ []byte, _ bool) error {
		if r.Body == NoBody {
			return nil
		}
		return f(r, true)
	})
}
