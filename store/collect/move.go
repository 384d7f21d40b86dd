// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// movePack empties a pack and removes it. deltas are all that are in use; it notes there where they and
// their bases went.
func (s *Compactor) movePack(ctx context.Context, u *bodies.PackUse, deltas []*delta, c *Compaction) error {
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
	s.Step("frames copied")
	if err := s.pointTo(from, to); err != nil {
		return err
	}
	s.Step("records moved")
	c.Moved += u.Live + outside
	c.Freed -= outside
	return s.dropPacks([]*bodies.PackUse{u}, c)
}

// pointTo makes the records refer to where documents went. All of those in packs of from went somewhere.
func (s *Compactor) pointTo(from map[uint32]bool, to map[record.Place]record.Place) error {
	return s.Records.Repoint(func(at record.Place) (record.Place, bool, error) {
		went, ok := to[at]
		if !ok && from[at.Pack] {
			return at, false, fmt.Errorf("%w: it was not moved", disk.ErrDamaged)
		}
		return went, ok, nil
	})
}

// copyFrames appends the full frames in use of a pack to the last one, and notes where each went. Deltas wait
// until their bases have moved; here they are only looked at.
func (s *Compactor) copyFrames(
	ctx context.Context, u *bodies.PackUse, to map[record.Place]record.Place,
) error {
	// before anything is copied: the copies of a pack that has to stay would pile up with every call
	for places := range u.Frames() {
		_, err := s.Packs.Frame(s.frames, places[0])
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
	}
	for places := range u.Frames() {
		err := cmp.Or(ctx.Err(), s.Writer.Copy(s.Packs, s.frames, places, to))
		if err != nil {
			return err
		}
	}
	return nil
}

// copyDeltas appends the deltas that lie in packs of from, or need a frame of these or one that went, to the
// last pack, and notes where each went. It returns the bytes of those that lie elsewhere. Each is made again,
// over the full frame.
func (s *Compactor) copyDeltas(
	ctx context.Context, deltas []*delta, from map[uint32]bool, to map[record.Place]record.Place,
) (outside int64, err error) {
	for _, d := range deltas {
		leaves := from[d.at.Pack]
		went := func(at record.Place) bool { return to[at].Len > 0 }
		if went(d.at) || (!leaves && !d.full && !d.overAny(from) && !slices.ContainsFunc(d.under, went)) {
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
		raw, err := s.Writer.Again(s.Packs, s.frames, d.at, base)
		if err == nil && raw == nil {
			if !leaves {
				continue // it stays: it cannot be read, with or without its base
			}
			raw, err = s.Packs.Frame(s.frames, d.at)
		}
		if err != nil {
			return outside, err
		}
		at, err := s.Packs.Append(raw)
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

// erases reports whether the frame at a place is of a URL of Gone, and so no base any longer: the deltas over
// it are written again in full. Its pack may have nothing in use beside it, and is needed until they are. One
// that cannot be read is not of such a URL.
func (s *Compactor) erases(at record.Place) (bool, error) {
	if is, known := s.erased[at]; known || s.Gone == nil {
		return is, nil
	}
	fr, err := s.Packs.ReadFrame(s.frames, at)
	if errors.Is(err, disk.ErrDamaged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	id, err := fr.ID()
	s.erased[at] = err == nil && s.Gone[id]
	return s.erased[at], nil
}

// Follow makes all records refer to where frames went, as moved says, and writes the deltas over these again,
// when they can be read with the new one.
func (s *Compactor) Follow(ctx context.Context, moved map[record.Place]record.Place) error {
	uses, _, err := s.byRecords(ctx)
	if err != nil {
		return err
	}
	deltas, err := s.deltasInUse(ctx, uses)
	if err != nil {
		return err
	}
	s.frames.Moved = moved
	to := maps.Clone(moved)
	if _, err := s.copyDeltas(ctx, deltas, nil, to); err != nil {
		return err
	}
	return s.pointTo(nil, to)
}
