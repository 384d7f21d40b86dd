// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"
	"mirrord/store/disk"
	"mirrord/store/record"

	"github.com/klauspost/compress/zstd"
)

// A document that changes a little, or says nearly what another one says, is written as a delta over the full
// frame of an older document, or one of the documents of a bundle, its base:
//
//	magic   4 bytes: "mPd2", "mPd3"
//	length  4 bytes, little endian: bytes of what follows the checksum
//	crc32c  4 bytes, little endian: of the same
//	base    place of the base: pack 4 bytes, offset 8, length 4, little endian; in "mPd3", whose base is one of
//	        the documents of a frame of many, its number follows, 4 bytes
//	sum     4 bytes, little endian: the crc32c of the payload of the base, unpacked
//	depth   1 byte: 1. Older versions wrote deltas over deltas, up to 8: that of the base is one less
//	payload as that of a full frame, in zstd, with the whole payload of the base as a raw dictionary (RFC 8878,
//	        section 5)
//
// A base is in use as long as a delta over it is, whether or not a record refers to it. When Compact moves a
// base it writes the deltas over it again; one over another delta is then made over the full frame below.
const (
	deltaMagic     = "mPd2"
	deltaHeader    = 21 // bytes between the checksum and the payload
	manyDeltaMagic = "mPd3"
	manyHeader     = deltaHeader + 4
	deltaPeek      = frameHeader + manyHeader // bytes that hold the header of any delta

	// bytes of the largest payload that is, or is the base of, a delta: a body of 8 MiB with its head
	maxDelta  = 8<<20 + 64<<10
	maxWindow = 32 << 20 // bytes that the decoder of a delta may have to look back
)

// delta is the header of a delta frame.
type delta struct {
	base  record.Place
	sum   uint32
	depth uint8
}

// parseDelta reads the header of a delta; ok is false for any other frame and for too few bytes.
func parseDelta(raw []byte) (d delta, ok bool) {
	if len(raw) < 4 || !isDelta(raw) {
		return d, false
	}
	magic := string(raw[:4])
	if magic == manyDeltaMagic {
		d.base.Doc = 1
	}
	if len(raw) < d.start() {
		return d, false
	}
	le, b := binary.LittleEndian, raw[frameHeader:]
	d.base.Pack, d.base.Off, d.base.Len = le.Uint32(b), int64(le.Uint64(b[4:])), le.Uint32(b[12:])
	if b = b[16:]; d.base.Doc > 0 {
		d.base.Doc, b = le.Uint32(b), b[4:]
	}
	d.sum = le.Uint32(b)
	d.depth = b[4]
	return d, magic != manyDeltaMagic || d.base.Doc > 0
}

// start is where the payload of the delta begins.
func (d *delta) start() int {
	if d.base.Doc > 0 {
		return frameHeader + manyHeader
	}
	return frameHeader + deltaHeader
}

// put writes the header of the delta into the space for it in a frame, and seals the frame.
func (d *delta) put(raw []byte) {
	le, b := binary.LittleEndian, raw[frameHeader:]
	copy(raw, deltaMagic)
	if d.base.Doc > 0 {
		copy(raw, manyDeltaMagic)
	}
	le.PutUint32(b, d.base.Pack)
	le.PutUint64(b[4:], uint64(d.base.Off))
	le.PutUint32(b[12:], d.base.Len)
	if b = b[16:]; d.base.Doc > 0 {
		le.PutUint32(b, d.base.Doc)
		b = b[4:]
	}
	le.PutUint32(b, d.sum)
	b[4] = d.depth
	seal(raw)
}

// isDelta reports whether a frame, or its beginning, says that it is a delta.
func isDelta(raw []byte) bool {
	magic := string(raw[:4])
	return magic == deltaMagic || magic == manyDeltaMagic
}

// under lists what the frame at a place is over, the full frame last; it is empty for a full one. It looks at
// headers alone and believes them.
func (p *packs) under(at record.Place) (bases []record.Place, err error) {
	d, err := p.header(at)
	for err == nil && d.depth > 0 {
		bases = append(bases, d.base)
		above := d.depth
		if d, err = p.header(d.base); err == nil && d.depth != above-1 {
			err = fmt.Errorf("base in %s: %w: its depth is %d, below one of %d", packName(at.Pack),
				disk.ErrDamaged, d.depth, above)
		}
	}
	return bases, err
}

// header reads the header of the frame at a place; it is zero for other frames.
func (p *packs) header(at record.Place) (d delta, err error) {
	f, err := p.open(at)
	if err != nil || at.Doc > 0 {
		return d, err
	}
	var head [deltaPeek]byte
	n, err := f.ReadAt(head[:min(len(head), int(at.Len))], at.Off)
	if err != nil && !errors.Is(err, io.EOF) {
		return d, disk.ReadErr("read pack", err)
	}
	if n >= 4 && isDelta(head[:]) {
		var ok bool
		if d, ok = parseDelta(head[:n]); !ok || d.depth == 0 {
			return d,
				fmt.Errorf("pack %s at %d: %w: a delta of %d bytes", packName(at.Pack), at.Off, disk.ErrDamaged, at.Len)
		}
	}
	return d, nil
}

// payload unpacks what the frame at a place holds. It is valid until r is used again.
func (p *packs) payload(r *FrameReader, at record.Place) ([]byte, error) {
	return p.unpack(r, at, anyDepth)
}

// anyDepth is the depth of a frame that is no base.
const anyDepth = -1

// unpack is payload for a frame that must have a depth. Only one of any depth may be a rest.
func (p *packs) unpack(r *FrameReader, at record.Place, depth int) ([]byte, error) {
	if at.Doc > 0 && depth <= 0 {
		return p.document(r, at)
	}
	raw, err := p.raw(r, at)
	if err != nil {
		return nil, err
	}
	if isRest(raw) && depth == anyDepth {
		return p.rest(r, at, raw)
	}
	if !isDelta(raw) && depth <= 0 {
		return r.payload(raw)
	}
	if err := checkFrame(raw); err != nil { // before its header is believed
		return nil, err
	}
	d, ok := parseDelta(raw)
	if !ok || d.depth == 0 || (depth != anyDepth && int(d.depth) != depth) {
		return nil, fmt.Errorf("%w: a delta of depth %d", disk.ErrDamaged, d.depth)
	}
	packed := bytes.Clone(raw[d.start():]) // the base is read into the same buffer
	base, err := p.base(r, &d)
	if err != nil {
		return nil, fmt.Errorf("base in %s at %d: %w", packName(d.base.Pack), d.base.Off, err)
	}
	out, err := r.decodeOver(packed, base, r.other[:0])
	if err == nil {
		r.out, r.other = r.kept(out), r.out
	}
	return out, err
}

// base unpacks the base of a delta.
func (p *packs) base(r *FrameReader, d *delta) ([]byte, error) {
	at := d.base
	if to, ok := r.moved[at]; ok {
		at = to
	}
	if at.Len > 2*maxDelta {
		return nil, fmt.Errorf("%w: a frame of %d bytes", disk.ErrDamaged, at.Len)
	}
	depth := int(d.depth) - 1
	if at != d.base {
		depth = 0
	}
	out, err := p.unpack(r, at, depth)
	if err == nil && (len(out) > maxDelta || crc32.Checksum(out, castagnoli) != d.sum) {
		err = fmt.Errorf("%w: it is another frame", disk.ErrDamaged)
	}
	return out, err
}

// kept is the buffer b if it is small enough to be used for the next frame.
func (r *FrameReader) kept(b []byte) []byte {
	if cap(b) > maxKept {
		return nil
	}
	return b
}

// decodeOver unpacks the payload of a delta whose base has the payload dict, appending to out, which must
// not overlap them.
func (r *FrameReader) decodeOver(payload, dict, out []byte) ([]byte, error) {
	var err error
	if r.over == nil {
		r.over, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(maxDelta),
			zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderDictRaw(0, dict))
	} else {
		err = r.over.ResetWithOptions(nil, zstd.WithDecoderDictRaw(0, dict))
	}
	if err == nil {
		out, err = r.over.DecodeAll(payload, out)
	}
	if err != nil {
		return nil, fmt.Errorf("frame: %w: %v", disk.ErrDamaged, err)
	}
	return out, nil
}

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
	if err := w.fill(w.head(m), links, body); err != nil {
		return record.Place{}, err
	}
	if s.plain { // a delta over a rest would be lost with it
		return s.keep(w)
	}
	raw := s.over(w, old, smallDelta)
	if like.Len > 0 && (raw == nil || len(raw) > len(w.buf)/8) {
		raw = s.over(w, like, likeDelta)
	}
	if raw == nil {
		return s.keep(w)
	}
	return s.packs.append(raw)
}

// over is the document that w was filled with as a delta; nil when it does not pay, also because the document
// that it would be over is not written yet: mostly both get into one bundle, where it takes as little.
func (s *Frames) over(w *FrameWriter, at record.Place, small int) []byte {
	if at, written := s.gather.place(at); written && at.Len > 0 {
		return w.over(s.packs, at, small)
	}
	return nil
}

// over returns the document that w was filled with as a delta over the full frame of the one at a place, nil
// when it does not pay. It is valid until the next call. Documents of small bytes together are encoded by
// what all writers share; of others, those that are like another one are not encoded.
func (w *FrameWriter) over(p *packs, at record.Place, small int) []byte {
	payload := w.buf[frameHeader:]
	if len(payload) > maxDelta || (small == likeDelta && len(payload) > likeDelta*5/8) {
		return nil
	}
	if w.base == nil {
		w.base = NewFrameReader()
	}
	bases, err := p.under(at)
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
	d := delta{
		base:  at,
		sum:   crc32.Checksum(dict, castagnoli),
		depth: 1,
	}
	b := append(w.delta[:0], make([]byte, d.start())...)
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
		large, err := newDeltaEncoder(min(1<<bits.Len(uint(size)), maxWindow), level, dict)
		if err != nil {
			return nil // the base is nothing that can be a dictionary
		}
		b = large.EncodeAll(payload, b)
	}
	if w.delta = b; cap(b) > maxKept {
		w.delta = nil
	}
	full, err := p.liveBytes([]record.Place{at})
	if err != nil || int64(len(b)) > full*int64(len(payload))/int64(len(dict))*3/5 {
		return nil
	}
	back, err := w.base.decodeOver(b[d.start():], dict, w.base.other[:0])
	if err != nil || !bytes.Equal(back, payload) { // all that is ever read depends on it
		return nil
	}
	w.base.other = w.base.kept(back)
	d.put(b)
	return b
}

// A window in which the whole base can be seen from the end of the body holds both.
const (
	smallDelta = 128 << 10 // bytes of base and document together
	likeDelta  = 256 << 10 // of documents that say the same
	// what can be seen back that far is found at less cost
	middleDelta = 1 << 20
)

func newDeltaEncoder(window int, level zstd.EncoderLevel, dict []byte) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(level),
		zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(window), zstd.WithEncoderDictRaw(0, dict))
}
