// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"hash/crc32"
	"io"
	"math/bits"

	"github.com/klauspost/compress/zstd"
)

// AppendFrameOver is AppendFrame for a document that takes the place of the one at old. It is written as a
// delta where that pays; what lies at old may be missing or damaged, which costs the space of a full frame
// and nothing else.
func (s *Frames) AppendFrameOver(w *FrameWriter, m FrameMeta, links, body []byte, old Place) (Place, error) {
	at, _, err := s.appendOver(w, m, links, body, old, overOld)
	return at, err
}

// AppendDelta is AppendFrameOver where the delta takes an eighth of the document or less. Where it takes
// more, ok is false, and nothing is written.
func (s *Frames) AppendDelta(
	w *FrameWriter, m FrameMeta, links, body []byte, old Place,
) (at Place, ok bool, err error) {
	return s.appendOver(w, m, links, body, old, overOldOnly)
}

// AppendFrameLike is AppendFrame for a document that says nearly the same as another one, which lies at like.
// A delta is made over the lowest frame under that one that says so too, so that a thousand documents that
// say the same are each a delta over one frame, and not over each other. Documents of more than about 128 KiB
// are stored in full. One writer for all that are like others is enough, and saves the memory of more.
func (s *Frames) AppendFrameLike(w *FrameWriter, m FrameMeta, links, body []byte, like Place) (Place, error) {
	at, _, err := s.appendOver(w, m, links, body, like, overLike)
	return at, err
}

// overWhat says what a delta is made over, and what to do when it does not pay.
type overWhat uint8

const (
	overOld     overWhat = iota // a frame of the chain; else in full
	overOldOnly                 // a frame of the chain, when that is clearly worth it; else not at all
	overLike                    // the lowest frame of the chain that says the same; else in full
)

// appendOver writes a frame as a delta over one of the chain of frames at old, or in full. ok says that it
// was written.
func (s *Frames) appendOver(
	w *FrameWriter, m FrameMeta, links, body []byte, old Place, what overWhat,
) (at Place, ok bool, err error) {
	old, written := s.gather.place(old)
	if old.Len == 0 && what == overOldOnly {
		return Place{}, false, nil
	}
	if old.Len == 0 || s.plain { // a delta over a rest would be lost with it
		at, err = s.AppendFrame(w, m, links, body)
		return at, err == nil, err
	}
	if err := w.fill(w.head(m), links, body); err != nil {
		return Place{}, false, err
	}
	if !written { // mostly in the same bundle, where it takes as little room as a delta
		at, err = s.keep(w)
		return at, err == nil, err
	}
	raw, sure := w.over(s.packs, old, what == overLike)
	if raw == nil || len(raw) > sure { // not clearly worth it: what it would be in full decides
		if what == overOldOnly {
			return Place{}, false, nil
		}
		if full := w.pack(); raw == nil || !pays(len(raw), len(full)) {
			raw = full
		}
	}
	at, err = s.packs.append(raw)
	return at, err == nil, err
}

// pays reports whether a delta is worth what it costs to read.
func pays(delta, full int) bool { return delta <= full/4*3 }

// over returns the document that w was filled with as a delta over the one at old, or over one that it was
// made over, and the length up to which it is known to pay. It is nil when a full frame is better. The frame
// is valid until the next call.
func (w *FrameWriter) over(p *packs, old Place, like bool) (raw []byte, sure int) {
	payload := w.buf[frameHeader:]
	if len(payload) > maxDelta || old.Len > maxDelta || (like && len(payload) > likeDelta*5/8) {
		return nil, 0
	}
	r := w.base
	if r == nil {
		r = NewFrameReader()
		w.base = r
	}
	var err error
	if r.links, err = p.chain(r.links[:0], old); err != nil {
		return nil, 0
	}
	if links := r.links; len(links) > 0 { // of a frame of many documents, this one is compared
		low := &links[len(links)-1]
		if low.room, err = p.share(low.at); err != nil {
			return nil, 0
		}
	}
	base, small := chooseBase, smallDelta
	if like {
		base, small = likeBase, likeDelta
	}
	links := r.links[base(r.links):]
	if len(links) == 0 {
		return nil, 0
	}
	dict, err := p.unchain(r, links)
	if err != nil || len(dict) == 0 || len(dict) > maxDelta {
		return nil, 0
	}
	d := delta{base: links[0].at, sum: crc32.Checksum(dict, castagnoli), depth: links[0].depth + 1}
	b := append(w.delta[:0], make([]byte, d.start())...)
	switch size := len(payload) + len(dict); {
	case size <= small:
		b = w.encoder.over(b, payload, dict)
	case like:
		return nil, 0
	default:
		if b, err = w.coder.encode(b, payload, dict); err != nil {
			return nil, 0 // the base is nothing that can be a dictionary
		}
	}
	if w.delta = b; cap(b) > maxKept {
		w.delta = nil
	}
	back, err := r.decodeOver(b[d.start():], dict, r.other[:0])
	if err != nil || !bytes.Equal(back, payload) { // read back immediately: all deltas over it depend on it
		return nil, 0
	}
	r.other = r.kept(back)
	d.put(b)
	return b, min(links[len(links)-1].bytes()/4, len(payload)/8)
}

// likeBase returns which frame of a chain is to be the base of a document that says what the first one says:
// the lowest one that says nearly the same, by the lengths of the deltas over it. Mostly it is the full one;
// below a page that has changed it is that page.
func likeBase(links []chained) int {
	top := len(links) - 1
	full, spent := links[top].bytes(), 0
	for i, l := range links {
		if spent += l.bytes(); spent > full/8 && top-i < maxDepth {
			return i
		}
	}
	return top
}

// chooseBase returns which frame of the chain of a document is to be the base of the next one: 0, the
// document itself, until the chain is maxDepth deep. Then one further down has to be, and the next ones can
// be deltas over each other again. The price of that is about what all deltas of the chain from there on have
// cost, because it repeats what they say; what it gives is the depth that is free again. The one with the
// lowest price for each version that can follow is chosen; len(links) when that is to begin with a full
// frame.
//
// With versions that differ by equal amounts c, the first maxDepth cost c each, and the next 36 cost 2 c in
// the mean; then 3 c, unless full frames cost less. No order known beforehand does better for every number of
// versions (A. Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse
// automatic differentiation", 1992, where the same numbers come up).
func chooseBase(links []chained) int {
	top := len(links) - 1 // deltas in the chain
	if top < maxDepth {
		return 0
	}
	step := float64(links[0].bytes())
	for _, l := range links[:top] {
		step = min(step, float64(l.bytes()))
	}
	best, least := len(links), (float64(links[top].bytes())+maxDepth*step)/(maxDepth+1)
	spent := step
	for i := range links { // the delta would have the depth top-i+1
		if room := maxDepth - (top - i); room > 0 {
			if price := (spent + float64(room-1)*step) / float64(room); price <= least {
				best, least = i, price
			}
		}
		spent += float64(links[i].bytes())
	}
	return best
}

// deltaCoder encodes deltas of which base and document are too large for zstdfast, which keeps one place of a
// hash in a table of 32 Ki. It keeps what zstd needs for those up to a megabyte, because making it costs many
// times what such a delta costs.
type deltaCoder struct {
	middle *zstd.Encoder
	out    appender
}

// A window in which the whole base can be seen from the end of the body holds both.
const (
	smallDelta  = 128 << 10 // bytes of base and document together
	likeDelta   = 256 << 10 // of documents that say the same
	middleDelta = 1 << 20
)

// encode appends a payload in zstd to b, with dict as a raw dictionary.
func (c *deltaCoder) encode(b, payload, dict []byte) (_ []byte, err error) {
	n := len(payload) + len(dict)
	if n > middleDelta {
		large, err := newDeltaEncoder(nil, min(1<<bits.Len(uint(n)), maxWindow), zstd.SpeedBetterCompression, dict)
		if err != nil {
			return nil, err
		}
		return large.EncodeAll(payload, b), nil
	}
	c.out = b
	if c.middle == nil {
		c.middle, err = newDeltaEncoder(&c.out, middleDelta, zstd.SpeedDefault, dict)
	} else {
		err = c.middle.ResetWithOptions(&c.out, zstd.WithEncoderDictRaw(0, dict))
	}
	if err == nil {
		_, err = c.middle.Write(payload)
	}
	if err == nil {
		err = c.middle.Close()
	}
	b, c.out = c.out, nil
	return b, err
}

func newDeltaEncoder(out io.Writer, window int, level zstd.EncoderLevel, dict []byte) (*zstd.Encoder, error) {
	return zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(level),
		zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(window), zstd.WithEncoderDictRaw(0, dict))
}

// appender is an io.Writer that appends.
type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}
