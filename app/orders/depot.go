// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"mirrord/cluster/objects"
	"mirrord/internal/regular"
	"mirrord/internal/timed"
)

// Archives of a cluster with a depot lie there too, so that they outlive the node that made them:
// orders/ID/RAND/NAME, each an object. A node puts those of its disk there after the order is done, again and
// again until it succeeds; then the order names RAND. No collection of the depot looks at them: they are
// removed when the order expires, and what was left on the way is found by a daily look.

// depotFolder is where they lie in the store.
const depotFolder = "orders/"

// depotShelf has the archives of orders in a store of objects.
type depotShelf struct {
	objects objects.Store
	room    chan struct{}      // of size 1: one order is put at a time
	names   map[OrderID]string // RAND of those that did not get there yet; for who has the room
	swept   time.Time          // only for the goroutine that works
}

// newDepotShelf returns one over a store; with nil it has none.
func newDepotShelf(s objects.Store) *depotShelf {
	return &depotShelf{
		objects: s,
		room:    make(chan struct{}, 1),
		names:   map[OrderID]string{},
	}
}

// folderOf is where the objects of an order lie.
func folderOf(id OrderID) string { return depotFolder + id.Path() + "/" }

// upload puts the archives of an order on this disk into the depot, when one needs it and none is on its way.
// Archives that are not there may be on another disk, and are not waited for.
func (s *Orders) upload(ctx context.Context) {
	if s.depot.objects == nil {
		return
	}
	var next *Ordered
	s.read(func(all queue, _ *terms) {
		for _, x := range all {
			needs := x.State == Done && x.Held == s.node && x.Depot == "" && x.Same == 0
			if needs && len(x.Result.Archives) > 0 && (next == nil || x.Ended.Before(next.Ended)) && s.canBeHad(x) {
				next = x
			}
		}
	})
	if next == nil {
		return
	}
	select {
	case s.depot.room <- struct{}{}:
	default:
		return
	}
	x := *next
	s.group.Go(func() {
		defer s.tell()
		defer func() { <-s.depot.room }()
		err := s.putArchives(ctx, &x)
		if err == nil || ctx.Err() != nil {
			return
		}
		s.Log.Log(ctx, levelOf(err), "archives do not get to the depot; tried again", "order", x.Ref(), "err",
			err)
		_ = timed.Wait(ctx, s.Again)
	})
}

// putArchives puts the archives of an order into the depot. Those of another attempt replace those of the
// last one.
func (h *shelf) putArchives(ctx context.Context, x *Ordered) error {
	name := h.depot.names[x.OrderID]
	if name == "" {
		name = objects.RandomName()
		h.depot.names[x.OrderID] = name
	}
	folder := folderOf(x.OrderID) + name + "/"
	dir, err := h.folder(x.OrderID)
	if err != nil {
		return err
	}
	for _, a := range x.Result.Archives {
		file := filepath.Join(dir, filesDir, a.Name)
		if err = h.depot.put(ctx, folder+url.PathEscape(a.Name), file, a.Bytes); err != nil {
			break
		}
	}
	if err == nil {
		_, err = h.update(x.OrderID, func(y *Ordered) error {
			if y.State != Done || y.Held != h.node || (y.Depot != "" && y.Depot != name) {
				return errTaken
			}
			y.Depot = name
			return nil
		})
	}
	over := errors.Is(err, errTaken) || errors.Is(err, ErrNone)
	if over {
		err = errors.Join(err, h.depot.remove(context.WithoutCancel(ctx), folder))
	}
	if over || err == nil {
		delete(h.depot.names, x.OrderID)
	}
	return err
}

// put puts a file.
func (d *depotShelf) put(ctx context.Context, name, path string, size int64) error {
	f, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = d.objects.Put(ctx, name, io.NewSectionReader(f, 0, size), objects.Condition{})
	return err
}

// remove removes all objects in a folder.
func (d *depotShelf) remove(ctx context.Context, folder string) error {
	for o, err := range d.objects.List(ctx, folder) {
		if err == nil {
			err = d.objects.Delete(ctx, o.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withdraw removes the archives of an order that has expired from the depot. What stays is found by sweep.
func (h *shelf) withdraw(ctx context.Context, x Ordered) {
	if err := h.depot.remove(ctx, folderOf(x.OrderID)); err != nil {
		h.log.Error("archives stay in the depot; tried again tomorrow", "order", x.Ref(), "err", err)
	}
}

// sweepEvery is how often is looked for objects that belong to no order, and how old they are at least.
const sweepEvery = 24 * time.Hour

// sweep removes archives from the depot that no longer belong to an order.
func (s *Orders) sweep(ctx context.Context, now time.Time) {
	d := s.depot
	if d.objects == nil || now.Sub(d.swept) < sweepEvery || s.claims.rank(new(Ordered)) > 0 {
		return
	}
	d.swept = now
	s.group.Go(func() {
		if err := s.sweepDepot(ctx, now); err != nil && ctx.Err() == nil {
			s.Log.Error("the depot is not looked through for archives that no order has", "err", err)
		}
	})
}

func (h *shelf) sweepDepot(ctx context.Context, now time.Time) error {
	var old []objects.Info
	for o, err := range h.depot.objects.List(ctx, depotFolder) {
		if err != nil {
			return err
		}
		if now.Sub(o.Time) > sweepEvery {
			old = append(old, o)
		}
	}
	names := map[string]*Ordered{}
	h.read(func(all queue, _ *terms) {
		for id, x := range all {
			names[id.Path()] = x
		}
	})
	for _, o := range old {
		ref, rest, _ := strings.Cut(strings.TrimPrefix(o.Name, depotFolder), "/")
		name, _, _ := strings.Cut(rest, "/")
		x := names[ref]
		switch {
		case x == nil && now.Sub(o.Time) < h.keeps()+sweepEvery:
			continue // the keepers may have lost it, and a node tells of it later
		case x != nil && x.State == Done && x.Depot == name:
			continue
		}
		if err := h.depot.objects.Delete(ctx, o.Name); err != nil {
			return err
		}
	}
	return nil
}

// archiveParts is an object, of which one part is in memory. It is for one reader.
type archiveParts struct {
	ctx   context.Context
	store objects.Store
	name  string
	part  []byte // from at on
	at    int64
}

// readPart is how much of an archive is in memory.
const readPart = 1 << 20

// ReadAt implements io.ReaderAt.
func (r *archiveParts) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		if at < r.at || at >= r.at+int64(len(r.part)) {
			part, _, err := r.store.Get(r.ctx, r.name, at, readPart)
			if err == nil && len(part) == 0 {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				return n, err
			}
			r.part, r.at = part, at
		}
		some := copy(p[n:], r.part[at-r.at:])
		n, at = n+some, at+int64(some)
	}
	return n, nil
}

// archiveReader reads an archive.
type archiveReader struct{ *io.SectionReader }

// Close implements io.Closer.
func (archiveReader) Close() error { return nil }

// open returns a reader of an archive, whose first part is there.
func (d *depotShelf) open(ctx context.Context, name string, size int64) (archiveReader, error) {
	part, info, err := d.objects.Get(ctx, name, 0, readPart)
	if err == nil && info.Size != size {
		err = fmt.Errorf("%s has %d bytes in the depot, and must have %d", name, info.Size, size)
	}
	parts := &archiveParts{
		ctx:   ctx,
		store: d.objects,
		name:  name,
		part:  part,
	}
	return archiveReader{io.NewSectionReader(parts, 0, size)}, err
}
