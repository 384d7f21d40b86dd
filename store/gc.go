// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// Documents that no record and no history refers to stay in their pack as holes. Compact copies the rest of
// a pack with many holes to the end of the last one, points the records there in one transaction, and
// removes the file. A crash leaves the old pack in use, or an unused one that the next call removes.
//
// The base of a delta that is in use is in use too. When it moves, so do the deltas over it, wherever they
// lie, because they say where it is.

const (
	liveShare = 0.6      // a pack of which less is in use is emptied
	minHoles  = 64 << 10 // bytes of holes for which the pack that is being written is worth ending
)

// Compaction says what Compact did, or would do.
type Compaction struct {
	Packs   int      `json:"packs"`             // files that are removed
	Freed   int64    `json:"freed"`             // bytes, less what was copied
	Moved   int64    `json:"moved"`             // bytes that are copied
	Damaged []string `json:"damaged,omitempty"` // packs left as they are because a document cannot be read
	Heads   int64    `json:"heads,omitempty"`   // bytes of heads of answers that are freed
}

// Compact gives the space of documents and heads that nothing refers to back. With dry it only says what it
// would do. No run may be under way. What it was not able to read it leaves where it is.
func (s *Site) Compact(ctx context.Context, dry bool) (c Compaction, err error) {
	defer explain(&err, "compact packs of %s", s.name)
	w := s.compactor()
	if !dry {
		if err := s.owned(); err != nil {
			return c, err
		}
		if err := w.forgetBodies(); err != nil {
			return c, err
		}
	}
	if c, err = w.compactPacks(ctx, dry); err != nil {
		return c, err
	}
	c.Heads, err = w.compactHeads(ctx, dry)
	return c, err
}

// Purge is Compact that leaves no byte of documents and heads that nothing refers to, and none of the frames
// of URLs that is names. No record may refer to these. A pack with a document in use that cannot be read
// stays, and is in Compaction.Damaged. The log is begun again.
func (s *Site) Purge(ctx context.Context, is func(url string) bool) (c Compaction, err error) {
	defer explain(&err, "purge packs of %s", s.name)
	if err := s.owned(); err != nil {
		return c, err
	}
	w := s.compactor()
	w.erase = &eraser{
		gone:  map[uint32]bool{},
		known: map[record.Place]bool{},
	}
	err = s.each(bResources, decoded(func(r *record.Resource) error {
		if is(r.URL.String()) {
			w.erase.gone[r.ID] = true
		}
		return nil
	}))
	if err != nil {
		return c, err
	}
	if c, err = w.compactPacks(ctx, false); err != nil {
		return c, err
	}
	if c.Heads, err = w.compactHeads(ctx, false); err != nil {
		return c, err
	}
	return c, RenewLog(s)
}

// WipeFree makes the database of a site again, from a log that is begun again: bbolt leaves what was deleted
// in free pages until it needs these. No run may be under way.
func (s *Site) WipeFree() error {
	if err := RenewLog(s); err != nil {
		return err
	}
	return disk.Err("wipe free pages of "+s.name, s.db.Renew())
}

func (s *Site) compactor() *compactor {
	return &compactor{
		Site:   s,
		frames: bodies.NewFrameReader(),
		writer: s.Frames.NewFrameWriter(),
	}
}

// compactor is one Compact at work.
type compactor struct {
	*Site
	frames *bodies.FrameReader
	writer *bodies.FrameWriter

	erase *eraser // nil: packs with few holes stay
}

func (s *compactor) compactPacks(ctx context.Context, dry bool) (c Compaction, err error) {
	uses, held, err := s.byRecords(ctx)
	if err != nil {
		return c, err
	}
	last, err := s.lastPack()
	if err != nil {
		return c, err
	}
	may := func(u *bodies.PackUse) bool { return worth(u, last) }
	if s.away != nil && s.erase == nil && !slices.ContainsFunc(uses, may) {
		return c, nil
	}
	deltas, err := s.withBases(ctx, uses, held)
	if err != nil {
		return c, err
	}
	var drop, move []*bodies.PackUse
	for _, u := range uses {
		holes := u.Size - u.Live
		switch {
		case s.erase != nil:
			if !u.Pinned && holes > 0 && u.Num <= last { // also one of which nothing is in use: see eraser
				move = append(move, u)
			}
		case !worth(u, last):
		case len(u.Places) == 0:
			drop = append(drop, u)
		default:
			move = append(move, u)
		}
	}
	moves := map[uint32]bool{}
	for _, u := range slices.Concat(drop, move) {
		c.Packs++
		c.Freed += u.Size - u.Live
		c.Moved += u.Live
		moves[u.Num] = true
	}
	for _, d := range deltas {
		if !moves[d.at.Pack] && d.overAny(moves) {
			c.Freed -= int64(d.at.Len)
			c.Moved += int64(d.at.Len)
		}
	}
	if dry || c.Packs == 0 {
		return c, nil
	}
	c = Compaction{}
	if slices.ContainsFunc(slices.Concat(drop, move), func(u *bodies.PackUse) bool { return u.Num == last }) {
		if err := s.packs.Finish(); err != nil {
			return c, err
		}
		if err := s.update("begin pack", notePacks(s.packs)); err != nil { // before the old last one goes
			return c, err
		}
		s.at("pack ended")
	}
	if err := s.dropPacks(drop, &c); err != nil {
		return c, err
	}
	for _, u := range move {
		if err := s.movePack(ctx, u, deltas, &c); err != nil {
			return c, err
		}
	}
	return c, nil
}

// lastPack is the number of the pack that is being written.
func (s *compactor) lastPack() (num uint32, err error) {
	num, _, err = s.packsEnd()
	here, _ := s.packs.Where() // of a site that is open for writing
	return max(num, here), err
}

// worth reports whether a pack is to be emptied of which so many bytes are in use. One behind the last one
// was left by a crash, and is used again from its start.
func worth(u *bodies.PackUse, last uint32) bool {
	few := float64(u.Live) < liveShare*float64(u.Size) || u.Size == 0
	return few && !u.Pinned && (u.Num < last || (u.Num == last && u.Size-u.Live >= minHoles))
}

// packUses lists all pack files by number, and the deltas in use.
func (s *compactor) packUses(ctx context.Context) ([]*bodies.PackUse, []*usedDelta, error) {
	uses, held, err := s.byRecords(ctx)
	if err != nil {
		return nil, nil, err
	}
	deltas, err := s.withBases(ctx, uses, held)
	return uses, deltas, err
}

// byRecords lists all pack files by number, with the frames that records refer to: which of them are deltas,
// and what they are over, is known only after they were fetched and read. A bundle counts as in use when one
// of its documents is. held are the places of the unfinished run.
func (s *compactor) byRecords(
	ctx context.Context,
) (uses []*bodies.PackUse, held map[record.Place]bool, err error) {
	uses, byNum, err := s.packs.List()
	if err != nil {
		return nil, nil, err
	}
	held = map[record.Place]bool{}
	err = s.Records.bodied(ctx, func(r *record.Resource, pinned bool) error {
		u := byNum[r.At.Pack]
		if r.Body != record.PackBody || u == nil { // a missing one is what verify finds
			return nil
		}
		u.Places = append(u.Places, r.At)
		if pinned {
			u.Pinned, held[r.At] = true, true
		}
		return nil
	})
	for _, u := range uses {
		u.Sort()
		for places := range u.Frames() {
			u.Live += int64(places[0].Len)
		}
	}
	return uses, held, err
}

// withBases adds the bases of deltas in use, and counts the used bytes of bundles. It returns the deltas.
func (s *compactor) withBases(
	ctx context.Context, uses []*bodies.PackUse, held map[record.Place]bool,
) ([]*usedDelta, error) {
	deltas, err := s.deltasInUse(ctx, uses)
	if err != nil {
		return nil, err
	}
	for _, d := range deltas {
		for _, at := range d.under {
			i, ok := slices.BinarySearchFunc(uses, at.Pack, func(u *bodies.PackUse,
				n uint32) int {
				return cmp.Compare(u.Num, n)
			})
			if !ok {
				continue
			}
			uses[i].Pinned = uses[i].Pinned || held[d.at]
			if !d.full {
				uses[i].Places = append(uses[i].Places, at)
			}
		}
	}
	return deltas, bodies.Measure(s.packs, uses)
}

// usedDelta is a delta that a record refers to.
type usedDelta struct {
	at    record.Place
	under []record.Place // its base; of a delta over deltas all frames that it needs, the full one last
	full  bool           // it is to be written again in full
}

// overAny reports whether a frame that the delta needs is in one of some packs.
func (d *usedDelta) overAny(packs map[uint32]bool) bool {
	return slices.ContainsFunc(d.under, func(at record.Place) bool { return packs[at.Pack] })
}

// deltasInUse finds the deltas among the places in use. Unreadable ones are left out; verify reports them.
func (s *compactor) deltasInUse(ctx context.Context, uses []*bodies.PackUse) (out []*usedDelta, err error) {
	for _, u := range uses {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, at := range u.Places {
			d := &usedDelta{at: at}
			if d.under, err = s.packs.Under(at); err != nil && !errors.Is(err, disk.ErrDamaged) {
				return nil, err
			}
			for _, base := range d.under {
				if d.full, err = s.erases(base); err != nil {
					return nil, err
				}
				if d.full {
					break
				}
			}
			if len(d.under) > 0 {
				out = append(out, d)
			}
		}
	}
	return out, nil
}

// dropPacks removes packs that nothing refers to.
func (s *compactor) dropPacks(packs []*bodies.PackUse, c *Compaction) error {
	for _, u := range packs {
		if err := s.owned(); err != nil {
			return err
		}
		if err := s.packs.Remove(u.Num); err != nil {
			return err
		}
		c.Packs++
		c.Freed += u.Size - u.Live
		s.at("pack removed")
	}
	return nil
}
