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
		if forgetBody(r) {
			return errPassed
		}
		return nil
	}))
	if err != errPassed {
		return err
	}
	forget := func(_ *transaction, _ bucketOf, r *record.Resource) (bool, error) { return forgetBody(r), nil }
	return s.Records.rewrite("forget bodies", recordBuckets()[:1], forget, nil)
}

// forgetBody takes the body away from the record of a URL that is no part of the mirror.
func forgetBody(r *record.Resource) (changed bool) {
	if r.InSet || r.Body == record.NoBody {
		return false
	}
	r.Body, r.At, r.Digest, r.ETag, r.LastModified, r.Head = record.NoBody, record.Place{}, [32]byte{}, "", "",
		record.HeadPlace{}
	return true
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
