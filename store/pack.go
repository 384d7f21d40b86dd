// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"mirrord/internal/binread"
)

// A pack is a sequence of frames, of which delta.go describes one kind, and this the others:
//
//	magic   4 bytes: "mPk1" for a payload in zstd, "mPr1" for a plain one
//	length  4 bytes, little endian: bytes of the payload
//	crc32c  4 bytes, little endian: of the payload
//	payload uvarint length, FrameMeta as JSON; uvarint length, links; body
//
// Plain frames are written by one-off mirrors, whose packs live as long as the run: there compression only
// costs time.
//
// Frames name their URL and hold what the document's record holds; the links name other URLs by their numbers
// in site.db.
const (
	frameMagic  = "mPk1"
	plainMagic  = "mPr1"
	frameHeader = 12
	maxPack     = 256 << 20 // bytes after which a new pack is begun
	maxFrame    = 1<<31 - 1 // bytes of a payload that is believed: a body of 1 GiB with its links
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// FrameMeta is the head of a frame.
type FrameMeta struct {
	ID           uint32 `json:"id"`
	URL          string `json:"url"`
	MIME         string `json:"type,omitempty"`
	Charset      string `json:"charset,omitempty"`
	Fetched      int64  `json:"fetched"`
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last-modified,omitempty"`
	Size         int64  `json:"size"`
	Digest       string `json:"sha256"`
	Format       uint8  `json:"format"`
}

// Frame is a decoded frame. Its slices are valid until the FrameReader reads the next one.
type Frame struct {
	Meta  []byte // JSON of FrameMeta
	Links []byte // as the caller wrote them
	Body  []byte
}

// ParseMeta decodes the head of the frame.
func (f *Frame) ParseMeta() (FrameMeta, error) {
	var m FrameMeta
	err := json.Unmarshal(f.Meta, &m)
	return m, err
}

// FrameWriter encodes frames. It is not safe for concurrent use; keep one for each worker.
type FrameWriter struct {
	enc *zstd.Encoder // nil for plain frames
	buf []byte
	out []byte

	base  *FrameReader // of the bases of deltas; nil until there is one
	coder deltaCoder
	delta []byte
}

// maxKept bounds the buffers that writers and readers of frames keep for the next frame, in bytes.
const maxKept = 1 << 20

// NewFrameWriter returns an encoder for frames of this site; it needs about a megabyte.
func (s *Frames) NewFrameWriter() *FrameWriter {
	w := &FrameWriter{}
	if s.plain {
		return w
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithLowerEncoderMem(true),
		zstd.WithWindowSize(256<<10), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are constants
	}
	w.enc = enc
	return w
}

// encode returns a frame in two parts, so that a plain body need not be copied. They are valid until the next
// call.
func (w *FrameWriter) encode(m FrameMeta, links, body []byte) (head, tail []byte, err error) {
	if w.enc == nil {
		tail, body = body, nil
	}
	if err := w.fill(m, links, body); err != nil {
		return nil, nil, err
	}
	if w.enc != nil {
		return w.pack(), nil, nil
	}
	if len(w.buf)-frameHeader+len(tail) > maxFrame {
		return nil, nil, fmt.Errorf("frame of %s: %w", m.URL, errLarge)
	}
	seal(w.buf, tail)
	return w.buf, tail, nil
}

// errLarge says that a document is larger than what would be read again.
var errLarge = fmt.Errorf("a document of more than %d bytes cannot be stored", maxFrame)

// fill puts a payload into buf, behind the room for a header.
func (w *FrameWriter) fill(m FrameMeta, links, body []byte) error {
	meta, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("frame of %s: %w", m.URL, err)
	}
	n := frameHeader + len(meta) + len(links) + 2*binary.MaxVarintLen64 + len(body)
	if n > maxFrame {
		return fmt.Errorf("frame of %s: %w", m.URL, errLarge)
	}
	if cap(w.buf) > maxKept {
		w.buf = nil
	}
	b := slices.Grow(w.buf[:0], n)
	b = append(b, plainMagic+"\x00\x00\x00\x00\x00\x00\x00\x00"...)
	b = binary.AppendUvarint(b, uint64(len(meta)))
	b = append(b, meta...)
	b = binary.AppendUvarint(b, uint64(len(links)))
	b = append(b, links...)
	w.buf = append(b, body...)
	return nil
}

// pack returns the frame in zstd of the payload that is in buf.
func (w *FrameWriter) pack() []byte {
	if cap(w.out) > maxKept {
		w.out = nil
	}
	w.out = append(w.out[:0], frameMagic+"\x00\x00\x00\x00\x00\x00\x00\x00"...)
	w.out = w.enc.EncodeAll(w.buf[frameHeader:], w.out)
	seal(w.out, nil)
	return w.out
}

// seal writes length and checksum into the header of a frame that has its payload in two parts.
func seal(raw, tail []byte) {
	binary.LittleEndian.PutUint32(raw[4:], uint32(len(raw)-frameHeader+len(tail)))
	binary.LittleEndian.PutUint32(raw[8:],
		crc32.Update(crc32.Checksum(raw[frameHeader:], castagnoli), castagnoli, tail))
}

// FrameReader decodes frames. It is not safe for concurrent use; keep one for each worker.
type FrameReader struct {
	// Aside has buffers over a megabyte beside the Go heap, where they cost no more than themselves: what
	// ReadFrame returns is valid until Release.
	Aside bool

	aside []func() // give those of the last frame back
	dec   *zstd.Decoder
	raw   []byte
	out   []byte

	over  *zstd.Decoder // of deltas; nil until there is one
	other []byte        // beside out, where bases and what is over them take turns
	links []chained
}

// NewFrameReader returns a decoder.
func NewFrameReader() *FrameReader {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxFrame))
	if err != nil {
		panic(err) // the options are constants
	}
	return &FrameReader{dec: dec}
}

// Release gives the memory back that lies beside the heap. The last frame must not be used any more.
func (r *FrameReader) Release() {
	for _, free := range r.aside {
		free()
	}
	r.aside = r.aside[:0]
}

// buffer returns room for n bytes that are too many to be kept, nil where it is to come from the heap.
func (r *FrameReader) buffer(n int) []byte {
	if !r.Aside || n <= maxKept {
		return nil
	}
	b, free, err := mapped(n)
	if err != nil {
		return nil
	}
	r.aside = append(r.aside, free)
	return b
}

// payload unpacks what a full frame holds. It is valid until the next call, or as long as raw.
func (r *FrameReader) payload(raw []byte) ([]byte, error) {
	if len(raw) < frameHeader || (string(raw[:4]) != frameMagic && string(raw[:4]) != plainMagic) {
		return nil, fmt.Errorf("no frame here: %w", ErrDamaged)
	}
	if err := checkFrame(raw); err != nil {
		return nil, err
	}
	payload := raw[frameHeader:]
	if string(raw[:4]) == plainMagic {
		return payload, nil
	}
	out := r.out[:0]
	var head zstd.Header
	if r.Aside && head.Decode(payload) == nil && head.HasFCS && head.FrameContentSize <= maxFrame {
		if b := r.buffer(int(head.FrameContentSize)); b != nil {
			out = b[:0]
		}
	}
	out, err := r.dec.DecodeAll(payload, out)
	if err != nil {
		return nil, fmt.Errorf("frame: %w: %v", ErrDamaged, err)
	}
	r.out = r.kept(out)
	return out, nil
}

// split parts a payload.
func split(payload []byte) (Frame, error) {
	d := binread.Reader{Rest: payload}
	var f Frame
	f.Meta, f.Links = d.Bytes(), d.Bytes()
	f.Body = d.Rest
	if d.Bad {
		return Frame{}, fmt.Errorf("frame: %w: short payload", ErrDamaged)
	}
	return f, nil
}

// packs is the set of pack files of one site. Reads may run beside the one writer.
type packs struct {
	root *os.Root // of the packs folder

	mu    sync.Mutex
	files map[uint32]*os.File // open for reading

	wmu  sync.RWMutex // held for reading while a frame is written, for writing while a new pack is begun
	end  sync.Mutex   // guards size
	w    *os.File     // the last pack, open for appending
	num  uint32       // its number
	size int64        // its length; what lies before it may still be on its way
	max  int64        // bytes after which a new pack is begun

	made atomic.Bool // the last pack's name is not on disk for sure
	// of the first sync that failed: what was written before it may be lost, whatever a later one says
	failed atomic.Pointer[error]
}

func packName(n uint32) string { return fmt.Sprintf("%06d.pack", n) }

// packNumber is the number of the pack with a name, 0 for what is no pack.
func packNumber(name string) (n uint32) {
	if _, err := fmt.Sscanf(name, "%d.pack", &n); err != nil || packName(n) != name {
		return 0
	}
	return n
}

func openPacks(root *os.Root) *packs {
	return &packs{root: root, files: map[uint32]*os.File{}, max: maxPack}
}

// begin makes the last pack ready for appending, cut to size bytes: what lies behind was never committed. One
// that is shorter is left with a hole. Mostly nothing refers to it, because frames were on their way when the
// batch before them was committed; but when the disk has lost frames, no other ones may take their places.
func (p *packs) begin(num uint32, size int64) error {
	if num == 0 {
		num = 1
	}
	f, err := p.root.OpenFile(packName(num), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return diskErr("open pack", err)
	}
	st, err := f.Stat()
	if err == nil && st.Size() > size {
		err = f.Truncate(size)
	}
	if err != nil {
		f.Close()
		return diskErr("open pack", err)
	}
	if size == 0 {
		p.made.Store(true)
	}
	p.w, p.num, p.size = f, num, size
	return nil
}

// append writes a frame, given in two parts, and returns where it lies. Several may be written at a time.
func (p *packs) append(head, tail []byte) (Place, error) {
	size := int64(len(head) + len(tail))
	for {
		p.wmu.RLock()
		p.end.Lock()
		full := p.size > 0 && p.size+size > p.max
		at := Place{Pack: p.num, Off: p.size, Len: uint32(size)}
		if !full {
			p.size += size
		}
		p.end.Unlock()
		if !full {
			_, err := p.w.WriteAt(head, at.Off)
			if err == nil && len(tail) > 0 {
				_, err = p.w.WriteAt(tail, at.Off+int64(len(head)))
			}
			p.wmu.RUnlock()
			return at, diskErr("write pack", err)
		}
		p.wmu.RUnlock()
		p.wmu.Lock()
		var err error
		if p.num == at.Pack {
			err = p.roll()
		}
		p.wmu.Unlock()
		if err != nil {
			return Place{}, err
		}
	}
}

// roll begins the next pack. Callers hold wmu.
func (p *packs) roll() error {
	if err := p.syncLast(); err != nil {
		return err
	}
	full := p.w
	if err := p.begin(p.num+1, 0); err != nil {
		return err
	}
	return diskErr("close pack", full.Close())
}

// sync makes all frames that were written survive loss of power.
func (p *packs) sync() error {
	p.wmu.RLock()
	defer p.wmu.RUnlock()
	if p.w == nil {
		return nil
	}
	return p.syncLast()
}

func (p *packs) syncLast() error {
	if err := p.failed.Load(); err != nil {
		return *err
	}
	err := p.w.Sync()
	if err == nil && p.made.Load() {
		var d *os.File
		if d, err = p.root.Open("."); err == nil {
			err = errors.Join(d.Sync(), d.Close())
		}
		if err == nil {
			p.made.Store(false)
		}
	}
	if err = diskErr("sync pack", err); err != nil {
		p.failed.CompareAndSwap(nil, &err)
	}
	return err
}

// where returns how far the packs reach.
func (p *packs) where() (num uint32, size int64) {
	p.wmu.RLock()
	defer p.wmu.RUnlock()
	p.end.Lock()
	defer p.end.Unlock()
	return p.num, p.size
}

func (p *packs) file(n uint32) (*os.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.files[n]; f != nil {
		return f, nil
	}
	f, err := p.root.Open(packName(n))
	if err != nil {
		return nil, err
	}
	p.files[n] = f
	return f, nil
}

// forget closes the packs that are open for reading; nobody may be reading.
func (p *packs) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.files {
		f.Close()
	}
	clear(p.files)
}

// read decodes the frame at a place, and those that it is over.
func (p *packs) read(r *FrameReader, at Place) (fr Frame, err error) {
	payload, err := p.payload(r, at)
	if err == nil {
		fr, err = split(payload)
	}
	if err != nil {
		return Frame{}, fmt.Errorf("pack %s at %d: %w", packName(at.Pack), at.Off, err)
	}
	return fr, nil
}

// raw reads the frame at a place, at least as long as a header. It is valid until r is used again.
func (p *packs) raw(r *FrameReader, at Place) ([]byte, error) {
	f, err := p.open(at)
	if err != nil {
		return nil, err
	}
	raw := r.buffer(int(at.Len))
	if raw == nil {
		if cap(r.raw) < int(at.Len) {
			r.raw = nil // gone before the new one comes
			r.raw = make([]byte, at.Len)
		}
		raw = r.raw[:at.Len]
		r.raw = r.kept(r.raw)
	}
	if _, err := f.ReadAt(raw, at.Off); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("pack %s at %d: %w: file ends early", packName(at.Pack), at.Off, ErrDamaged)
		}
		return nil, diskErr("read pack", err)
	}
	return raw, nil
}

// open returns the pack that a place is in.
func (p *packs) open(at Place) (*os.File, error) {
	f, err := p.file(at.Pack)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("pack %s: %w: it is missing", packName(at.Pack), ErrDamaged)
	}
	if err != nil {
		return nil, diskErr("read pack", err)
	}
	if err := at.check(f); err != nil {
		return nil, fmt.Errorf("pack %s at %d: %w", packName(at.Pack), at.Off, err)
	}
	return f, nil
}

// check refuses a place that no frame can have, before memory is taken for it.
func (at Place) check(f *os.File) error {
	if at.Off < 0 || at.Len < frameHeader {
		return fmt.Errorf("%w: a frame of %d bytes", ErrDamaged, at.Len)
	}
	if at.Len <= maxKept {
		return nil
	}
	st, err := f.Stat()
	if err != nil {
		return diskErr("read pack", err)
	}
	if at.Off > st.Size()-int64(at.Len) {
		return fmt.Errorf("%w: file ends early", ErrDamaged)
	}
	return nil
}

func (p *packs) close() error {
	var errs []error
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.files {
		errs = append(errs, f.Close())
	}
	clear(p.files)
	if p.w != nil {
		errs = append(errs, p.w.Close())
		p.w = nil
	}
	return errors.Join(append(errs, p.root.Close())...)
}
