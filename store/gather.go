// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"mirrord/store/record"
)

// gatherer puts the documents of a run together into bundles, which it encodes and writes behind those who
// bring them: with one call those of a batch, or half a megabyte. A document has a place at once, by which
// the gatherer knows it, and Commit asks for the one in the packs. Gathered documents that are not committed
// do not count. Safe for concurrent use.
type gatherer struct {
	packs *packs

	mu      sync.Mutex
	changed *sync.Cond // the queue is shorter, more is written, or the work has ended
	open    bundling   // takes documents
	queue   []bundling // full ones, the oldest first
	queued  int        // bytes of documents in queue, and of those being encoded
	working bool       // a goroutine encodes and writes
	buffers [][]byte   // for open
	begun   int64      // bundles that got a document
	wanted  int64      // bundles that Commit waits for
	written []bundlePlace
	failed  error // of a write: the bundles that it had are lost

	// of the goroutine that works
	encoder frameEncoder
	frames  []byte        // that are not written yet, one after the other
	sizes   []bundlePlace // of them
}

// bundling is a bundle that is not encoded yet.
type bundling struct {
	raw  []byte   // payloads of the documents
	ends []uint32 // of them
}

// errLostBundle says that a record refers to a document of which the frame was never written.
var errLostBundle = errors.New("its frame is lost")

// bundlePlace is where a bundle lies.
type bundlePlace struct {
	at        record.Place
	documents int
}

func newGatherer(p *packs) *gatherer {
	g := &gatherer{packs: p}
	g.changed = sync.NewCond(&g.mu)
	return g
}

// gatherBytes is how many bytes of documents may wait to be encoded.
const gatherBytes = 512 << 10

// gatherWrite is after how many bytes frames are written although no batch is being committed.
const gatherWrite = 512 << 10

// gatheredPack is the number of the pack of a document that may not be written yet: Off is the number of its
// bundle, and Len that of the document within, both from 1.
const gatheredPack = math.MaxUint32

// waits reports whether the place of a document is one that only the gatherer knows.
func waits(at record.Place) bool { return at.Pack == gatheredPack }

// add takes a document, by the payload of its frame. It waits while too much is to be encoded.
func (g *gatherer) add(payload []byte) record.Place {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		if n := len(g.open.raw); n > 0 && n+len(payload) > bundleBytes {
			g.shut()
		}
		if g.queued <= gatherBytes {
			break
		}
		g.changed.Wait()
	}
	if len(g.open.raw) == 0 {
		g.begun++
	}
	if n := len(g.buffers); g.open.raw == nil && n > 0 {
		g.open.raw, g.buffers = g.buffers[n-1], g.buffers[:n-1]
	}
	g.open.raw = append(g.open.raw, payload...)
	g.open.ends = append(g.open.ends, uint32(len(g.open.raw)))
	at := record.Place{Pack: gatheredPack, Off: g.begun, Len: uint32(len(g.open.ends))}
	if len(g.open.raw) >= bundleBytes {
		g.shut()
	}
	return at
}

// shut hands the open bundle to the goroutine that works. The caller holds mu.
func (g *gatherer) shut() {
	g.queue = append(g.queue, g.open)
	g.queued += len(g.open.raw)
	g.open = bundling{}
	g.start()
}

// start starts the worker goroutine, unless it runs. The caller holds mu.
func (g *gatherer) start() {
	if !g.working {
		g.working = true
		go g.work()
	}
}

// work encodes the queue, and writes the result when it is large enough or a commit waits for it.
func (g *gatherer) work() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.failed == nil {
		asked := g.wanted > int64(len(g.written))
		enough := asked && (len(g.queue) == 0 || g.wanted <= int64(len(g.written)+len(g.sizes)))
		switch {
		case len(g.sizes) > 0 && (enough || len(g.frames) >= gatherWrite):
			g.write()
		case len(g.queue) > 0:
			g.encode()
		default:
			g.working = false
			g.changed.Broadcast()
			return
		}
		g.changed.Broadcast()
	}
	g.queue, g.queued, g.working = nil, 0, false
	g.changed.Broadcast()
}

// encode encodes the first bundle of the queue. The caller holds mu, which is free meanwhile.
func (g *gatherer) encode() {
	o := g.queue[0]
	g.queue = slices.Delete(g.queue, 0, 1)
	g.mu.Unlock()
	was := len(g.frames)
	g.frames = g.encoder.frame(g.frames, o.raw, o.ends)
	g.mu.Lock()
	g.queued -= len(o.raw)
	g.sizes = append(g.sizes, bundlePlace{at: record.Place{Len: uint32(len(g.frames) - was)},
		documents: len(o.ends)})
	if cap(o.raw) <= maxUnpackedSize && len(g.buffers) < gatherBytes/bundleBytes {
		g.buffers = append(g.buffers, o.raw[:0])
	}
}

// write writes the frames that are encoded. The caller holds mu, which is free meanwhile.
func (g *gatherer) write() {
	g.mu.Unlock()
	at, err := g.packs.append(g.frames)
	g.mu.Lock()
	g.failed = err
	for _, b := range g.sizes {
		at.Len = b.at.Len
		b.at = at
		g.written = append(g.written, b)
		at.Off += int64(at.Len)
	}
	if g.frames, g.sizes = g.frames[:0], g.sizes[:0]; cap(g.frames) > 2*gatherWrite {
		g.frames = nil
	}
}

// commit returns when the documents that results refer to lie in the packs. They are not synced.
func (g *gatherer) commit(done []*record.Done) error {
	last := int64(0)
	for _, d := range done {
		if d.Body == record.PackBody && waits(d.At) {
			last = max(last, d.At.Off)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if last > int64(len(g.written)) && g.failed == nil {
		if g.wanted = max(g.wanted, last); last == g.begun && len(g.open.raw) > 0 {
			g.shut()
		}
		g.start()
	}
	for g.working && last > int64(len(g.written)) {
		g.changed.Wait()
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
	if g.failed != nil || at.Off < 1 || at.Off > int64(len(g.written)) {
		return at, false
	}
	w := g.written[at.Off-1]
	return placeOf(w.at, at.Len, w.documents), true
}

// rest gives the memory back that the next bundles would take: no documents come for now.
func (g *gatherer) rest() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.buffers = nil; !g.working && len(g.sizes) == 0 {
		g.encoder.enc, g.frames = nil, nil
	}
}

// stop drops what was not written, and waits for the end of encoding.
func (g *gatherer) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue, g.wanted = nil, 0
	for g.working {
		g.changed.Wait()
	}
}

// GatherFrame is AppendFrame for a document that Commit writes, together with others: the record that refers
// to the place that it returns is to be committed, and until then the document cannot be read.
func (s *Frames) GatherFrame(w *FrameWriter, m FrameMeta, links, body []byte) (record.Place, error) {
	if len(body) > maxKept && !w.quick {
		return s.appendLarge(w, m, links, body)
	}
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
	return s.packs.append(w.pack())
}

// committed returns the record of a result with the place of its document in the packs.
func (g *gatherer) committed(d *record.Done) (*record.Resource, error) {
	if d.Body != record.PackBody || !waits(d.At) {
		return &d.Resource, nil
	}
	r := d.Resource
	at, ok := g.place(r.At)
	if !ok {
		return nil, fmt.Errorf("commit batch: the document of %s: %w", r.URL, errLostBundle)
	}
	r.At = at
	return &r, nil
}
