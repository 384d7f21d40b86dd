// SPDX-License-Identifier: Apache-2.0

// Package collect is the room of package store that gives back the space of documents, and of heads of
// answers, to which nothing refers. It knows packs and files of heads; of records only who refers to what.
package collect

import (
	"context"
	"errors"
	"slices"

	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// Documents that no record and no history refers to stay in their pack as holes. Compact copies the rest of
// a pack with many holes to the end of the last one, points the records there, and removes the file. A crash
// leaves the old pack in use, or an unused one that the next call removes.
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

// Records is what refers to documents and to heads of answers: the records of URLs, as they are and were in
// kept versions, and the results of an unfinished run.
type Records interface {
	// Bodied calls f for each record that has a body; held reports that it is of the unfinished run, whose
	// records cannot be changed. f must not keep r.
	Bodied(ctx context.Context, f func(r *record.Resource, held bool) error) error
	// BeginPack notes how far the packs reach, after a new one was begun.
	BeginPack() error
	// Repoint makes the records refer to where their documents went, some with each transaction: what a crash
	// leaves refers to one or the other.
	Repoint(where func(record.Place) (to record.Place, moved bool, err error)) error
	// Every calls f for each record, as it is and was, in no order. f must not keep r.
	Every(f func(r *record.Resource) error) error
	// BeginHeads begins a file of heads behind the one with a number.
	BeginHeads(last uint32) error
	// MoveHeads has move change the heads of each record: first those of the present, then those of older
	// versions, for which now is the head that their URL has at present. What move added is written before the
	// records are.
	MoveHeads(move func(r *record.Resource, now record.HeadPlace) (moved bool, err error)) error
}

// Holdings are what a site has on its disk, and what refers to it.
type Holdings struct {
	Packs   *bodies.Packs
	Last    uint32 // number of the pack that is being written
	Away    bool   // a depot has parts of the packs: what need not be read is not
	Writer  *bodies.FrameWriter
	Heads   *bodies.HeadFiles
	Records Records
	Owned   func() error      // reports that another process may write the site
	Step    func(step string) // is called between two changes of the disk, for tests
	// Gone are the numbers of URLs of which no byte is to be left, and no byte of what nothing refers to; nil:
	// packs with few holes stay
	Gone map[uint32]bool
}

// Compactor is one collection at work. One goroutine uses it, and no run is under way.
type Compactor struct {
	Holdings
	frames *bodies.FrameReader
	erased map[record.Place]bool // frames that were looked at: whether they are of a URL of Gone
}

// New returns a Compactor.
func New(of Holdings) *Compactor {
	return &Compactor{Holdings: of, frames: bodies.NewFrameReader(), erased: map[record.Place]bool{}}
}

// CompactPacks gives the space of documents that nothing refers to back. With dry it only says what it would
// do. What it was not able to read it leaves where it is.
func (s *Compactor) CompactPacks(ctx context.Context, dry bool) (c Compaction, err error) {
	uses, held, err := s.byRecords(ctx)
	if err != nil {
		return c, err
	}
	if s.Away && s.Gone == nil && !slices.ContainsFunc(uses, s.worth) {
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
		case s.Gone != nil:
			if !u.Pinned && holes > 0 && u.Num <= s.Last { // also one of which nothing is in use: see erases
				move = append(move, u)
			}
		case !s.worth(u):
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
	if moves[s.Last] {
		if err := s.Packs.Finish(); err != nil {
			return c, err
		}
		if err := s.Records.BeginPack(); err != nil { // before the old last one goes
			return c, err
		}
		s.Step("pack ended")
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

// worth reports whether a pack is to be emptied of which so many bytes are in use. One behind the last one
// was left by a crash, and is used again from its start.
func (s *Compactor) worth(u *bodies.PackUse) bool {
	few := float64(u.Live) < liveShare*float64(u.Size) || u.Size == 0
	return few && !u.Pinned && (u.Num < s.Last || (u.Num == s.Last && u.Size-u.Live >= minHoles))
}

// byRecords lists all pack files by number, with the frames that records refer to: which of them are deltas,
// and what they are over, is known only after they were fetched and read. A bundle counts as in use when one
// of its documents is. held are the places of the unfinished run.
func (s *Compactor) byRecords(
	ctx context.Context,
) (uses []*bodies.PackUse, held map[record.Place]bool, err error) {
	uses, byNum, err := s.Packs.List()
	if err != nil {
		return nil, nil, err
	}
	held = map[record.Place]bool{}
	err = s.Records.Bodied(ctx, func(r *record.Resource, pinned bool) error {
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
func (s *Compactor) withBases(
	ctx context.Context, uses []*bodies.PackUse, held map[record.Place]bool,
) ([]*delta, error) {
	deltas, err := s.deltasInUse(ctx, uses)
	if err != nil {
		return nil, err
	}
	for _, d := range deltas {
		for _, at := range d.under {
			i := slices.IndexFunc(uses, func(u *bodies.PackUse) bool { return u.Num == at.Pack })
			if i < 0 {
				continue
			}
			uses[i].Pinned = uses[i].Pinned || held[d.at]
			if !d.full {
				uses[i].Places = append(uses[i].Places, at)
			}
		}
	}
	return deltas, bodies.Measure(s.Packs, uses)
}

// delta is a delta that a record refers to.
type delta struct {
	at    record.Place
	under []record.Place // its base; of a delta over deltas all frames that it needs, the full one last
	full  bool           // it is to be written again in full
}

// overAny reports whether a frame that the delta needs is in one of some packs.
func (d *delta) overAny(packs map[uint32]bool) bool {
	return slices.ContainsFunc(d.under, func(at record.Place) bool { return packs[at.Pack] })
}

// deltasInUse finds the deltas among the places in use. Unreadable ones are left out; verify reports them.
func (s *Compactor) deltasInUse(ctx context.Context, uses []*bodies.PackUse) (out []*delta, err error) {
	for _, u := range uses {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, at := range u.Places {
			d := &delta{at: at}
			if d.under, err = s.Packs.Under(at); err != nil && !errors.Is(err, disk.ErrDamaged) {
				return nil, err
			}
			for _, base := range d.under {
				erased, err := s.erases(base)
				if err != nil {
					return nil, err
				}
				d.full = d.full || erased
			}
			if len(d.under) > 0 {
				out = append(out, d)
			}
		}
	}
	return out, nil
}

func (s *Compactor) dropPacks(packs []*bodies.PackUse, c *Compaction) error {
	for _, u := range packs {
		if err := s.Owned(); err != nil {
			return err
		}
		if err := s.Packs.Remove(u.Num); err != nil {
			return err
		}
		c.Packs++
		c.Freed += u.Size - u.Live
		s.Step("pack removed")
	}
	return nil
}
