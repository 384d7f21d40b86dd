// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
)

// A document that changes a little is written as a delta over an older frame of it, its base:
//
//	magic   4 bytes: "mPd2", "mPd3"
//	length  4 bytes, little endian: bytes of what follows the checksum
//	crc32c  4 bytes, little endian: of the same
//	base    place of the base: pack 4 bytes, offset 8, length 4, little endian; in "mPd3", whose base is one of
//	        the documents of a frame of many, its number follows, 4 bytes
//	sum     4 bytes, little endian: the crc32c of the payload of the base, unpacked
//	depth   1 byte: frames that must be read before this one, 1 for a delta over a full frame
//	payload as that of a full frame, in zstd, with the whole payload of the base as a raw dictionary (RFC 8878,
//	        section 5)
//
// The base may be a delta too: the frames from one to its full frame are its chain. The depth of a base is
// one less than that of the delta, so that no chain has a loop. None that is written is deeper than maxDepth:
// reading a document reads maxDepth+1 frames at most, of which those above the full frame have at most 3/4 of
// the length of a full frame each. A frame that is damaged spoils all deltas over it.
//
// A base is in use as long as a delta over it is, whether or not a record refers to it. When Compact moves a
// base it writes the deltas over it again.
const (
	deltaMagic     = "mPd2"
	deltaHeader    = 21 // bytes between the checksum and the payload
	manyDeltaMagic = "mPd3"
	manyHeader     = deltaHeader + 4
	deltaPeek      = frameHeader + manyHeader // bytes that hold the header of any delta

	maxDepth = 8
	// bytes of the largest payload that is, or is the base of, a delta: a body of 8 MiB with its head
	maxDelta  = 8<<20 + 64<<10
	maxWindow = 32 << 20 // bytes that the decoder of a delta may have to look back
)

// delta is the header of a delta frame.
type delta struct {
	base  Place
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

// rebase returns the frame of the delta with another base of the same bytes.
func (d *delta) rebase(raw []byte, base Place) []byte {
	was := d.start()
	d.base = base
	if now := d.start(); now != was {
		raw = slices.Concat(make([]byte, now), raw[was:])
	}
	d.put(raw)
	return raw
}

// isDelta reports whether a frame, or its beginning, says that it is a delta.
func isDelta(raw []byte) bool {
	magic := string(raw[:4])
	return magic == deltaMagic || magic == manyDeltaMagic
}

// chained is a frame of a chain; delta is zero for the full one.
type chained struct {
	at Place
	delta
	room int // bytes that it takes, where these are not its length
}

// bytes is how many bytes the frame takes, of one of many documents its share.
func (l *chained) bytes() int {
	if l.room > 0 {
		return l.room
	}
	return int(l.at.Len)
}

// chain lists the frames that the one at a place needs, that one first and the full one last. It looks at
// headers alone and believes them.
func (p *packs) chain(links []chained, at Place) ([]chained, error) {
	for above := -1; ; {
		d, err := p.header(at)
		if err != nil {
			return links, err
		}
		if above >= 0 && int(d.depth) != above-1 {
			return links, fmt.Errorf("base in %s at %d: %w: its depth is %d, below one of %d", packName(at.Pack),
				at.Off, ErrDamaged, d.depth, above)
		}
		links = append(links, chained{at: at, delta: d})
		if above = int(d.depth); above == 0 {
			return links, nil
		}
		if at = d.base; at.Len > 2*maxDelta {
			return links, fmt.Errorf("base in %s at %d: %w: a frame of %d bytes", packName(at.Pack), at.Off,
				ErrDamaged, at.Len)
		}
	}
}

// header reads the header of the frame at a place; it is zero for other frames.
func (p *packs) header(at Place) (d delta, err error) {
	f, err := p.open(at)
	if err != nil || at.Doc > 0 {
		return d, err
	}
	var head [deltaPeek]byte
	n, err := f.ReadAt(head[:min(len(head), int(at.Len))], at.Off)
	if err != nil && !errors.Is(err, io.EOF) {
		return d, readErr("read pack", err)
	}
	if n >= 4 && isDelta(head[:]) {
		var ok bool
		if d, ok = parseDelta(head[:n]); !ok || d.depth == 0 {
			return d,
				fmt.Errorf("pack %s at %d: %w: a delta of %d bytes", packName(at.Pack), at.Off, ErrDamaged, at.Len)
		}
	}
	return d, nil
}

// payload unpacks what the frame at a place holds. It is valid until r is used again.
func (p *packs) payload(r *FrameReader, at Place) ([]byte, error) {
	if at.Doc > 0 {
		return p.document(r, at)
	}
	raw, err := p.raw(r, at)
	if err != nil {
		return nil, err
	}
	if isRest(raw) {
		return p.rest(r, at, raw)
	}
	if !isDelta(raw) {
		return r.payload(raw)
	}
	if err := checkFrame(raw); err != nil { // before its header is believed
		return nil, err
	}
	if r.links, err = p.chain(r.links[:0], at); err != nil {
		return nil, err
	}
	return p.unchain(r, r.links)
}

// unchain unpacks the first frame of a chain, from the last one on.
func (p *packs) unchain(r *FrameReader, links []chained) ([]byte, error) {
	i := len(links) - 1
	out, err := p.lowest(r, links[i].at)
	if err != nil {
		return nil, err
	}
	var raw []byte
	dict := r.other
	for i--; i >= 0; i-- {
		l := &links[i]
		if raw, err = p.raw(r, l.at); err == nil {
			err = checkFrame(raw)
		}
		if err == nil {
			d, ok := parseDelta(raw)
			switch sum := crc32.Checksum(out, castagnoli); {
			case !ok || d != l.delta:
				err = fmt.Errorf("%w: a delta was there before", ErrDamaged)
			case d.sum != sum, len(out) > maxDelta:
				err = fmt.Errorf("base in %s at %d: %w: it is another frame", packName(d.base.Pack), d.base.Off,
					ErrDamaged)
			default:
				dict, out = out, dict
				out, err = r.decodeOver(raw[d.start():], dict, out[:0])
			}
		}
		if err != nil {
			return nil, fmt.Errorf("pack %s at %d: %w", packName(l.at.Pack), l.at.Off, err)
		}
	}
	r.out, r.other = r.kept(out), r.kept(dict)
	return out, nil
}

// lowest unpacks the full frame at the end of a chain into memory of r.
func (p *packs) lowest(r *FrameReader, at Place) (out []byte, err error) {
	var raw []byte
	if at.Doc > 0 {
		out, err = p.document(r, at)
	} else if raw, err = p.raw(r, at); err == nil {
		out, err = r.payload(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("base in %s at %d: %w", packName(at.Pack), at.Off, err)
	}
	if at.Doc > 0 || string(raw[:4]) == plainMagic { // its memory is shared, or the buffer of frames
		out = append(r.out[:0], out...)
	}
	return out, nil
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
		return nil, fmt.Errorf("frame: %w: %v", ErrDamaged, err)
	}
	return out, nil
}
