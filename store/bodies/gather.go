// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"fmt"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"

	"mirrord/store/record"
)

// Frames is the packs of an open site, to which documents are appended. It puts documents of a run together
// into bundles: one that is gathered has a place at once, and Commit and Placed lead to the one in the packs.
// Gathered documents that are not committed do not count. Safe for concurrent use.
type Frames struct {
	*Packs
	Plain bool // full frames are written as they are, until rests take their places

	encoder frameEncoder
	answers *zstd.Decoder // nil until there are some

	mu      sync.Mutex
	raw     []byte   // payloads of the documents of the bundle to come
	ends    []uint32 // of them
	frame   []byte   // the last one that was written
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

// waits reports whether the place of a document is one that only Frames knows.
func waits(at record.Place) bool { return at.Pack == gatheredPack }

// write writes the bundle to come. The caller holds mu.
func (s *Frames) write() {
	if len(s.ends) > 0 && s.failed == nil {
		var at record.Place
		s.frame = s.encoder.documents(s.frame[:0], s.raw, s.ends)
		if at, s.failed = s.Append(s.frame); s.failed == nil {
			s.written = append(s.written, bundlePlace{at, len(s.ends)})
		}
	}
	s.raw, s.ends = s.raw[:0], s.ends[:0]
}

// Commit writes the documents that results refer to, as far as they are not in the packs. They are not
// synced.
func (s *Frames) Commit(done []*record.Done) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range done {
		if d.Body == record.PackBody && waits(d.At) && d.At.Off > int64(len(s.written)) {
			s.write()
			break
		}
	}
	return s.failed
}

// place returns where a document lies; ok is false while it is not written.
func (s *Frames) place(at record.Place) (_ record.Place, ok bool) {
	if !waits(at) {
		return at, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.Off < 1 || at.Off > int64(len(s.written)) {
		return at, false
	}
	w := s.written[at.Off-1]
	return placeOf(w.at, at.Len, w.documents), true
}

// GatherFrame stores a document with its links, mostly together with others: the record that refers to the
// place that it returns is to be committed, and until then the document cannot be read. Safe for concurrent
// use with a FrameWriter for each goroutine.
func (s *Frames) GatherFrame(w *FrameWriter, m FrameMeta, links, body []byte) (record.Place, error) {
	if err := w.fill(m, links, body); err != nil {
		return record.Place{}, err
	}
	return s.keep(w)
}

// keep gathers the document that w was filled with. A large one, and one of a one-off mirror, is appended.
func (s *Frames) keep(w *FrameWriter) (record.Place, error) {
	payload := w.buf[HeaderSize:]
	if s.Plain || len(payload) > maxBundled {
		defer w.letGo()
		return s.Append(w.pack())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.raw)+len(payload) > bundleBytes {
		s.write()
	}
	s.raw = append(s.raw, payload...)
	s.ends = append(s.ends, uint32(len(s.raw)))
	return record.Place{Pack: gatheredPack, Off: int64(len(s.written)) + 1, Len: uint32(len(s.ends))}, nil
}

// Placed returns the record of a result with the place of its document in the packs.
func (s *Frames) Placed(d *record.Done) (*record.Resource, error) {
	r := d.Resource
	if d.Body != record.PackBody {
		return &r, nil
	}
	at, ok := s.place(r.At)
	if !ok {
		return nil, fmt.Errorf("commit batch: the document of %s was never written", r.URL)
	}
	r.At = at
	return &r, nil
}

// AppendFrame stores a document by itself.
func (s *Frames) AppendFrame(w *FrameWriter, m FrameMeta, links, body []byte) (record.Place, error) {
	if err := w.fill(m, links, body); err != nil {
		return record.Place{}, err
	}
	return s.Append(w.pack())
}

// Grown is how many bytes were appended since the packs were opened.
func (s *Frames) Grown() int64 { return s.grown.Load() }

// OneOff reports whether the documents are those of a one-off mirror.
func (s *Frames) OneOff() bool { return s.Plain }
