// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"bytes"
	"hash/crc32"
	"math/bits"

	"github.com/klauspost/compress/zstd"

	"mirrord/internal/zst"
	"mirrord/store/record"
)

// AppendFrameOver is GatherFrame for a document that takes the place of the one at old, or says nearly what
// the one at like says; places that are zero say nothing. It is written as a delta over the full frame of one
// of them where that pays. What lies there may be missing or damaged, which costs the space of a full frame
// and nothing else.
//
// Documents like others of more than about 128 KiB are stored in full. One writer for all that are like
// others is enough, and saves the memory of more.
func (s *Frames) AppendFrameOver(
	w *FrameWriter, m FrameMeta, links, body []byte, old, like record.Place,
) (record.Place, error) {
	if err := w.fill(m, links, body); err != nil {
		return record.Place{}, err
	}
	if s.Plain { // a delta over a rest would be lost with it
		return s.keep(w)
	}
	over := func(at record.Place, small int) []byte {
		// where the other document is not written yet, mostly both get into one bundle, which takes as little
		if at, written := s.place(at); written && at.Len > 0 {
			return w.over(s.Packs, at, small)
		}
		return nil
	}
	raw := over(old, smallDelta)
	if like.Len > 0 && (raw == nil || len(raw) > len(w.buf)/8) {
		raw = over(like, likeDelta)
	}
	if raw == nil {
		return s.keep(w)
	}
	return s.Append(raw)
}

// over returns the document that w was filled with as a delta over the full frame of the one at a place, nil
// when it does not pay. It is valid until the next call. Documents of small bytes together are encoded by
// what all writers share; of others, those that are like another one are not encoded.
func (w *FrameWriter) over(p *Packs, at record.Place, small int) []byte {
	payload := w.buf[HeaderSize:]
	if len(payload) > maxDelta || (small == likeDelta && len(payload) > likeDelta*5/8) {
		return nil
	}
	if w.base == nil {
		w.base = NewFrameReader()
	}
	bases, err := p.Under(at)
	if err != nil {
		return nil
	}
	if n := len(bases); n > 0 {
		at = bases[n-1]
	}
	if at.Len > maxDelta {
		return nil
	}
	dict, err := p.unpack(w.base, at, 0)
	if err != nil || len(dict) == 0 || len(dict) > maxDelta {
		return nil
	}
	d := DeltaHeader{
		Base:  at,
		Sum:   crc32.Checksum(dict, castagnoli),
		Depth: 1,
	}
	b := append(w.delta[:0], make([]byte, d.Start())...)
	switch size := len(payload) + len(dict); {
	case size <= small:
		b = w.encoder.over(b, payload, dict)
	case small == likeDelta:
		return nil
	default:
		level := zstd.SpeedDefault
		if size > middleDelta {
			level = zstd.SpeedBetterCompression
		}
		large := zst.NewEncoder(min(1<<bits.Len(uint(size)), maxWindow), zstd.WithEncoderLevel(level),
			zstd.WithEncoderDictRaw(0, dict))
		b = large.EncodeAll(payload, b)
	}
	w.delta = kept(b)
	full, err := p.liveBytes([]record.Place{at})
	if err != nil || int64(len(b)) > full*int64(len(payload))/int64(len(dict))*3/5 {
		return nil
	}
	back, err := w.base.decodeOver(b[d.Start():], dict, w.base.other[:0])
	if err != nil || !bytes.Equal(back, payload) { // all that is ever read depends on it
		return nil
	}
	w.base.other = kept(back)
	d.Put(b)
	return b
}

// A window in which the whole base can be seen from the end of the body holds both.
const (
	smallDelta = 128 << 10 // bytes of base and document together
	likeDelta  = 256 << 10 // of documents that say the same
	// what can be seen back that far is found at less cost
	middleDelta = 1 << 20
)
