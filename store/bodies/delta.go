// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"

	"mirrord/internal/zst"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// A document that changes a little, or says nearly what another one says, is written as a delta over the full
// frame of an older document, or one of the documents of a bundle, its base: a raw dictionary (RFC 8878,
// section 5). Older versions wrote deltas over deltas, up to a depth of 8: that of the base is one less.
//
// A base is in use as long as a delta over it is, whether or not a record refers to it. When Compact moves a
// base it writes the deltas over it again; one over another delta is then made over the full frame below.
const (
	deltaMagic     = "mPd2"
	deltaHeader    = 21     // bytes between the checksum and the payload
	manyDeltaMagic = "mPd3" // over one of the documents of a frame of many
	manyHeader     = deltaHeader + 4
	deltaPeek      = HeaderSize + manyHeader // bytes that hold the header of any delta

	// bytes of the largest payload that is, or is the base of, a delta: a body of 8 MiB with its head
	maxDelta  = 8<<20 + 64<<10
	maxWindow = 32 << 20 // bytes that the decoder of a delta may have to look back
)

// DeltaHeader is the header of a delta frame.
type DeltaHeader struct {
	Base  record.Place
	Sum   uint32
	Depth uint8 // 1; more: the base is a delta, as older versions wrote them
}

// ParseDelta reads the header of a delta; ok is false for any other frame and for too few bytes.
func ParseDelta(raw []byte) (d DeltaHeader, ok bool) {
	if len(raw) < 4 || !isDelta(raw) {
		return d, false
	}
	many := string(raw[:4]) == manyDeltaMagic
	if many {
		d.Base.Doc = 1
	}
	if len(raw) < d.Start() {
		return d, false
	}
	le, b := binary.LittleEndian, raw[HeaderSize:]
	d.Base.Pack, d.Base.Off, d.Base.Len = le.Uint32(b), int64(le.Uint64(b[4:])), le.Uint32(b[12:])
	if b = b[16:]; many {
		d.Base.Doc, b = le.Uint32(b), b[4:]
	}
	d.Sum = le.Uint32(b)
	d.Depth = b[4]
	return d, !many || d.Base.Doc > 0
}

// Start is where the payload of the delta begins.
func (d *DeltaHeader) Start() int {
	if d.Base.Doc > 0 {
		return HeaderSize + manyHeader
	}
	return HeaderSize + deltaHeader
}

// Put writes the header of the delta into the space for it in a frame, and seals the frame.
func (d *DeltaHeader) Put(raw []byte) {
	le := binary.LittleEndian
	copy(raw, deltaMagic)
	b := le.AppendUint32(raw[:HeaderSize], d.Base.Pack)
	b = le.AppendUint64(b, uint64(d.Base.Off))
	b = le.AppendUint32(b, d.Base.Len)
	if d.Base.Doc > 0 {
		copy(raw, manyDeltaMagic)
		b = le.AppendUint32(b, d.Base.Doc)
	}
	b = le.AppendUint32(b, d.Sum)
	raw[len(b)] = d.Depth
	seal(raw)
}

func isDelta(raw []byte) bool {
	magic := string(raw[:4])
	return magic == deltaMagic || magic == manyDeltaMagic
}

// Under lists what the frame at a place is over, the full frame last; it is empty for a full one. It looks at
// headers alone and believes them.
func (p *Packs) Under(at record.Place) (bases []record.Place, err error) {
	d, err := p.header(at)
	for err == nil && d.Depth > 0 {
		bases = append(bases, d.Base)
		above := d.Depth
		if d, err = p.header(d.Base); err == nil && d.Depth != above-1 {
			err = fmt.Errorf("base in %s: %w: its depth is %d, below one of %d", PackName(at.Pack),
				disk.ErrDamaged, d.Depth, above)
		}
	}
	return bases, err
}

// header reads the header of the frame at a place; it is zero for other frames.
func (p *Packs) header(at record.Place) (d DeltaHeader, err error) {
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
		if d, ok = ParseDelta(head[:n]); !ok || d.Depth == 0 {
			return d,
				fmt.Errorf("pack %s at %d: %w: a delta of %d bytes", PackName(at.Pack), at.Off, disk.ErrDamaged, at.Len)
		}
	}
	return d, nil
}

// Payload unpacks what the frame at a place holds. It is valid until r is used again.
func (p *Packs) Payload(r *FrameReader, at record.Place) ([]byte, error) {
	return p.unpack(r, at, anyDepth)
}

// anyDepth is the depth of a frame that is no base.
const anyDepth = -1

// unpack is payload for a frame that must have a depth. Only one of any depth may be a rest.
func (p *Packs) unpack(r *FrameReader, at record.Place, depth int) ([]byte, error) {
	if at.Doc > 0 && depth <= 0 {
		return p.document(r, at)
	}
	raw, err := p.Frame(r, at)
	if err != nil {
		return nil, err
	}
	if isRest(raw) && depth == anyDepth {
		return r.rest(p, raw)
	}
	if !isDelta(raw) && depth <= 0 {
		return r.payload(raw)
	}
	d, ok := ParseDelta(raw)
	if !ok || d.Depth == 0 || (depth != anyDepth && int(d.Depth) != depth) {
		return nil, fmt.Errorf("%w: a delta of depth %d", disk.ErrDamaged, d.Depth)
	}
	packed := bytes.Clone(raw[d.Start():]) // the base is read into the same buffer
	base, err := p.base(r, &d)
	if err != nil {
		return nil, fmt.Errorf("base in %s at %d: %w", PackName(d.Base.Pack), d.Base.Off, err)
	}
	out, err := r.decodeOver(packed, base, r.other[:0])
	if err == nil {
		r.out, r.other = kept(out), r.out
	}
	return out, err
}

func (p *Packs) base(r *FrameReader, d *DeltaHeader) ([]byte, error) {
	at := d.Base
	if to, ok := r.Moved[at]; ok {
		at = to
	}
	if at.Len > 2*maxDelta {
		return nil, fmt.Errorf("%w: a frame of %d bytes", disk.ErrDamaged, at.Len)
	}
	depth := int(d.Depth) - 1
	if at != d.Base {
		depth = 0
	}
	out, err := p.unpack(r, at, depth)
	if err == nil && (len(out) > maxDelta || crc32.Checksum(out, castagnoli) != d.Sum) {
		err = fmt.Errorf("%w: it is another frame", disk.ErrDamaged)
	}
	return out, err
}

// kept is a buffer if it is small enough to be used for the next frame.
func kept(b []byte) []byte {
	if cap(b) > maxKept {
		return nil
	}
	return b
}

// decodeOver unpacks the payload of a delta whose base has the payload dict, appending to out, which must
// not overlap them.
func (r *FrameReader) decodeOver(payload, dict, out []byte) ([]byte, error) {
	if r.over == nil {
		r.over = zst.NewDecoder(maxDelta, zstd.WithDecoderMaxWindow(maxWindow))
	}
	err := r.over.ResetWithOptions(nil, zstd.WithDecoderDictRaw(0, dict))
	if err == nil {
		out, err = r.over.DecodeAll(payload, out)
	}
	if err != nil {
		return nil, fmt.Errorf("frame: %w: %v", disk.ErrDamaged, err)
	}
	return out, nil
}
