package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// A document that changes a little is written as a delta over an older frame of it, its base:
//
//	magic   4 bytes: "mPd1"
//	length  4 bytes, little endian: bytes of what follows the checksum
//	crc32c  4 bytes, little endian: of the same
//	base    place of the base: pack 4 bytes, offset 8, length 4, little endian
//	sum     4 bytes, little endian: the crc32c that the base has in its own header
//	spent   4 bytes, little endian: bytes of the deltas over this base that came before, and of this one
//	payload as that of a full frame, in zstd, with the whole payload of the base as a raw dictionary (RFC 8878, section 5)
//
// A base is always a full frame, so a read costs two frames at most and one bad frame never spoils more than its own deltas. Deltas
// over one base grow with every version; once they have cost as much as a full frame, the next one is full and a base itself. Where
// versions differ by equal amounts that is the cheapest moment that can be had without knowing what is to come.
//
// A base is in use as long as a delta over it is, whether or not a record refers to it. When Compact moves a base it writes the place anew.
const (
	deltaMagic  = "mPd1"
	deltaHeader = 24                        // bytes between the checksum and the payload
	maxDelta    = 8<<20 + 64<<10            // bytes of the largest payload that is, or is the base of, a delta: a body of 8 MiB with its head
	maxWindow   = 32 << 20                  // bytes that the decoder of a delta may be asked to look back
	deltaStart  = frameHeader + deltaHeader // of the payload
)

// delta is the header of a delta frame.
type delta struct {
	base  Place
	sum   uint32
	spent uint32
}

// parseDelta reads the header of a delta; ok is false for any other frame, and for what is too short for one.
func parseDelta(raw []byte) (d delta, ok bool) {
	if len(raw) < deltaStart || string(raw[:4]) != deltaMagic {
		return d, false
	}
	le, b := binary.LittleEndian, raw[frameHeader:]
	return delta{Place{Pack: le.Uint32(b), Off: int64(le.Uint64(b[4:])), Len: le.Uint32(b[12:])}, le.Uint32(b[16:]), le.Uint32(b[20:])}, true
}

// put writes the header of the delta into a frame that has room for it, and seals the frame.
func (d *delta) put(raw []byte) {
	copy(raw, deltaMagic)
	le, b := binary.LittleEndian, raw[frameHeader:]
	le.PutUint32(b, d.base.Pack)
	le.PutUint64(b[4:], uint64(d.base.Off))
	le.PutUint32(b[12:], d.base.Len)
	le.PutUint32(b[16:], d.sum)
	le.PutUint32(b[20:], d.spent)
	le.PutUint32(raw[4:], uint32(len(b)))
	le.PutUint32(raw[8:], crc32.Checksum(b, castagnoli))
}

// AppendFrameOver is AppendFrame for a document that takes the place of the one at old. It is written as a delta where that pays; what
// lies at old may be missing or damaged, which costs the space of a full frame and nothing else.
func (s *Site) AppendFrameOver(w *FrameWriter, m FrameMeta, links, body []byte, old Place) (Place, error) {
	head, tail, err := w.encode(m, links, body)
	if err != nil {
		return Place{}, err
	}
	if w.enc != nil {
		if d := w.over(s.packs, old, len(head)); d != nil {
			head = d
		}
	}
	return s.packs.append(head, tail)
}

// over returns the payload that was encoded last as a delta over the document at old, nil when that would not pay: full is how long the
// full frame is. The frame is valid until the next call.
func (w *FrameWriter) over(p *packs, old Place, full int) []byte {
	payload := w.buf[frameHeader:]
	if len(payload) > maxDelta || old.Len > maxDelta {
		return nil
	}
	if w.base == nil {
		w.base = NewFrameReader()
	}
	d, dict, err := p.baseOf(w.base, old)
	if err != nil {
		return nil
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(deltaLevel(len(dict))), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(deltaWindow(len(dict)+len(payload))), zstd.WithEncoderDictRaw(0, dict))
	if err != nil {
		return nil // the base is nothing that can be a dictionary
	}
	b := append(w.delta[:0], make([]byte, deltaStart)...)
	b = enc.EncodeAll(payload, b)
	if w.delta = b; cap(b) > maxKept {
		w.delta = nil
	}
	spent := uint64(d.spent) + uint64(len(b))
	if len(b) > full/2 || spent > uint64(full) {
		return nil
	}
	d.spent = uint32(spent)
	d.put(b)
	return b
}

// deltaLevel is how hard to look for what the base has too. The tables of the quick levels hold 32 Ki and 128 Ki places, too few for a large
// base, and cost less to make, which is most of what a small delta costs.
func deltaLevel(dict int) zstd.EncoderLevel {
	switch {
	case dict <= 32<<10:
		return zstd.SpeedFastest
	case dict <= 256<<10:
		return zstd.SpeedDefault
	default:
		return zstd.SpeedBetterCompression
	}
}

// deltaWindow is a window in which the whole base can be seen from the end of the body: the smallest power of two that holds n bytes.
func deltaWindow(n int) int {
	return min(max(1<<bits.Len(uint(n)), zstd.MinWindowSize), maxWindow)
}

// baseOf returns what the next delta after the document at a place is made over, and its payload, which is valid until r is used again.
func (p *packs) baseOf(r *FrameReader, at Place) (delta, []byte, error) {
	raw, err := p.raw(r, at)
	if err != nil {
		return delta{}, nil, err
	}
	d, ok := parseDelta(raw)
	if ok {
		if err := checkFrame(raw); err != nil {
			return d, nil, err
		}
	} else {
		d = delta{base: at, sum: binary.LittleEndian.Uint32(raw[8:])}
	}
	dict, err := p.dict(r, d)
	return d, dict, err
}

// dict reads the payload of a base. It is valid until r is used again.
func (p *packs) dict(r *FrameReader, d delta) ([]byte, error) {
	if d.base.Len > 2*maxDelta {
		return nil, fmt.Errorf("base in %s at %d: %w: a frame of %d bytes", packName(d.base.Pack), d.base.Off, ErrDamaged, d.base.Len)
	}
	raw, err := p.raw(r, d.base)
	if err != nil {
		return nil, fmt.Errorf("base in %w", err)
	}
	out, err := r.payload(raw)
	if err == nil && (binary.LittleEndian.Uint32(raw[8:]) != d.sum || len(out) > maxDelta) {
		err = fmt.Errorf("%w: it is another frame", ErrDamaged)
	}
	if err != nil {
		return nil, fmt.Errorf("base in %s at %d: %w", packName(d.base.Pack), d.base.Off, err)
	}
	return out, nil
}

// decodeOver decodes a whole delta whose base has the payload dict.
func (r *FrameReader) decodeOver(raw, dict []byte) (Frame, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxDelta),
		zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderDictRaw(0, dict))
	if err != nil {
		return Frame{}, fmt.Errorf("frame: %w: %v", ErrDamaged, err)
	}
	defer dec.Close()
	out, err := dec.DecodeAll(raw[deltaStart:], r.out[:0])
	if err != nil {
		return Frame{}, fmt.Errorf("frame: %w: %v", ErrDamaged, err)
	}
	if r.out = out; cap(out) > max(r.Keep, maxKept) {
		r.out = nil
	}
	return split(out)
}

// readDelta decodes the delta that r has read.
func (p *packs) readDelta(r *FrameReader, raw []byte) (Frame, error) {
	d, ok := parseDelta(raw)
	if !ok {
		return Frame{}, fmt.Errorf("%w: a delta of %d bytes", ErrDamaged, len(raw))
	}
	if err := checkFrame(raw); err != nil { // before its header is believed
		return Frame{}, err
	}
	if r.base == nil {
		r.base = NewFrameReader()
	}
	dict, err := p.dict(r.base, d)
	if err != nil {
		return Frame{}, err
	}
	return r.decodeOver(raw, dict)
}

// deltaUse is a delta that is in use.
type deltaUse struct{ at, base Place }

// deltas finds the deltas among frames of one pack. What cannot be read is none.
func (p *packs) deltas(places []Place) (out []*deltaUse, err error) {
	if len(places) == 0 {
		return nil, nil
	}
	f, err := p.file(places[0].Pack)
	if err != nil {
		return nil, diskErr("read pack", err)
	}
	var head [deltaStart]byte
	for _, at := range places {
		if at.Len < deltaStart || at.Off < 0 {
			continue
		}
		if _, err := f.ReadAt(head[:], at.Off); err != nil {
			continue // beyond the end; verify says so
		}
		if d, ok := parseDelta(head[:]); ok {
			out = append(out, &deltaUse{at, d.base})
		}
	}
	return slices.Clip(out), nil
}
