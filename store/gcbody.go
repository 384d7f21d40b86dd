// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"

	"mirrord/store/record"
)

// forgetBodies takes the bodies away from records that are no part of the mirror: nothing refers to them.
// Those of older versions are in the history.
func (s *compactor) forgetBodies() error {
	if idle, err := s.idle(); !idle || err != nil {
		return err
	}
	err := s.each(bResources, decoded(func(r *record.Resource) error {
		if some, _ := forgetBody(r); some {
			return errPassed
		}
		return nil
	}))
	if err != errPassed {
		return err
	}
	for next := []byte{}; next != nil; {
		err := s.update("forget bodies", func(tx *transaction) (err error) {
			next, err = bucketOf{name: bResources}.rewrite(tx, next, s.moveItems, forgetBody)
			return err
		})
		if err != nil {
			return err
		}
		s.dropPages()
		s.at("bodies forgotten")
	}
	return nil
}

// forgetBody takes the body away from the record of a URL that is no part of the mirror.
func forgetBody(r *record.Resource) (changed bool, err error) {
	if r.InSet || r.Body == record.NoBody {
		return false, nil
	}
	r.Body, r.At, r.Digest, r.ETag, r.LastModified, r.Head = record.NoBody, record.Place{}, [32]byte{}, "", "",
		record.HeadPlace{}
	return true, nil
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
func (s *Records) bodied(ctx context.Context, f func(r *record.Resource, pinned bool) error) error {
	err := s.every(func(r *record.Resource) error {
		if err := ctx.Err(); err != nil || r.Body == record.NoBody {
			return err
		}
		return f(r, false)
	})
	if err != nil {
		return err
	}
	return s.Replay(func(uint32, record.NewURL) error {
		return ctx.Err()
	}, func(r *record.Resource, _ []byte, _ bool) error {
		if r.Body == record.NoBody {
			return nil
		}
		return f(r, true)
	})
}
