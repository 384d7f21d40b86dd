// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"mirrord/store/disk"
	"mirrord/store/record"
)

// movePack empties a pack and removes it. deltas are all that are in use; it notes there where they and
// their bases went.
func (s *compactor) movePack(ctx context.Context, u *packUse, deltas []*usedDelta, c *Compaction) error {
	to, from := map[record.Place]record.Place{}, map[uint32]bool{u.num: true}
	err := s.copyFrames(ctx, u, to)
	if errors.Is(err, disk.ErrDamaged) {
		c.Damaged = append(c.Damaged, packName(u.num))
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
	c.Moved += u.live + outside
	c.Freed -= outside
	return s.dropPacks([]*packUse{u}, c)
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

// copyFrames appends the full frames in use of a pack to the last one, byte for byte, and notes where each
// went. Deltas wait until their bases have moved; here they are only looked at.
func (s *compactor) copyFrames(ctx context.Context, u *packUse, to map[record.Place]record.Place) error {
	var raw []byte
	// before anything is copied: the copies of a pack that has to stay would pile up with every call
	for places := range u.frames() {
		err := ctx.Err()
		if err == nil {
			raw, err = s.packs.whole(raw, places[0])
		}
		if err != nil {
			return err
		}
	}
	for places := range u.frames() {
		at := places[0]
		err := ctx.Err()
		if err == nil {
			raw, err = s.packs.whole(raw, at)
		}
		if err == nil && at.Doc > 0 {
			err = s.copyBundle(raw, places, to)
		}
		if err != nil {
			return err
		}
		if at.Doc > 0 || isDelta(raw) {
			continue
		}
		if to[at], err = s.packs.append(raw); err != nil {
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
	var raw []byte
	for _, d := range deltas {
		leaves := from[d.at.Pack]
		if !leaves && !d.full && !d.overAny(from) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return outside, err
		}
		if raw, err = s.packs.whole(raw, d.at); errors.Is(err, disk.ErrDamaged) && !leaves {
			continue // it stays: it cannot be read, with or without its base
		}
		if err != nil {
			return outside, err
		}
		base := d.under[len(d.under)-1]
		if went, moved := to[base]; moved {
			base = went
		}
		if d.full {
			base = record.Place{}
		}
		if raw, err = s.again(raw, d.at, base); err != nil {
			return outside, err
		}
		at, err := s.packs.append(raw)
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

// again returns the frame of the document of a delta, of which raw is the frame, as a delta over the full
// frame at base where that pays, else in full. One that cannot be read stays as it is.
func (s *compactor) again(raw []byte, at, base record.Place) ([]byte, error) {
	payload, err := s.packs.payload(s.frames, at)
	if errors.Is(err, disk.ErrDamaged) {
		return raw, nil
	}
	if err != nil {
		return nil, err
	}
	s.writer.buf = append(append(s.writer.buf[:0], make([]byte, frameHeader)...), payload...)
	if raw := s.writer.over(s.packs, base, smallDelta); raw != nil {
		return raw, nil
	}
	return s.writer.pack(), nil
}

// whole reads the frame at a place as it is, into raw when that is large enough, and checks it.
func (p *packs) whole(raw []byte, at record.Place) ([]byte, error) {
	f, err := p.file(at.Pack)
	if err != nil {
		return raw, disk.ReadErr("read pack", err)
	}
	st, err := f.Stat()
	if err != nil {
		return raw, disk.Err("read pack", err)
	}
	if at.Off < 0 || at.Len < frameHeader || at.Off > st.Size()-int64(at.Len) {
		return raw, fmt.Errorf("pack %s at %d: %w: no frame here", packName(at.Pack), at.Off, disk.ErrDamaged)
	}
	if err := p.bring(at.Pack, at.Off, at.Off+int64(at.Len)); err != nil {
		return raw, err
	}
	raw = slices.Grow(raw[:0], int(at.Len))[:at.Len]
	if _, err := f.ReadAt(raw, at.Off); err != nil {
		return raw, disk.ReadErr("read pack", err)
	}
	if err := checkFrame(raw); err != nil {
		return raw, fmt.Errorf("pack %s at %d: %w", packName(at.Pack), at.Off, err)
	}
	return raw, nil
}

// checkFrame reports whether a frame is whole, without unpacking it.
func checkFrame(raw []byte) error {
	if n := binary.LittleEndian.Uint32(raw[4:]); int64(n) != int64(len(raw)-frameHeader) {
		return fmt.Errorf("%w: a frame of %d bytes", disk.ErrDamaged, n)
	}
	if crc32.Checksum(raw[frameHeader:], castagnoli) != binary.LittleEndian.Uint32(raw[8:]) {
		return fmt.Errorf("checksum of frame: %w", disk.ErrDamaged)
	}
	return nil
}
