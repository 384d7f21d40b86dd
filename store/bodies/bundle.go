// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"

	"mirrord/store/disk"
	"mirrord/store/record"
)

// A bundle is a frame of many documents. Place.Doc says which of them is meant. Pages of a site repeat each
// other, so a bundle takes about 0.6 of the room and of the time of single frames. A document is read by
// unpacking the whole bundle; so readers share those that were unpacked last (unpackedBundles), and what
// reads many goes by their order.
const (
	bundleMagic  = "mPb1"
	bundleHeader = 4 // bytes between the checksum and the index

	// bytes of documents after which a bundle is full. 16 468 pages of documentation, 412 MB, take 102 MB in
	// frames of one document, 68 MB in bundles of 64 KiB, 55 MB of 256 KiB, 49 MB of 1 MiB. Unpacking one takes
	// some 0.15 ms.
	bundleBytes = 256 << 10
	// bytes of the largest document that shares a bundle, or is encoded behind its worker
	maxBundled = 512 << 10
	// bytes of all documents of a bundle that are believed
	maxBundle = 4 << 20
)

// bundleIndex is what a bundle says of its documents before it is unpacked.
type bundleIndex struct {
	ends  []uint32 // of the documents within the unpacked bytes
	start int      // of the payload within the frame
}

func (x *bundleIndex) size() int {
	if len(x.ends) == 0 {
		return 0
	}
	return int(x.ends[len(x.ends)-1])
}

// bounds are where the unpacked document of a number, from 1, begins and ends; ok is false for other numbers.
func (x *bundleIndex) bounds(doc uint32) (from, to uint32, ok bool) {
	if doc == 0 || int64(doc) > int64(len(x.ends)) {
		return 0, 0, false
	}
	if doc > 1 {
		from = x.ends[doc-2]
	}
	return from, x.ends[doc-1], true
}

// parseBundle reads the index of a bundle, of which raw is the frame or a beginning that is long enough.
func parseBundle(raw []byte) (x bundleIndex, err error) {
	if len(raw) < HeaderSize+bundleHeader || string(raw[:4]) != bundleMagic {
		return x, fmt.Errorf("no frame of many documents here: %w", disk.ErrDamaged)
	}
	n, b := binary.LittleEndian.Uint32(raw[HeaderSize:]), raw[HeaderSize+bundleHeader:]
	if int64(n) > int64(len(b)) {
		return x, fmt.Errorf("%w: a frame of %d documents", disk.ErrDamaged, n)
	}
	x.ends = make([]uint32, n)
	end := uint64(0)
	for i := range x.ends {
		length, k := binary.Uvarint(b)
		if end += length; k <= 0 || length > maxBundle || end > maxBundle {
			return x, fmt.Errorf("%w: the index of a frame of %d documents", disk.ErrDamaged, n)
		}
		x.ends[i], b = uint32(end), b[k:]
	}
	x.start = len(raw) - len(b)
	return x, nil
}

// decodeSlack is how many bytes more than a frame's contents a buffer has: else the decoder takes another.
const decodeSlack = 64

// unpackedBundles caches the unpacked bundles of a site's packs that were read last: documents read in
// sequence are mostly stored together. All readers of the packs share them, and copy what they take. Safe for
// concurrent use.
type unpackedBundles struct {
	most int // of them

	mu    sync.Mutex
	list  []*unpackedBundle // the one that was used last at the end
	spare []byte            // the memory of one that was dropped; without it a kept run takes .03 more
}

// unpackedBundle is one of them.
type unpackedBundle struct {
	at    record.Place // of the frame
	out   []byte
	index bundleIndex
}

const maxUnpacked = 4 // bundles

// append appends the document at a place to dst; cached is false when its bundle has to be read.
func (c *unpackedBundles) append(dst []byte, at record.Place) (b []byte, cached bool, err error) {
	frame := at
	frame.Doc = 0
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.list, func(u *unpackedBundle) bool { return u.at == frame })
	if i < 0 {
		return dst, false, nil
	}
	u := c.list[i]
	c.list = append(slices.Delete(c.list, i, i+1), u)
	b, err = u.append(dst, at.Doc)
	return b, true, err
}

func (u *unpackedBundle) append(dst []byte, doc uint32) ([]byte, error) {
	from, to, ok := u.index.bounds(doc)
	if !ok {
		return dst, fmt.Errorf("%w: document %d of a frame of %d", disk.ErrDamaged, doc, len(u.index.ends))
	}
	return append(dst, u.out[from:to]...), nil
}

func (c *unpackedBundles) add(u *unpackedBundle) {
	u.at.Doc = 0
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list = append(c.list, u); len(c.list) > c.most {
		c.spare = c.list[0].out
		c.list = slices.Delete(c.list, 0, 1)
	}
}

func (c *unpackedBundles) buffer() (b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, c.spare = c.spare, nil
	return b[:0]
}

// drop forgets the bundles of a pack, all when it is 0.
func (c *unpackedBundles) drop(pack uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = slices.DeleteFunc(c.list, func(u *unpackedBundle) bool { return pack == 0 || u.at.Pack == pack })
}

// placeOf is the place of a document, from 1, in a frame that was made of count documents.
func placeOf(frame record.Place, doc uint32, count int) record.Place {
	if frame.Doc = doc; count == 1 {
		frame.Doc = 0
	}
	return frame
}

func (r *FrameReader) unbundle(out, raw []byte, x *bundleIndex) ([]byte, error) {
	got, err := r.dec.DecodeAll(raw[x.start:], slices.Grow(out, x.size()+decodeSlack))
	if err != nil {
		return nil, fmt.Errorf("frame: %w: %v", disk.ErrDamaged, err)
	}
	if len(got) != x.size() {
		return nil, fmt.Errorf("frame: %w: %d bytes of documents, not %d", disk.ErrDamaged, len(got), x.size())
	}
	return got, nil
}

// document unpacks one of the documents of a bundle. It is valid until r is used again.
func (p *Packs) document(r *FrameReader, at record.Place) ([]byte, error) {
	if _, err := p.open(at); err != nil {
		return nil, err
	}
	doc, cached, err := p.unpacked.append(r.out[:0], at)
	if !cached {
		var raw, out []byte
		var x bundleIndex
		if raw, err = p.Frame(r, at); err == nil {
			x, err = parseBundle(raw)
		}
		if err == nil {
			out, err = r.unbundle(p.unpacked.buffer(), raw, &x)
		}
		if err != nil {
			return nil, err
		}
		u := &unpackedBundle{at, out, x}
		doc, err = u.append(r.out[:0], at.Doc)
		p.unpacked.add(u)
	}
	r.out = kept(doc)
	return doc, err
}

// bundleAt reads the index of the bundle at a place, and believes it.
func (p *Packs) bundleAt(at record.Place) (x bundleIndex, err error) {
	f, err := p.open(at)
	if err != nil {
		return x, err
	}
	for n := min(int(at.Len), 4<<10); ; n = int(at.Len) {
		raw := make([]byte, n)
		if _, err := f.ReadAt(raw, at.Off); err != nil && err != io.EOF {
			return x, disk.ReadErr("read pack", err)
		}
		if x, err = parseBundle(raw); err == nil || n == int(at.Len) {
			return x, err
		}
	}
}
