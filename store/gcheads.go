// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"

	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/record"
)

// Heads that no record and no history refers to stay in their file until Compact finds less than liveShare of
// the files in use, or one that is damaged or of an older version. Then all that are in use are written again
// into the next file, some records with each transaction, and the older files are removed. A crash leaves
// records of both kinds, and files of both.

const minHeadHoles = 16 << 10 // bytes of holes for which heads are moved

// compactHeads gives the space of heads that nothing refers to back. With dry it only says what that would
// be.
func (s *compactor) compactHeads(ctx context.Context, dry bool) (freed int64, err error) {
	uses, again, err := s.headUses(ctx)
	if err != nil || len(uses) == 0 {
		return 0, err
	}
	was, holes := int64(0), int64(0)
	for _, u := range uses {
		was, holes = was+u.Size, holes+u.Size-u.Live
	}
	few := float64(holes) <= (1-liveShare)*float64(was) || holes < minHeadHoles
	if s.erase != nil {
		few = holes <= 0
	}
	if !again && few {
		return 0, nil
	}
	if dry {
		return holes, nil
	}
	last := uses[len(uses)-1].Num
	err = s.update("begin heads", func(tx *db.Tx) error {
		if err := errors.Join(s.Records.beginHeads(tx), s.Records.flushHeads(tx)); err != nil {
			return err
		}
		last, err = s.heads.Skip(last)
		return err
	})
	if err != nil {
		return 0, err
	}
	move := func(tx *db.Tx, b bucketOf, r *record.Resource) (bool, error) {
		return s.moveHeads(tx, r, b.prefix > 0, last), ctx.Err()
	}
	if err := s.Records.rewrite("move heads", recordBuckets(), move, s.Records.flushHeads); err != nil {
		return 0, err
	}
	for _, u := range uses {
		if err := s.owned(); err != nil {
			return 0, err
		}
		if err := s.heads.Remove(u.Num); err != nil {
			return 0, err
		}
		s.at("heads removed")
	}
	_, size := s.heads.Packs.Where()
	return was - size, nil
}

// headUses finds out what of each file is in use. again says that something that is cannot be read, or that
// an older version wrote it.
func (s *compactor) headUses(ctx context.Context) (uses []*bodies.PackUse, again bool, err error) {
	uses, byNum, err := s.heads.Packs.List()
	if err != nil {
		return nil, false, err
	}
	err = s.every(func(r *record.Resource) error {
		for _, at := range [...]record.HeadPlace{r.Head, r.LastHead} {
			if at.IsZero() {
				continue
			}
			_, err := s.Records.ReadHead(r.URL, at)
			p, ok := s.heads.Bundled(at)
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
	return uses, again, bodies.Measure(s.heads.Packs, uses)
}

// moveHeads writes the heads of a record again, as far as they lie in files up to last, and reports whether
// there are such. A head that cannot be read is lost.
func (s *compactor) moveHeads(tx *db.Tx, r *record.Resource, past bool, last uint32) (moved bool) {
	var base record.HeadPlace
	if past { // what the URL has now was moved before
		var now record.Resource
		if v := tx.Bucket(bResources).Get(r.URL.Key(nil)); v != nil && now.Decode(r.URL, v) == nil {
			base = now.Head
		}
	}
	for _, at := range [...]*record.HeadPlace{&r.Head, &r.LastHead} {
		if !at.IsZero() && at.File <= last {
			*at, moved = s.moveHead(r.URL, *at, base), true
		}
	}
	return moved
}

// moveHead appends a head again, unless it is the one at base.
func (s *compactor) moveHead(u site.URL, at, base record.HeadPlace) record.HeadPlace {
	h, err := s.Records.ReadHead(u, at)
	if err != nil {
		return record.HeadPlace{}
	}
	if !base.IsZero() { // two versions of a page mostly have one head
		if same, err := s.Records.ReadHead(u, base); err == nil && same.Equal(h) {
			return base
		}
	}
	return s.heads.Add(u.String(), h)
}
