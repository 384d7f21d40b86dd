// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"math/bits"

	"mirrord/site"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// Heads that no record and no history refers to stay in their file until Compact finds less than liveShare of
// the files in use, or one that is damaged or of an older version. Then all that are in use are written again
// into the next file, some records with each transaction, and the older files are removed. A crash leaves
// records of both kinds, and files of both.

const minHeadHoles = 16 << 10 // bytes of holes for which heads are moved

// headUses is how much of the files of heads is in use.
type headUses struct {
	files   []uint32
	size    int64
	bundles map[record.HeadPlace]*headUse // by the place of the first head
	// something that is in use cannot be read, or an older version wrote it
	again bool
}

// headUse is how much of a bundle is in use.
type headUse struct {
	size  int64
	heads int    // that it has
	used  uint64 // a bit for each that is in use
}

// live is how many bytes are in use, about.
func (u *headUses) live() (n int64) {
	for _, b := range u.bundles {
		n += b.size * int64(bits.OnesCount64(b.used)) / int64(b.heads)
	}
	return n
}

// compactHeads gives the space of heads that nothing refers to back. With dry it only says what that would
// be.
func (s *compactor) compactHeads(ctx context.Context, dry bool) (freed int64, err error) {
	uses, err := s.headUses(ctx)
	if err != nil || len(uses.files) == 0 {
		return 0, err
	}
	holes := uses.size - uses.live()
	few := float64(holes) <= (1-liveShare)*float64(uses.size) || holes < minHeadHoles
	if s.erase != nil {
		few = holes <= 0
	}
	if !uses.again && few {
		return 0, nil
	}
	if dry {
		return holes, nil
	}
	last := uses.files[len(uses.files)-1]
	err = s.update("begin heads", func(tx *transaction) error {
		last, err = s.heads.skip(tx, last)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, b := range recordBuckets() {
		for next := []byte{}; next != nil; {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			err = s.update("move heads", func(tx *transaction) error {
				next, err = b.rewrite(tx, next, s.moveItems, func(r *record.Resource) (bool, error) {
					return s.moveHeads(tx, r, b.prefix > 0, last), ctx.Err()
				})
				if err != nil {
					return err
				}
				return s.heads.flush(tx)
			})
			if err != nil {
				return 0, err
			}
			s.at("some heads moved")
		}
	}
	for _, n := range uses.files {
		if err := s.owned(); err != nil {
			return 0, err
		}
		if err := s.heads.remove(n); err != nil {
			return 0, err
		}
		s.at("heads removed")
	}
	_, size := s.heads.packs.where()
	return uses.size - size, nil
}

// headUses finds out what of each file is in use.
func (s *compactor) headUses(ctx context.Context) (*headUses, error) {
	uses := &headUses{files: headsIn(s.root, "."), bundles: map[record.HeadPlace]*headUse{}}
	for _, n := range uses.files {
		fi, err := s.root.Lstat(headsFile(n))
		if err != nil {
			return nil, disk.Err("look at heads", err)
		}
		uses.size += fi.Size()
	}
	return uses, s.every(func(r *record.Resource) error {
		for _, at := range [...]record.HeadPlace{r.Head, r.LastHead} {
			if at.IsZero() {
				continue
			}
			if _, err := s.records.ReadHead(r.URL, at); err != nil || !s.heads.use(uses, at) {
				uses.again = true
			}
		}
		return ctx.Err()
	})
}

// moveHeads writes the heads of a record again, as far as they lie in files up to last, and reports whether
// there are such. A head that cannot be read is lost.
func (s *compactor) moveHeads(tx *transaction, r *record.Resource, past bool, last uint32) (moved bool) {
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
	h, err := s.records.ReadHead(u, at)
	if err != nil {
		return record.HeadPlace{}
	}
	if !base.IsZero() { // two versions of a page mostly have one head
		if same, err := s.records.ReadHead(u, base); err == nil && same.Equal(h) {
			return base
		}
	}
	return s.heads.add(u.String(), h)
}
