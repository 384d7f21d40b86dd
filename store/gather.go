// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"math"
	"sync"

	"mirrord/store/record"
)

// gatherer puts the documents of a run together into bundles. A document has a place at once, by which the
// gatherer knows it, and Commit asks for the one in the packs. Gathered documents that are not committed
// do not count. Safe for concurrent use.
type gatherer struct {
	packs *packs
	enc   *frameEncoder // of the site

	mu      sync.Mutex
	raw     []byte   // payloads of the documents of the bundle to come
	ends    []uint32 // of them
	written []bundlePlace
	failed  error // of a write: its bundle is lost
}

// bundlePlace is where a bundle lies.
type bundlePlace struct {
	at        record.Place
	documents int
}

// gatheredPack is the number of the pack of a document that may not be written yet: Off is the number of its
// bundle, and Len that of the document within, both from 1.
const gatheredPack = math.MaxUint32

// waits reports whether the place of a document is one that only the gatherer knows.
func waits(at record.Place) bool { return at.Pack == gatheredPack }

// add takes a document, by the payload of its frame.
func (g *gatherer) add(payload []byte) record.Place {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.raw)+len(payload) > bundleBytes {
		g.write()
	}
	g.raw = append(g.raw, payload...)
	g.ends = append(g.ends, uint32(len(g.raw)))
	return record.Place{Pack: gatheredPack, Off: int64(len(g.written)) + 1, Len: uint32(len(g.ends))}
}

// write writes the bundle to come. The caller holds mu.
func (g *gatherer) write() {
	if len(g.ends) > 0 && g.failed == nil {
		var at record.Place
		if at, g.failed = g.packs.append(g.enc.frame(nil, g.raw, g.ends)); g.failed == nil {
			g.written = append(g.written, bundlePlace{at, len(g.ends)})
		}
	}
	g.raw, g.ends = g.raw[:0], g.ends[:0]
}

// commit writes the documents that results refer to, as far as they are not in the packs. They are not
// synced.
func (g *gatherer) commit(done []*record.Done) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range done {
		if d.Body == record.PackBody && waits(d.At) && d.At.Off > int64(len(g.written)) {
			g.write()
			break
		}
	}
	return g.failed
}

// place returns where a document lies; ok is false while it is not written.
func (g *gatherer) place(at record.Place) (_ record.Place, ok bool) {
	if !waits(at) {
		return at, true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if at.Off < 1 || at.Off > int64(len(g.written)) {
		return at, false
	}
	w := g.written[at.Off-1]
	return placeOf(w.at, at.Len, w.documents), true
}

// GatherFrame stores a document with its links, mostly together with others: the record that refers to the
// place that it returns is to be committed, and until then the document cannot be read. Safe for concurrent
// use with a FrameWriter for each goroutine.
func (s *Frames) GatherFrame(w *FrameWriter, m FrameMeta, links, body []byte) (record.Place, error) {
	if err := w.fill(w.head(m), links, body); err != nil {
		return record.Place{}, err
	}
	return s.keep(w)
}

// keep gathers the document that w was filled with. A large one, and one of a one-off mirror, is appended.
func (s *Frames) keep(w *FrameWriter) (record.Place, error) {
	if payload := w.buf[frameHeader:]; !w.quick && !w.plain && len(payload) <= maxBundled {
		return s.gather.add(payload), nil
	}
	defer w.letGo()
	return s.packs.append(w.pack())
}

// committed returns the record of a result with the place of its document in the packs.
func (g *gatherer) committed(d *record.Done) (*record.Resource, error) {
	r := d.Resource
	if d.Body != record.PackBody {
		return &r, nil
	}
	at, ok := g.place(r.At)
	if !ok {
		return nil, fmt.Errorf("commit batch: the document of %s was never written", r.URL)
	}
	r.At = at
	return &r, nil
}

// Documents reads the packs of a site without its database, and without keeping anybody from it. A pack that
// was compacted away meanwhile is ErrDamaged: the records say where its documents are now. Safe for
// concurrent use.
type Documents struct{ packs *packs }

// ReadFrame decodes a document.
func (d *Documents) ReadFrame(r *FrameReader, at record.Place) (Frame, error) {
	return d.packs.read(r, at)
}

// Close lets go of the packs.
func (d *Documents) Close() error { return d.packs.close() }

// Frames is the packs of an open site, to which documents are appended.
type Frames struct {
	packs   *packs
	gather  *gatherer
	encoder frameEncoder
	quick   bool // full frames are written in S2, which takes less time and more room
	plain   bool // full frames are written as they are, until rests take their places
}

// ReadFrame decodes a document of the packs.
func (s *Frames) ReadFrame(r *FrameReader, at record.Place) (Frame, error) {
	return s.packs.read(r, at)
}

// OneOff reports whether the documents are those of a one-off mirror.
func (s *Frames) OneOff() bool { return s.plain }
