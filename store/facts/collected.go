// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"errors"

	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/store/record"
)

// BeginPack implements collect.Records.
func (s *Records) BeginPack() error { return s.Update("begin pack", notePacks(s.frames.Packs)) }

// BeginHeads implements collect.Records.
func (s *Records) BeginHeads(last uint32) (before uint32, err error) {
	err = s.Update("begin heads", func(tx *db.Tx) error {
		if err := errors.Join(s.beginHeads(tx), s.flushHeads(tx)); err != nil {
			return err
		}
		before, err = s.heads.Skip(last)
		return err
	})
	return before, err
}

// MoveHeads implements collect.Records.
func (s *Records) MoveHeads(move func(r *record.Resource, now record.HeadPlace) (bool, error)) error {
	change := func(tx *db.Tx, b bucketOf, r *record.Resource) (bool, error) {
		var now record.Resource
		if b.prefix > 0 { // what the URL has now was moved before
			if v := tx.Bucket(home.Resources).Get(r.URL.Key(nil)); v != nil && now.Decode(r.URL, v) != nil {
				now = record.Resource{}
			}
		}
		return move(r, now.Head)
	}
	return s.rewrite("move heads", recordBuckets(), change, s.flushHeads)
}

// ForgetBodies takes the bodies away from records that are no part of the mirror: nothing refers to them.
// Those of older versions are in the history.
func (s *Records) ForgetBodies() error {
	if idle, err := s.isIdle(); !idle || err != nil {
		return err
	}
	err := s.Each(home.Resources, decoded(func(r *record.Resource) error {
		if forgetBody(r) {
			return errPassed
		}
		return nil
	}))
	if err != errPassed {
		return err
	}
	forget := func(_ *db.Tx, _ bucketOf, r *record.Resource) (bool, error) { return forgetBody(r), nil }
	return s.rewrite("forget bodies", recordBuckets()[:1], forget, nil)
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

// isIdle reports whether no run is unfinished.
func (s *Records) isIdle() (idle bool, err error) {
	err = s.DB.View(func(tx *db.Tx) error {
		idle = s.DB.Journal.Last() == 0 && tx.Meta().Get(home.KeyRun) == nil
		return nil
	})
	return idle, err
}

// Bodied implements collect.Records.
func (s *Records) Bodied(ctx context.Context, f func(r *record.Resource, pinned bool) error) error {
	err := s.Every(func(r *record.Resource) error {
		if err := ctx.Err(); err != nil || r.Body == record.NoBody {
			return err
		}
		return f(r, false)
	})
	if err != nil {
		return err
	}
	return s.Replay(nil, func(r *record.Resource, _ []byte, _ bool) error {
		if err := ctx.Err(); err != nil || r.Body == record.NoBody {
			return err
		}
		return f(r, true)
	})
}
