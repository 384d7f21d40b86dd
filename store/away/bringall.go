// SPDX-License-Identifier: Apache-2.0

package away

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"sort"
	"time"

	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/disk"
)

// BringAll fetches all that a depot has of a site: of its packs, and of the bodies that used calls its
// argument for. It returns how many bytes that was.
func (a *Site) BringAll(
	ctx context.Context, packs *bodies.Packs, kept *blobs.Blobs, used func(func([32]byte) error) error,
) (bytes int64, err error) {
	for i := range a.Packs {
		num, pack := a.Packs[i].Number, a.packs[a.Packs[i].Number]
		if err := ctx.Err(); err != nil {
			return bytes, err
		}
		f, err := packs.File(num)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a collection has removed it
		}
		if err != nil {
			return bytes, disk.ReadErr("read pack", err)
		}
		for _, i := range pack.look(f, pack.missing(0, math.MaxInt64)) {
			bytes += pack.parts[i].Size
		}
		if err := packs.Bring(num, 0, math.MaxInt64); err != nil {
			return bytes, err
		}
	}
	var small []Part
	err = used(func(d [32]byte) error {
		body := a.bodies[d]
		if body == nil || kept.Here(d) {
			return nil
		}
		if bytes += body.Size; body.Size < togetherBelow {
			small = append(small, body.Part)
			return nil
		}
		return kept.Bring(d, fs.ErrNotExist)
	})
	if err == nil {
		err = a.bringSmall(kept, small)
	}
	if err != nil {
		return bytes, err
	}
	return bytes, kept.Sync()
}

// Drop makes a site whose folder is held, and of which all was fetched, one that has nothing in a depot,
// unless another check-out was made since it was read.
func (a *State) Drop(s *Site) error {
	file := "sites/" + s.site + "/" + FileName
	fi, err := a.In.Root.Lstat(file)
	if err != nil || !os.SameFile(fi, s.info) {
		return disk.Err("bring all", disk.UnlessGone(err))
	}
	if err = disk.SyncFSOf(a.In.Dir + "/sites"); err == nil {
		err = a.In.Root.Remove(file)
	}
	return disk.Err("bring all", err)
}

// Left reports whether a part of a pack may be a hole, with those bytes: they count, regardless of the local
// pack. a may be nil.
func (a *Site) Left(num uint32, from, size int64, digest SHA256) bool {
	return a.Lists(num) && Holds(a.packs[num].parts, from, size, digest)
}

// Holds reports whether one of some parts, by where they begin, is the one with those bytes.
func Holds(parts []Part, from, size int64, digest SHA256) bool {
	i := sort.Search(len(parts), func(i int) bool { return parts[i].From >= from })
	return i < len(parts) && parts[i].From == from && parts[i].Size == size && parts[i].SHA256 == digest
}

// togetherBelow is the size from which on bodies are fetched one by one.
const togetherBelow = 1 << 20

func (a *Site) bringSmall(b *blobs.Blobs, parts []Part) error {
	if err := b.Spool().Hold(); err != nil {
		return err
	}
	defer b.Spool().Unhold()
	return a.parts("bodies", parts, func(p *Part, raw []byte) error {
		return b.Put(p.SHA256, raw, time.Unix(0, a.bodies[p.SHA256].Modified))
	})
}

// HasOnly reports whether only a depot has a body.
func (a *Site) HasOnly(d [32]byte, kept *blobs.Blobs) bool {
	return a != nil && a.bodies[d] != nil && !kept.Here(d)
}
