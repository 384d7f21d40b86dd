// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"

	"mirrord/store/collect"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
)

// Compact gives the space of documents and heads that nothing refers to back. With dry it only says what it
// would do. No run may be under way. What it was not able to read it leaves where it is.
func (s *Site) Compact(ctx context.Context, dry bool) (c collect.Compaction, err error) {
	defer explain(&err, "compact packs of %s", s.Name)
	if !dry {
		if err := s.Owned(); err != nil {
			return c, err
		}
		if err := forgetBodies(s.Records); err != nil {
			return c, err
		}
	}
	return s.collect(ctx, nil, dry)
}

// Purge is Compact that leaves no byte of documents and heads that nothing refers to, and none of the frames
// of URLs that is names. No record may refer to these. A pack with a document in use that cannot be read
// stays, and is in Compaction.Damaged. The log is begun again.
func (s *Site) Purge(ctx context.Context, is func(url string) bool) (c collect.Compaction, err error) {
	defer explain(&err, "purge packs of %s", s.Name)
	if err := s.Owned(); err != nil {
		return c, err
	}
	gone := map[uint32]bool{}
	err = s.Each(home.Resources, decoded(func(r *record.Resource) error {
		if is(r.URL.String()) {
			gone[r.ID] = true
		}
		return nil
	}))
	if err != nil {
		return c, err
	}
	if c, err = s.collect(ctx, gone, false); err != nil {
		return c, err
	}
	return c, RenewLog(s)
}

func (s *Site) collect(
	ctx context.Context, gone map[uint32]bool, dry bool,
) (c collect.Compaction, err error) {
	w, err := s.compactor(gone)
	if err == nil {
		c, err = w.CompactPacks(ctx, dry)
	}
	if err == nil {
		c.Heads, err = w.CompactHeads(ctx, dry)
	}
	return c, err
}

// WipeFree makes the database of a site again, from a log that is begun again: bbolt leaves what was deleted
// in free pages until it needs these. No run may be under way.
func (s *Site) WipeFree() error {
	if err := RenewLog(s); err != nil {
		return err
	}
	return disk.Err("wipe free pages of "+s.Name, s.DB.Renew())
}

func (s *Site) compactor(gone map[uint32]bool) (*collect.Compactor, error) {
	last, _, err := packsEnd(s.Folder)
	here, _ := s.packs.Where() // of a site that is open for writing
	return collect.New(collect.Holdings{
		Packs:       s.packs,
		Last:        max(last, here),
		Away:        s.away != nil,
		Writer:      s.Frames.NewFrameWriter(),
		Heads:       s.heads,
		Records:     s.Records,
		HeadRecords: s.Records,
		Owned:       s.Owned,
		Step:        s.At,
		Gone:        gone,
	}), err
}

// BeginPack implements collect.Records.
func (s *Records) BeginPack() error { return s.Update("begin pack", notePacks(s.packs)) }

// BeginHeads implements collect.HeadRecords.
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

// MoveHeads implements collect.HeadRecords.
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

// forgetBodies takes the bodies away from records that are no part of the mirror: nothing refers to them.
// Those of older versions are in the history.
func forgetBodies(s *Records) error {
	if idle, err := isIdle(s.Folder); !idle || err != nil {
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
func isIdle(s *home.Folder) (idle bool, err error) {
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
