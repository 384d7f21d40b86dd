// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// movePack empties a pack and removes it. deltas are all that are in use; it notes there where they and
// their bases went.
func (s *compactor) movePack(
	ctx context.Context, u *bodies.PackUse, deltas []*usedDelta, c *Compaction,
) error {
	to, from := map[record.Place]record.Place{}, map[uint32]bool{u.Num: true}
	err := s.copyFrames(ctx, u, to)
	if errors.Is(err, disk.ErrDamaged) {
		c.Damaged = append(c.Damaged, bodies.PackName(u.Num))
		return nil
	}
	outside := int64(0)
	if err == nil {
		outside, err = s.copyDeltas(ctx, deltas, from, to)
	}
	if err != nil {
		return err
	}
	s.at("frames copied")
	if err := s.pointTo(from, to); err != nil {
		return err
	}
	s.at("records moved")
	c.Moved += u.Live + outside
	c.Freed -= outside
	return s.dropPacks([]*bodies.PackUse{u}, c)
}

// pointTo makes the records refer to where documents went. All of those in packs of from went somewhere.
func (s *compactor) pointTo(from map[uint32]bool, to map[record.Place]record.Place) error {
	return s.Records.repoint(func(at record.Place) (record.Place, bool, error) {
		went, ok := to[at]
		if !ok && from[at.Pack] {
			return at, false, fmt.Errorf("%w: it was not moved", disk.ErrDamaged)
		}
		return went, ok, nil
	})
}

// copyFrames appends the full frames in use of a pack to the last one, and notes where each went. Deltas wait
// until their bases have moved; here they are only looked at.
func (s *compactor) copyFrames(
	ctx context.Context, u *bodies.PackUse, to map[record.Place]record.Place,
) error {
	// before anything is copied: the copies of a pack that has to stay would pile up with every call
	for places := range u.Frames() {
		_, err := s.packs.Frame(s.frames, places[0])
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
	for places := range u.Frames() {
		err := cmp.Or(ctx.Err(), s.writer.Copy(s.packs, s.frames, places, to))
		if err != nil {
			return err
		}
	}
	return nil
}

// copyDeltas appends the deltas that lie in packs of from, or need a frame of these, to the last pack, and
// notes where each went. It returns the bytes of those that lie elsewhere. Each is made again, over the full
// frame.
func (s *compactor) copyDeltas(
	ctx context.Context, deltas []*usedDelta, from map[uint32]bool, to map[record.Place]record.Place,
) (outside int64, err error) {
	for _, d := range deltas {
		leaves := from[d.at.Pack]
		if !leaves && !d.full && !d.overAny(from) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return outside, err
		}
		base := d.under[len(d.under)-1]
		if went, moved := to[base]; moved {
			base = went
		}
		if d.full {
			base = record.Place{}
		}
		raw, err := s.writer.Again(s.packs, s.frames, d.at, base)
		if err == nil && raw == nil {
			if !leaves {
				continue // it stays: it cannot be read, with or without its base
			}
			raw, err = s.packs.Frame(s.frames, d.at)
		}
		if err != nil {
			return outside, err
		}
		at, err := s.packs.Append(raw)
		if err != nil {
			return outside, err
		}
		if !leaves {
			outside += int64(d.at.Len)
		}
		to[d.at] = at
		d.at, d.full, d.under = at, false, []record.Place{base}
	}
	return outside, nil
}

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
	forget := func(_ *db.Tx, _ bucketOf, r *record.Resource) (bool, error) { return forgetBody(r), nil }
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
	err = s.db.View(func(tx *db.Tx) error {
		idle = s.db.Journal.Last() == 0 && tx.Meta().Get(kRun) == nil
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
	return s.Replay(nil, func(r *record.Resource, _ []byte, _ bool) error {
		if err := ctx.Err(); err != nil || r.Body == record.NoBody {
			return err
		}
		return f(r, true)
	})
}

// eraser makes a compaction remove the bytes of what nothing refers to from the packs and heads, however
// little it is. A frame of a URL that is to go is no longer a base: the deltas over it are written again in
// full. The pack of such a frame may have nothing in use beside it, and is still needed until they are.
type eraser struct {
	gone  map[uint32]bool       // numbers of the URLs that are to go
	known map[record.Place]bool // frames that were looked at: whether they are of such a URL
}

// erases reports whether the frame at a place is of a URL that is to go. One that cannot be read is not.
func (s *compactor) erases(at record.Place) (bool, error) {
	e := s.erase
	if e == nil {
		return false, nil
	}
	if is, known := e.known[at]; known {
		return is, nil
	}
	fr, err := s.packs.ReadFrame(s.frames, at)
	if errors.Is(err, disk.ErrDamaged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	id, err := fr.ID()
	e.known[at] = err == nil && e.gone[id]
	return e.known[at], nil
}
