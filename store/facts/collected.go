// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"errors"
	"fmt"

	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/store/record"
)

// CollectedRecords is the records of a site for a collection of its documents and heads: collect.Records.
type CollectedRecords struct{ *Records }

func (s CollectedRecords) BeginPack() error { return s.Update("begin pack", s.notePacks) }

func (s CollectedRecords) BeginHeads(last uint32) error {
	return s.Update("begin heads", func(tx *db.Tx) error {
		if err := errors.Join(s.heads.Begin(tx.Meta().Get(home.KeyHeads)), s.flushHeads(tx)); err != nil {
			return err
		}
		return s.heads.Skip(last)
	})
}

func (s CollectedRecords) MoveHeads(move func(r *record.Resource, now record.HeadPlace) (bool, error)) error {
	change := func(tx *db.Tx, past bool, r *record.Resource) (bool, error) {
		var now record.Resource
		if past { // what the URL has now was moved before
			if v := tx.Bucket(home.Resources).Get(r.URL.Key(nil)); v != nil && now.Decode(r.URL, v) != nil {
				now = record.Resource{}
			}
		}
		return move(r, now.Head)
	}
	return s.rewrite("move heads", true, change, s.flushHeads)
}

func (s CollectedRecords) Repoint(where func(record.Place) (to record.Place, moved bool, err error)) error {
	change := func(_ *db.Tx, _ bool, r *record.Resource) (moved bool, err error) {
		if r.Body != record.PackBody {
			return false, nil
		}
		if r.At, moved, err = where(r.At); err != nil {
			err = fmt.Errorf("the document of %s: %w", r.URL, err)
		}
		return moved, err
	}
	return s.rewrite("move documents", true, change, s.notePacks)
}

// ForgetBodies takes the bodies away from records that are no part of the mirror: nothing refers to them.
// Those of older versions are in the history.
func (s CollectedRecords) ForgetBodies() error {
	run, err := s.Meta(home.KeyRun)
	if err != nil || run != nil || s.DB.Journal.Now().Last() > 0 {
		return err
	}
	err = s.Each(home.Resources, decoded(func(r *record.Resource) error {
		if forgetBody(r) {
			return errPassed
		}
		return nil
	}))
	if err != errPassed {
		return err
	}
	forget := func(_ *db.Tx, _ bool, r *record.Resource) (bool, error) { return forgetBody(r), nil }
	return s.rewrite("forget bodies", false, forget, nil)
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

func (s *Records) Bodied(ctx context.Context, f func(r *record.Resource, pinned bool) error) error {
	pinned := false
	report := func(r *record.Resource) error {
		if err := ctx.Err(); err != nil || r.Body == record.NoBody {
			return err
		}
		return f(r, pinned)
	}
	if err := s.Every(report); err != nil {
		return err
	}
	pinned = true
	return s.Replay(nil, func(r *record.Resource, _ []byte, _ bool) error { return report(r) })
}

func (s CollectedRecords) flushHeads(tx *db.Tx) error {
	note, err := s.heads.Flush()
	if err != nil || note == nil {
		return err
	}
	return tx.Meta().Put(home.KeyHeads, note)
}
