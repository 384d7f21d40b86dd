// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"mirrord/store/blobs"
	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// Needed is what of a site must be here at once: for its published tree, and for the next run.
type Needed struct {
	LastPack uint32 // to which frames are appended
	Places   []record.Place
	Bodies   map[[32]byte]bool // that are published as they came
}

// NeededNow finds what the records that are part of the mirror, and the unfinished run, refer to. What that
// is over, if it is a delta, only who reads it knows.
func NeededNow(ctx context.Context, s *Site) (*Needed, error) {
	n := &Needed{Bodies: map[[32]byte]bool{}}
	add := func(r *record.Resource) error {
		switch r.Body {
		case record.PackBody:
			n.Places = append(n.Places, r.At)
		case record.BlobBody:
			n.Bodies[r.Digest] = true
		}
		return ctx.Err()
	}
	err := s.Records.Resources(func(r *record.Resource) error {
		if !r.InSet {
			return nil
		}
		return add(r)
	})
	if err != nil {
		return nil, err
	}
	err = s.Records.Replay(func(uint32, record.NewURL) error { return ctx.Err() },
		func(r *record.Resource, _ []byte, _ bool) error { return add(r) })
	if err != nil {
		return nil, err
	}
	slices.SortFunc(n.Places, func(a, b record.Place) int {
		return cmp.Or(cmp.Compare(a.Pack, b.Pack), cmp.Compare(a.Off, b.Off))
	})
	n.LastPack, _, err = s.Records.PacksEnd()
	return n, err
}

// PackNumber is the number of the pack that is a file of a site's folder; 0 for another file.
func PackNumber(file string) uint32 {
	name, _ := strings.CutPrefix(file, "packs/")
	return disk.NumberOf(name, bodies.PackName)
}

// LeftAway reports whether a check-out left a part of a file in the depot, with those bytes: they count,
// regardless of the local file.
func (t *Travelling) LeftAway(file string, from, size int64, digest SHA256) bool {
	a := t.away
	num := PackNumber(file)
	if num == 0 || !a.Lists(num) {
		return false
	}
	parts := a.packs[num].parts
	i := sort.Search(len(parts), func(i int) bool { return parts[i].From >= from })
	return i < len(parts) && parts[i].From == from && parts[i].Size == size && parts[i].SHA256 == digest
}

// Bring makes a range of a file be here.
func (t *Travelling) Bring(file string, from, to int64) error {
	if num := PackNumber(file); num > 0 {
		return t.packs.Bring(num, from, to)
	}
	return nil
}

// BringAll fetches what a check-out left in the depot, of packs and of the bodies that the site refers to.
// It returns how many bytes that was. A site that a process has open for writing is ErrLocked in the end.
func BringAll(ctx context.Context, s *State, name string) (bytes int64, err error) {
	a, err := s.aways.in(s.Root, "sites/"+name+"/"+AwayName, name)
	if a == nil || err != nil {
		return 0, err
	}
	defer explain(&err, "bring all of %s", name)
	if bytes, err = bringAll(ctx, s, name); err != nil {
		return bytes, err
	}
	h, err := s.HoldSite(name)
	if err != nil {
		return bytes, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	file := "sites/" + name + "/" + AwayName
	fi, err := s.Root.Lstat(file)
	if err != nil || !os.SameFile(fi, a.info) {
		return bytes, disk.Err("bring all", disk.UnlessGone(err)) // another check-out came between
	}
	d, err := s.Root.Open("sites")
	if err == nil {
		err = errors.Join(disk.SyncFS(int(d.Fd())), d.Close())
	}
	if err == nil {
		err = s.Root.Remove(file)
	}
	return bytes, disk.Err("bring all", err)
}

// bringAll is BringAll but for the file that says what was left.
func bringAll(ctx context.Context, s *State, name string) (bytes int64, err error) {
	view, err := s.ViewSite(name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	if view.away == nil {
		return 0, nil
	}
	for i := range view.away.Packs {
		p := &view.away.Packs[i]
		if err := ctx.Err(); err != nil {
			return bytes, err
		}
		pack := view.away.packs[p.Number]
		f, err := view.packs.File(p.Number)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a collection has removed it
		}
		if err != nil {
			return bytes, disk.ReadErr("read pack", err)
		}
		for _, i := range pack.look(f, pack.missing(0, math.MaxInt64)) {
			bytes += pack.parts[i].Size
		}
		if err := view.packs.Bring(p.Number, 0, math.MaxInt64); err != nil {
			return bytes, err
		}
	}
	var small []AwayPart
	err = UsedBodies(ctx, view, func(d [32]byte) error {
		body := view.away.bodies[d]
		if body == nil || s.Bodies.Here(d) {
			return nil
		}
		if bytes += body.Size; body.Size < togetherBelow {
			small = append(small, body.AwayPart)
			return nil
		}
		return s.Bodies.Bring(d, fs.ErrNotExist)
	})
	if err == nil {
		err = bringSmall(s.Bodies, view.away, small)
	}
	if err != nil {
		return bytes, err
	}
	return bytes, s.Bodies.Sync()
}

// togetherBelow is the size from which on bodies are fetched one by one.
const togetherBelow = 1 << 20

// bringSmall fetches small bodies together.
func bringSmall(b *blobs.Blobs, a *awaySite, parts []AwayPart) error {
	if err := b.Spool().Hold(); err != nil {
		return err
	}
	defer b.Spool().Unhold()
	return a.parts("bodies", parts, func(p *AwayPart, raw []byte) error {
		return b.Put(p.SHA256, raw, time.Unix(0, a.bodies[p.SHA256].Modified))
	})
}

// hasOnly reports whether only a depot has a body.
func (a *awaySite) hasOnly(d [32]byte, kept *blobs.Blobs) bool {
	return a != nil && a.bodies[d] != nil && !kept.Here(d)
}
