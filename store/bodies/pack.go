// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"mirrord/internal/binread"
	"mirrord/internal/zst"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// A pack is a sequence of frames, which package store describes. The links of a document name other URLs by
// their numbers in site.db.
const (
	frameMagic = "mPk1" // in zstd
	quickMagic = "mPq1" // in S2: of a one-off mirror, what has no rest
	plainMagic = "mPr1" // as it came: of a one-off mirror during a run
	HeaderSize = 12     // bytes of a header
	noHeader   = "\x00\x00\x00\x00\x00\x00\x00\x00"
	fullWindow = 1 << 20   // in which a payload is compressed
	maxPack    = 256 << 20 // bytes after which a new pack is begun
	maxFrame   = 1<<31 - 1 // bytes of a payload that is believed: a body of 1 GiB with its links
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Frame is a decoded frame. Its slices are valid until the FrameReader reads the next one.
type Frame struct {
	Meta  []byte // a FrameMeta, or what older versions wrote
	Links []byte // as the caller wrote them
	Body  []byte
}

// FrameWriter encodes frames. It is not safe for concurrent use; keep one for each worker.
type FrameWriter struct {
	encoder *frameEncoder // of the site
	plain   bool          // full frames are plain
	meta    []byte
	buf     []byte
	out     []byte

	base  *FrameReader // of the bases of deltas; nil until there is one
	delta []byte
}

// maxKept bounds the buffers that writers and readers of frames keep for the next frame, in bytes.
const maxKept = 1 << 20

// NewFrameWriter returns an encoder for frames of this site.
func (s *Frames) NewFrameWriter() *FrameWriter {
	return &FrameWriter{encoder: &s.encoder, plain: s.Plain}
}

// frameEncoder encodes frames, one at a time: those of writers are large and few, or small deltas. The zero
// value is ready. Safe for concurrent use.
type frameEncoder struct {
	once  sync.Once
	enc   *zstd.Encoder
	mu    sync.Mutex
	delta *zstd.Encoder // nil until there is a delta
}

// frame appends a frame to b, of a payload in zstd behind an index.
func (e *frameEncoder) frame(b []byte, magic string, index, payload []byte) []byte {
	at := len(b)
	b = append(append(b, magic+noHeader...), index...)
	b = e.append(b, payload)
	seal(b[at:])
	return b
}

// bundle appends the bundle of documents, of which raw has the payloads and ends says where each ends, to b.
func (e *frameEncoder) bundle(b, raw []byte, ends []uint32) []byte {
	index, last := binary.LittleEndian.AppendUint32(nil, uint32(len(ends))), uint32(0)
	for _, end := range ends {
		index = binary.AppendUvarint(index, uint64(end-last))
		last = end
	}
	return e.frame(b, bundleMagic, index, raw)
}

// documents is bundle, or the ordinary frame when it is one document.
func (e *frameEncoder) documents(b, raw []byte, ends []uint32) []byte {
	if len(ends) == 1 {
		return e.frame(b, frameMagic, nil, raw)
	}
	return e.bundle(b, raw, ends)
}

// over appends a small payload to b, with dict as a raw dictionary.
func (e *frameEncoder) over(b, payload, dict []byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.delta == nil {
		e.delta = zst.NewEncoder(likeDelta)
	}
	_ = e.delta.ResetWithOptions(nil, zstd.WithEncoderDictRaw(0, dict)) // it fails for 2 GiB and more
	return e.delta.EncodeAll(payload, b)
}

// append appends a payload in zstd to b.
func (e *frameEncoder) append(b, payload []byte) []byte {
	e.once.Do(func() { e.enc = zst.NewEncoder(fullWindow) })
	return e.enc.EncodeAll(payload, b)
}

// errLarge says that a document is larger than what would be read again.
var errLarge = fmt.Errorf("a document of more than %d bytes cannot be stored", maxFrame)

// fill puts a payload into buf, behind the space for a header.
func (w *FrameWriter) fill(m FrameMeta, links, body []byte) error {
	meta := m.append(w.meta[:0])
	w.meta = meta
	n := HeaderSize + len(meta) + len(links) + 2*binary.MaxVarintLen64 + len(body)
	if n > maxFrame {
		return errLarge
	}
	w.letGo()
	b := append(slices.Grow(w.buf[:0], n), plainMagic+noHeader...)
	b = append(binary.AppendUvarint(b, uint64(len(meta))), meta...)
	b = append(binary.AppendUvarint(b, uint64(len(links))), links...)
	w.buf = append(b, body...)
	return nil
}

// pack returns the full frame of the payload that is in buf.
func (w *FrameWriter) pack() []byte {
	if w.plain {
		copy(w.buf, plainMagic)
		seal(w.buf)
		return w.buf
	}
	w.out = w.encoder.frame(w.out[:0], frameMagic, nil, w.buf[HeaderSize:])
	return w.out
}

// roomForS2 is how many bytes appendS2 needs at most.
func roomForS2(payload []byte) int { return HeaderSize + s2.MaxEncodedLen(len(payload)) }

// appendS2 makes a frame of a payload, in S2, in the empty slice b, which has the capacity for it.
func appendS2(b []byte, magic string, payload []byte) []byte {
	b = b[:HeaderSize]
	copy(b, magic)
	b = b[:HeaderSize+len(s2.Encode(b[HeaderSize:cap(b)], payload))]
	seal(b)
	return b
}

// letGo lets go of a frame that was large.
func (w *FrameWriter) letGo() {
	w.out, w.buf = kept(w.out), kept(w.buf)
}

// seal writes length and checksum of the payload into the header of a frame.
func seal(raw []byte) {
	binary.LittleEndian.PutUint32(raw[4:], uint32(len(raw)-HeaderSize))
	binary.LittleEndian.PutUint32(raw[8:], crc32.Checksum(raw[HeaderSize:], castagnoli))
}

// FrameReader decodes frames. It is not safe for concurrent use; keep one for each worker.
type FrameReader struct {
	// Aside has buffers over a megabyte beside the Go heap, where they cost no more than themselves: what
	// ReadFrame returns is valid until Release.
	Aside bool

	// Moved says where full frames are that are not where the deltas over them say. It may be nil.
	Moved map[record.Place]record.Place

	aside []func() // give those of the last frame back
	dec   *zstd.Decoder
	raw   []byte
	out   []byte

	over  *zstd.Decoder // of deltas; nil until there is one
	other []byte        // beside out, where bases and deltas alternate
	file  *bufio.Reader // of published files; nil until there is one
}

func NewFrameReader() *FrameReader { return &FrameReader{dec: zst.NewDecoder(maxFrame)} }

// Release frees the memory outside of the heap. The last frame must no longer be used.
func (r *FrameReader) Release() {
	for _, free := range r.aside {
		free()
	}
	r.aside = r.aside[:0]
}

// buffer returns memory for n bytes that are too many to be kept, nil where it is to come from the heap.
func (r *FrameReader) buffer(n int) []byte {
	if !r.Aside || n <= maxKept {
		return nil
	}
	b, free, err := disk.Mapped(n, true)
	if err != nil {
		return nil
	}
	r.aside = append(r.aside, free)
	return b
}

// payload unpacks what a full frame, which is whole, holds. It is valid until the next call, or as long as
// raw.
func (r *FrameReader) payload(raw []byte) ([]byte, error) {
	switch payload := raw[HeaderSize:]; string(raw[:4]) {
	case frameMagic:
		return r.unpackZstd(payload)
	case quickMagic:
		return r.unpackS2(payload)
	case plainMagic:
		return payload, nil
	}
	return nil, fmt.Errorf("no frame here: %w", disk.ErrDamaged)
}

func (r *FrameReader) unpackZstd(payload []byte) ([]byte, error) {
	out := r.out[:0]
	var head zstd.Header
	if r.Aside && head.Decode(payload) == nil && head.HasFCS && head.FrameContentSize <= maxFrame {
		if b := r.buffer(int(head.FrameContentSize)); b != nil {
			out = b[:0]
		}
	}
	out, err := r.dec.DecodeAll(payload, out)
	if err != nil {
		return nil, fmt.Errorf("frame: %w: %v", disk.ErrDamaged, err)
	}
	r.out = kept(out)
	return out, nil
}

func (r *FrameReader) unpackS2(payload []byte) ([]byte, error) {
	n, err := s2.DecodedLen(payload)
	if n > maxFrame {
		err = errLarge
	}
	var out []byte
	if err == nil {
		if out = r.buffer(n); out == nil {
			out = slices.Grow(r.out[:0], n)[:n]
		}
		out, err = s2.Decode(out, payload)
	}
	if err != nil {
		return nil, fmt.Errorf("frame: %w: %v", disk.ErrDamaged, err)
	}
	r.out = kept(out)
	return out, nil
}

func split(payload []byte) (Frame, error) {
	d := binread.Reader{Rest: payload}
	var f Frame
	f.Meta, f.Links = d.Bytes(), d.Bytes()
	f.Body = d.Rest
	if d.Bad {
		return Frame{}, fmt.Errorf("frame: %w: short payload", disk.ErrDamaged)
	}
	return f, nil
}

// FrameMeta is the head of a document in a frame: uvarint number of its URL, and the first bytes of the
// digest of its body. The record has the rest. Older versions wrote an object of JSON.
type FrameMeta struct {
	ID     uint32
	Digest [32]byte // that of the record
}

// metaDigest is how many bytes of the digest the head has.
const metaDigest = 8

// FrameMetaOf returns the head that the frame of a document has.
func FrameMetaOf(r *record.Resource) FrameMeta { return FrameMeta{r.ID, r.Digest} }

func (m *FrameMeta) append(b []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(m.ID)), m.Digest[:metaDigest]...)
}

// olderMeta is the part of the head of older versions that is read.
type olderMeta struct {
	ID     uint32 `json:"id"`
	Digest string `json:"sha256"`
}

// ID returns the number of the URL of the document.
func (f *Frame) ID() (uint32, error) {
	if len(f.Meta) > binary.MaxVarintLen32+metaDigest && f.Meta[0] == '{' && f.Meta[len(f.Meta)-1] == '}' {
		var m olderMeta
		err := json.Unmarshal(f.Meta, &m)
		return m.ID, err
	}
	d := binread.Reader{Rest: f.Meta}
	id := d.Uvarint()
	if d.Bad || len(d.Rest) != metaDigest || uint64(uint32(id)) != id {
		return 0, fmt.Errorf("head of a frame: %w", disk.ErrDamaged)
	}
	return uint32(id), nil
}

// Check holds the head and the body against a record. One that forgot the digest, so that the body would be
// requested again, goes by the head.
func (f *Frame) Check(id uint32, digest [32]byte) error {
	is, err := f.ID()
	if err != nil {
		return err
	}
	if is != id {
		return fmt.Errorf("%w: the frame is that of another URL, number %d", disk.ErrDamaged, is)
	}
	var m olderMeta
	begin := f.Meta[max(len(f.Meta)-metaDigest, 0):]
	named := func(d [32]byte) bool { return bytes.Equal(begin, d[:metaDigest]) }
	if json.Unmarshal(f.Meta, &m) == nil {
		named = func(d [32]byte) bool { return m.Digest == record.HexOf(d) }
	}
	wants := [][32]byte{digest}
	if digest == ([32]byte{}) {
		wants = [][32]byte{sha256.Sum256(f.Body), record.QuickDigest(f.Body)}
	}
	for _, want := range wants {
		if named(want) && record.IsDigestOf(want, f.Body) {
			return nil
		}
	}
	return fmt.Errorf("%w: the frame has another body than digest %x", disk.ErrDamaged, digest)
}
