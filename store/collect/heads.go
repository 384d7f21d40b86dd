// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"

	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/record"
)

// Heads that no record and no history refers to stay in their file until Compact finds less than liveShare of
// the files in use, or one that is damaged or of an older version. Then all that are in use are written again
// into the next file, some records with each transaction, and the older files are removed. A crash leaves
// records of both kinds, and files of both.

const minHeadHoles = 16 << 10 // bytes of holes for which heads are moved

// CompactHeads gives the space of heads that nothing refers to back, and returns how many bytes that is. With
// dry it only says so.
func (s *Compactor) CompactHeads(ctx context.Context, dry bool) (freed int64, err error) {
	uses, again, err := s.headUses(ctx)
	if err != nil || len(uses) == 0 {
		return 0, err
	}
	was, holes := int64(0), int64(0)
	for _, u := range uses {
		was, holes = was+u.Size, holes+u.Size-u.Live
	}
	few := float64(holes) <= (1-liveShare)*float64(was) || holes < minHeadHoles
	if s.Gone != nil {
		few = holes <= 0
	}
	if !again && few {
		return 0, nil
	}
	if dry {
		return holes, nil
	}
	last := uses[len(uses)-1].Num
	if err = s.Records.BeginHeads(last); err != nil {
		return 0, err
	}
	err = s.Records.MoveHeads(func(r *record.Resource, now record.HeadPlace) (moved bool, err error) {
		for _, at := range [...]*record.HeadPlace{&r.Head, &r.LastHead} {
			if !at.IsZero() && at.File <= last {
				*at, moved = s.moveHead(r.URL, *at, now), true
			}
		}
		return moved, ctx.Err()
	})
	if err != nil {
		return 0, err
	}
	for _, u := range uses {
		if err := s.Owned(); err != nil {
			return 0, err
		}
		if err := s.Heads.Remove(u.Num); err != nil {
			return 0, err
		}
		s.Step("heads removed")
	}
	_, size := s.Heads.Where()
	return was - size, nil
}

// headUses finds out what of each file is in use. again says that something that is cannot be read, or that
// an older version wrote it.
func (s *Compactor) headUses(ctx context.Context) (uses []*bodies.PackUse, again bool, err error) {
	uses, byNum, err := s.Heads.List()
	if err != nil {
		return nil, false, err
	}
	err = s.Records.Every(func(r *record.Resource) error {
		for _, at := range [...]record.HeadPlace{r.Head, r.LastHead} {
			if at.IsZero() {
				continue
			}
			_, err := s.Heads.Read(r.URL.String(), at)
			p, ok := s.Heads.Bundled(at)
			if u := byNum[p.Pack]; err == nil && ok && u != nil {
				u.Places = append(u.Places, p)
			} else {
				again = true
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, false, err
	}
	return uses, again, bodies.Measure(s.Heads.Packs, uses)
}

// moveHead appends a head again, unless it is the one at base. One that cannot be read is lost.
func (s *Compactor) moveHead(u site.URL, at, base record.HeadPlace) record.HeadPlace {
	h, err := s.Heads.Read(u.String(), at)
	if err != nil {
		return record.HeadPlace{}
	}
	if !base.IsZero() { // two versions of a page mostly have one head
		if same, err := s.Heads.Read(u.String(), base); err == nil && same.Equal(h) {
			return base
		}
	}
	return s.Heads.Add(u.String(), h)
}
