// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"mirrord/store/db"
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
	// before anything is copied: the copies of a pack that has to stay would pile up with every call
	err := s.readFrames(ctx, u, func([]byte, []record.Place) error { return nil })
	if err != nil {
		return err
	}
	return s.readFrames(ctx, u, func(raw []byte, places []record.Place) (err error) {
		switch at := places[0]; {
		case at.Doc > 0:
			err = s.copyBundle(raw, places, to)
		case !isDelta(raw):
			to[at], err = s.packs.append(raw)
		}
		return err
	})
}

// readFrames calls f with the frames in use of a pack, and the places of the documents in use.
func (s *compactor) readFrames(ctx context.Context, u *packUse, f func([]byte, []record.Place) error) error {
	for places := range u.frames() {
		raw, err := s.packs.frame(s.frames, places[0])
		if err == nil {
			err = cmp.Or(ctx.Err(), f(raw, places))
		}
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
		raw, err := s.again(d.at, base)
		if err == nil && raw == nil {
			if !leaves {
				continue // it stays: it cannot be read, with or without its base
			}
			raw, err = s.packs.frame(s.frames, d.at)
		}
		if err != nil {
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

// again returns a frame for the document of a delta: a delta over the full frame at base where that pays,
// else in full. It is nil for a document that cannot be read.
func (s *compactor) again(at, base record.Place) ([]byte, error) {
	payload, err := s.packs.payload(s.frames, at)
	if errors.Is(err, disk.ErrDamaged) {
		return nil, nil
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
	return s.Replay(func(uint32, record.NewURL) error {
		return ctx.Err()
	}, func(r *record.Resource, _ []byte, _ bool) error {
		if r.Body == record.NoBody {
			return nil
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
	fr, err := s.packs.read(s.frames, at)
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

// liveBytes is how many bytes of its frame the documents in use take, of which all places are given: all of
// it only when all documents are in use.
func (p *packs) liveBytes(places []record.Place) (int64, error) {
	length := int64(places[0].Len)
	if places[0].Doc == 0 {
		return length, nil
	}
	x, err := p.bundleAt(places[0])
	if err != nil || len(places) >= len(x.ends) {
		return length, err
	}
	used := int64(0)
	for _, at := range places {
		if from, to, ok := x.bounds(at.Doc); ok {
			used += int64(to - from)
		}
	}
	return min(length*used/int64(max(x.size(), 1)), length-1), nil
}

// copyBundle appends the documents in use of a bundle, of which raw is the frame, to the last pack, and notes
// where each document went: the frame byte for byte when that is all of it.
func (s *compactor) copyBundle(raw []byte, places []record.Place, to map[record.Place]record.Place) error {
	x, err := parseBundle(raw)
	if err != nil {
		return err
	}
	if len(places) == len(x.ends) {
		frame, err := s.packs.append(raw)
		if err != nil {
			return err
		}
		for _, at := range places {
			to[at] = placeOf(frame, at.Doc, len(x.ends))
		}
		return nil
	}
	out, err := s.frames.unbundle(raw, &x)
	if err != nil {
		return err
	}
	var left []byte
	var ends []uint32
	for _, at := range places {
		from, end, ok := x.bounds(at.Doc)
		if !ok {
			return fmt.Errorf("pack %s at %d: %w: document %d of a frame of %d", packName(at.Pack), at.Off,
				disk.ErrDamaged,
				at.Doc, len(x.ends))
		}
		left = append(left, out[from:end]...)
		ends = append(ends, uint32(len(left)))
	}
	frame, err := s.packs.append(s.writer.encoder.frame(nil, left, ends))
	if err != nil {
		return err
	}
	for i, at := range places {
		to[at] = placeOf(frame, uint32(i+1), len(places))
	}
	return nil
}
