// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"mirrord/store/disk"
	"mirrord/store/travel"
)

// checkin is one attempt to put a unit.
type checkin struct {
	depot     *Depot
	unit      *unit
	base      *Manifest // of the check-in before; nil: nothing counts
	known     *note
	condemned map[string]bool // objects that a collection will remove
	bodies    *Bodies
	out       *CheckedIn

	segments
	chunks map[SHA256]Chunk // that are put, as chunks of the new manifest
	number map[string]int   // of objects of the new manifest
	m      *Manifest
	thin   map[int]bool // objects of base of which little is in use
}

// put puts chunks and bodies, and returns the manifest that names them.
func (c *checkin) put(ctx context.Context) (*Manifest, error) {
	c.m = &Manifest{Format: Version, Site: c.unit.name}
	c.chunks, c.number, c.thin = map[SHA256]Chunk{}, map[string]int{}, thin(c.base)
	if err := c.begin(ctx, c.depot.Store, "data/"+c.unit.name+"/"); err != nil {
		return nil, err
	}
	defer c.end()
	for i := range c.unit.files {
		f := &c.unit.files[i]
		c.depot.Note(fmt.Sprintf("%s: reading %s", c.unit.name, f.Name))
		if err := c.putFile(ctx, f); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if err := c.flush(); err != nil {
		return nil, err
	}
	for i := range c.m.Segments {
		if c.m.Segments[i].Size == 0 {
			c.m.Segments[i].Size = c.sizes[c.m.Segments[i].Name]
		}
	}
	return c.m, c.putBodies(ctx)
}

// thin lists the objects that are put again because little of them is in use, or because there are many
// small ones.
func thin(m *Manifest) map[int]bool {
	out := map[int]bool{}
	if m == nil {
		return out
	}
	for i, live := range m.live() {
		size := m.Segments[i].Size
		if live < size/2 || (len(m.Segments) > manyObjects && size < smallObject) {
			out[i] = true
		}
	}
	return out
}

// With more than manyObjects objects, those below smallObject are put again as one.
const (
	manyObjects = 64
	smallObject = 1 << 20
)

// putFile appends a file to the manifest.
func (c *checkin) putFile(ctx context.Context, f *travel.File) error {
	out := File{Name: f.Name, Mode: uint32(f.Info.Mode().Perm()), Size: f.Size()}
	err := c.putChunks(ctx, f, &out)
	c.m.Files = append(c.m.Files, out)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// putChunks puts what a file has: pieces where the chunks were before, then pieces of new data.
func (c *checkin) putChunks(ctx context.Context, f *travel.File, out *File) error {
	at := int64(0)
	if was := c.base.file(f.Name); was != nil {
		untouched := was.Size == f.Size() && c.known.has(f)
		for i := range was.Chunks {
			w := &was.Chunks[i]
			if at+w.Size > f.Size() {
				break
			}
			if (untouched && c.keeps(w)) || c.isAway(f, at, w) {
				out.Chunks = append(out.Chunks, c.keep(w))
			} else if err := c.putChunk(ctx, f, at, w.Size, w, out); err != nil {
				return err
			}
			at += w.Size
		}
	}
	for size := chunkSize(f); at < f.Size(); at += size {
		if err := c.putChunk(ctx, f, at, min(size, f.Size()-at), nil, out); err != nil {
			return err
		}
	}
	return nil
}

// maxChunk is the largest chunk.
const maxChunk = 1 << 20

// chunkSize is how long the chunks of a file are. A database is changed page by page, all else is added to.
func chunkSize(f *travel.File) int64 {
	size := int64(maxChunk)
	if f.Name == "site.db" || f.Name == "mirror.db" {
		for size = 64 << 10; f.Size() > size<<10 && size < maxChunk; size *= 4 {
		}
	}
	return size
}

// keeps reports whether a chunk of the manifest before stays where it lies.
func (c *checkin) keeps(w *Chunk) bool {
	return !c.thin[w.Segment] && !c.condemned[c.base.Segments[w.Segment].Name]
}

// isAway reports whether a chunk is one that a check-out has left in the depot, and that stays where it lies,
// however little of its object is in use. One that a collection will remove is fetched, and put again.
func (c *checkin) isAway(f *travel.File, at int64, w *Chunk) bool {
	return c.unit.from != nil && c.unit.from.Left(f.Name, at, w.Size, w.SHA256) &&
		!c.condemned[c.base.Segments[w.Segment].Name]
}

// keep returns a chunk of the manifest before as one of the new manifest.
func (c *checkin) keep(w *Chunk) Chunk {
	o := c.base.Segments[w.Segment]
	kept := *w
	kept.Segment = c.object(o.Name, o.Size)
	c.chunks[kept.SHA256] = kept
	return kept
}

// object returns the number of an object in the new manifest.
func (c *checkin) object(name string, size int64) int {
	n, ok := c.number[name]
	if !ok {
		n = len(c.m.Segments)
		c.number[name] = n
		c.m.Segments = append(c.m.Segments, Segment{Name: name, Size: size})
	}
	return n
}

// putChunk reads a piece of a file and puts it, unless was, the chunk that was there, is the same. A file
// that was cut since it was opened, because a run drops what was never committed, ends where it ends: io.EOF.
func (c *checkin) putChunk(
	ctx context.Context, f *travel.File, at, n int64, was *Chunk, out *File,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.unit.from != nil {
		if err := c.unit.from.Bring(f.Name, at, at+n); err != nil {
			return err
		}
	}
	raw := make([]byte, n)
	k, err := f.ReadAt(raw, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if raw = raw[:k]; int64(k) == n {
		err = nil
	} else if out.Size, was = at+int64(k), nil; k == 0 {
		return io.EOF
	}
	return errors.Join(c.place(raw, was, out), err)
}

// place appends a piece to a file. It is put, unless it is put already, or was is the same: a chunk of the
// check-in before.
func (c *checkin) place(raw []byte, was *Chunk, out *File) error {
	digest := digestOf(raw)
	chunk, ok := c.chunks[digest]
	if !ok && was != nil && was.SHA256 == digest && c.keeps(was) {
		chunk, ok = c.keep(was), true
	}
	if !ok {
		name, at, stored, err := c.add(raw)
		if err != nil {
			return err
		}
		chunk = Chunk{
			SHA256:  digest,
			Size:    int64(len(raw)),
			Segment: c.object(name, 0),
			At:      at,
			Stored:  stored,
		}
		c.chunks[digest] = chunk
	}
	out.Chunks = append(out.Chunks, chunk)
	return nil
}

// putBodies puts the bodies that the unit refers to and the depot lacks.
func (c *checkin) putBodies(ctx context.Context) error {
	if c.unit.bodies == nil {
		return nil
	}
	b := c.bodies
	if c.base != nil {
		if err := b.load(ctx, c.base.Bodies); err != nil {
			return err
		}
	}
	b.avoid(c.condemned)
	var need [][32]byte
	put := 0
	err := c.unit.bodies(ctx, func(digest [32]byte) error {
		if b.place(digest) != nil {
			need = append(need, digest)
			return nil
		}
		n, err := b.take(c.unit.local, digest)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, disk.ErrDamaged) {
			c.out.Lacks++ // verify says so
			return nil
		}
		if err != nil {
			return err
		}
		if put++; put%100 == 0 {
			c.depot.Note(fmt.Sprintf("%s: %d bodies", c.unit.name, put))
		}
		need = append(need, digest)
		c.sent.Add(n)
		return nil
	})
	if err == nil {
		err = b.Sync()
	}
	if err != nil {
		return err
	}
	c.out.Bodies += put
	used := map[string]bool{}
	for _, digest := range need {
		if name := b.place(digest).object; !used[name] {
			used[name] = true
			c.m.Bodies = append(c.m.Bodies, name)
		}
	}
	slices.Sort(c.m.Bodies)
	return nil
}
