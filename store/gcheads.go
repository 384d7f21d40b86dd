// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"slices"

	"mirrord/fetch/heads"
	"mirrord/site"
)

// Heads that no record and no history refers to stay in their file until Compact finds less than
// liveShare of the files in use, or one that is damaged. Then all that are in use are coded again into the
// next file, some records with each transaction, and the older files are removed. A crash leaves records of
// both kinds, and files of both.

const minHeadHoles = 16 << 10 // bytes of holes for which heads are moved

// headUse is how much of a file of heads is in use.
type headUse struct {
	num  uint32
	size int64
	used []uint64 // a bit for each byte at which an entry in use begins
	live int64    // bytes of them
}

// compactHeads gives the space of heads that nothing refers to back. With dry it only says what that would
// be.
func (s *compactor) compactHeads(ctx context.Context, dry bool) (freed int64, err error) {
	uses, damaged, err := s.headUses(ctx)
	if err != nil || len(uses) == 0 {
		return 0, err
	}
	size, live := int64(0), int64(0)
	for _, u := range uses {
		size, live = size+u.size, live+u.live
	}
	few := float64(live) >= liveShare*float64(size) || size-live < minHeadHoles
	if s.erase != nil {
		few = live >= size
	}
	if !damaged && few {
		return 0, nil
	}
	if dry {
		return size - live, nil
	}
	last := uses[len(uses)-1].num
	err = s.update("begin heads", func(tx *transaction) error {
		if err := s.heads.begin(tx); err != nil {
			return err
		}
		last = max(last, s.heads.num)
		return s.heads.create(last + 1)
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
				if next, err = s.moveHeads(tx, b.name, b.prefix, next, last); err != nil {
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
	for _, u := range uses {
		if err := s.owned(); err != nil {
			return 0, err
		}
		if err := s.heads.remove(u.num); err != nil {
			return 0, err
		}
		s.at("heads removed")
	}
	return size - s.heads.size, nil
}

// headUses finds out what of each file is in use, and whether something that is in use cannot be read.
func (s *compactor) headUses(ctx context.Context) (uses []*headUse, damaged bool, err error) {
	byNum := map[uint32]*headUse{}
	for _, n := range headsIn(s.root, ".") {
		fi, err := s.root.Lstat(headsFile(n))
		if err != nil {
			return nil, false, diskErr("look at heads", err)
		}
		u := &headUse{num: n, size: fi.Size(), used: make([]uint64, fi.Size()/64+1)}
		byNum[n] = u
		uses = append(uses, u)
	}
	look := func(k, v []byte) error {
		if err := ctx.Err(); err != nil || len(v) == 0 {
			return err
		}
		u, err := urlOfKey(k)
		if err != nil {
			return err
		}
		var r Resource
		if err := r.decode(u, v); err != nil {
			return err
		}
		for _, at := range [...]HeadPlace{r.Head, r.LastHead} {
			if at.IsZero() {
				continue
			}
			if _, err := s.records.ReadHead(u, at); err != nil || !s.heads.use(byNum[at.File], at) {
				damaged = true
			}
		}
		return nil
	}
	if err := s.each(bResources, look); err != nil {
		return nil, false, err
	}
	err = s.each(bHistory, func(k, v []byte) error { return look(k[min(8, len(k)):], v) })
	return uses, damaged, err
}

// moveHeads codes the heads of some records of a bucket again, from a key on, as far as they lie in files up
// to last. It returns the key to continue from, nil at the end. A head that cannot be read is lost.
func (s *compactor) moveHeads(
	tx *transaction, bucket []byte, prefix int, start []byte, last uint32,
) (next []byte, err error) {
	var keys, values [][]byte
	var r, now Resource
	b := tx.Bucket(bucket)
	c := b.Cursor()
	for k, v := c.Seek(start); k != nil; k, v = c.Next() {
		if len(keys) == s.moveItems {
			next = slices.Clone(k)
			break
		}
		if len(v) == 0 || len(k) < prefix {
			continue
		}
		u, err := urlOfKey(k[prefix:])
		if err == nil {
			err = r.decode(u, v)
		}
		if err != nil {
			return nil, err
		}
		var base HeadPlace
		if prefix > 0 { // what the URL has now was moved before, and is most like it
			if v := tx.Bucket(bResources).Get(k[prefix:]); v != nil && now.decode(u, v) == nil {
				base = now.Head
			}
		}
		moved := false
		for _, at := range [...]*HeadPlace{&r.Head, &r.LastHead} {
			if !at.IsZero() && at.File <= last {
				*at, moved = s.moveHead(u, *at, base), true
			}
		}
		if moved {
			keys, values = append(keys, slices.Clone(k)), append(values, r.append(nil))
		}
	}
	for i, k := range keys {
		if err := b.Put(k, values[i]); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// moveHead appends a head again, coded over the one at base if that is of use.
func (s *compactor) moveHead(u site.URL, at, base HeadPlace) HeadPlace {
	var h *heads.Head
	var err error
	if h, err = s.records.ReadHead(u, at); err != nil {
		return HeadPlace{}
	}
	if !base.IsZero() { // two versions of a page mostly have one head
		if same, err := s.records.ReadHead(u, base); err == nil && same.Equal(h) {
			return base
		}
	}
	return s.heads.add(u.String(), h, base)
}
