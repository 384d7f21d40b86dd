// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"

	"mirrord/internal/zstdfast"
)

const (
	ahead     = 4       // clusters that are compressed beside the caller
	maxBlobs  = 1 << 13 // in a cluster, so that one of empty blobs ends too
	packRatio = 100     // bytes that are packed into one at most: more looks like a bomb to readers

	headRoom = 1 + 8*(maxBlobs+1) // for the info byte and the offsets of a cluster
)

// OpenCluster takes the blobs of entries and compresses them, beside others and what its Writer does. It is
// not safe for concurrent use.
type OpenCluster struct {
	w       *Writer
	id      uint32 // see Writer.open
	pack    bool   // it is compressed
	data    []byte // space for the fields before the blobs, and the blobs
	sizes   []int
	entries []Entry // by blob, of those that came by OpenCluster.Add
	err     error   // of OpenCluster.Add

	size  int           // once it is packed: of all of it before
	bytes []byte        // all of it as it is written; a part of data or of out
	out   []byte        // where it was compressed to
	done  chan struct{} // closed when it is packed
}

// NewCluster begins a cluster for about so many bytes of blobs, which is not compressed when it is plain. It
// is safe for concurrent use.
func (w *Writer) NewCluster(plain bool, size int) *OpenCluster {
	var data []byte
	size = max(size, w.Cluster)
	if size == w.Cluster {
		data = w.blobs.take()
	}
	if data == nil {
		data = make([]byte, 0, headRoom+size+size/16)
	}
	return &OpenCluster{
		w:    w,
		pack: !plain,
		data: data[:headRoom],
		done: make(chan struct{}),
	}
}

// Room returns memory for n bytes: a blob that is made there is added without a copy.
func (c *OpenCluster) Room(n int) []byte {
	c.data = slices.Grow(c.data, n)
	return c.data[len(c.data) : len(c.data)+n]
}

// Add adds an entry with its blob, which stays in this cluster: Plain and Same of the entry say nothing here.
// Take and Keep return its errors.
func (c *OpenCluster) Add(e Entry, blob []byte) {
	if len(c.sizes) >= maxBlobs {
		c.err = fmt.Errorf("%q: %w: one blob too many in a cluster", e.Path, ErrEntry)
		return
	}
	c.entries = append(c.entries, e)
	c.add(blob)
}

func (c *OpenCluster) add(blob []byte) {
	n := len(c.data)
	if room := c.data[n:cap(c.data)]; len(room) > 0 && len(blob) > 0 && &room[0] == &blob[0] {
		c.data = c.data[:n+len(blob)]
	} else {
		c.data = append(c.data, blob...)
	}
	c.sizes = append(c.sizes, len(blob))
}

// Pack ends the cluster: it is compressed, unless it does not shrink, or too well.
func (c *OpenCluster) Pack() {
	defer close(c.done)
	c.bytes = c.plain()
	c.size = len(c.bytes)
	if !c.pack {
		return
	}
	if c.out = c.w.packs.take(); c.out == nil {
		c.out = make([]byte, 0, c.w.Cluster/4) // nearly always enough for text
	}
	c.out = append(c.out[:0], c.bytes[0]-plainCluster+zstdCluster)
	enc := c.w.encoders.take()
	c.out = enc.Append(c.out, c.bytes[1:])
	c.w.encoders.reuse(enc)
	if len(c.out) < len(c.bytes) && len(c.bytes) <= packRatio*len(c.out) {
		c.bytes = c.out
		c.w.reuse(c.w.blobs, c.data)
		c.data = nil
	}
}

// plain returns the cluster without compression, a part of data.
func (c *OpenCluster) plain() []byte {
	width, info := 4, byte(plainCluster)
	if uint64(len(c.data))+uint64(width*(len(c.sizes)+1)) > math.MaxUint32 {
		width, info = 8, plainCluster|wideOffsets
	}
	head := width * (len(c.sizes) + 1)
	all := c.data[headRoom-head-1:]
	index := append(all[:0], info)
	at := uint64(head)
	index = appendOffset(index, width, at)
	for _, n := range c.sizes {
		at += uint64(n)
		index = appendOffset(index, width, at)
	}
	return all
}

// Take adds a cluster that is packed, with its entries.
func (w *Writer) Take(c *OpenCluster) error {
	if w.err != nil {
		return w.err
	}
	w.pending = append(w.pending, c)
	if err := w.takeEntries(c); err != nil {
		return w.note(err)
	}
	return w.note(w.flush(ahead))
}

// Keep adds a cluster that is not packed yet, with its entries. Close packs what was kept while the MD5 of
// all else is made, so that a few of these, which stay in memory until then, use a core that would be idle.
func (w *Writer) Keep(c *OpenCluster) error {
	if w.err != nil {
		return w.err
	}
	w.kept = append(w.kept, c)
	return w.note(w.takeEntries(c))
}

func (w *Writer) takeEntries(c *OpenCluster) error {
	if c.err != nil {
		return c.err
	}
	c.id = w.open()
	for i, e := range c.entries {
		rec, err := w.dir.check(e)
		if err != nil {
			return err
		}
		rec.cluster, rec.blob = c.id, uint32(i)
		w.dir.add(e, rec)
	}
	c.entries = nil
	return nil
}

// seal ends a cluster that Writer.Add filled and begins to compress it.
func (w *Writer) seal(at **OpenCluster) error {
	c := *at
	if c == nil {
		return nil
	}
	*at = nil
	w.pending = append(w.pending, c)
	if c.pack && w.Go != nil {
		w.Go(c.Pack)
	} else {
		c.Pack()
	}
	return w.flush(ahead)
}

// buffers are memory that is used again.
type buffers chan []byte

// take returns some, or nil.
func (free buffers) take() []byte {
	select {
	case b := <-free:
		return b
	default:
		return nil
	}
}

// reuse gives back what take returned, unless it has grown.
func (w *Writer) reuse(free buffers, b []byte) {
	if b == nil || cap(b) > headRoom+2*w.Cluster {
		return
	}
	select {
	case free <- b:
	default:
	}
}

// encoders are kept for the next cluster.
type encoders chan *zstdfast.Encoder

func (free encoders) take() *zstdfast.Encoder {
	select {
	case e := <-free:
		return e
	default:
		return zstdfast.New()
	}
}

func (free encoders) reuse(e *zstdfast.Encoder) {
	select {
	case free <- e:
	default:
	}
}

func appendOffset(dst []byte, width int, at uint64) []byte {
	if width == 8 {
		return binary.LittleEndian.AppendUint64(dst, at)
	}
	return binary.LittleEndian.AppendUint32(dst, uint32(at))
}

// flush writes sealed clusters, oldest first, until at most so many are on their way.
func (w *Writer) flush(most int) error {
	for len(w.pending) > most {
		c := w.pending[0]
		w.pending = w.pending[1:]
		<-c.done
		if w.err != nil {
			continue // wait for all: nothing may run when Close has returned
		}
		if err := w.write(c); err != nil {
			return err
		}
		w.reuse(w.blobs, c.data)
		w.reuse(w.packs, c.out)
	}
	return nil
}

func (w *Writer) write(c *OpenCluster) error {
	if c.pack {
		w.plainSize += uint64(c.size)
		w.packedSize += uint64(len(c.bytes))
	}
	w.place(c.id)
	_, err := w.out.Write(c.bytes)
	return err
}

// keptRoom returns the room that kept clusters will probably take: an eighth more than others came to.
func (w *Writer) keptRoom() (n uint64) {
	for _, c := range w.kept {
		n += uint64(len(c.data))
	}
	if w.packedSize < w.plainSize {
		n = uint64(float64(n) * float64(w.packedSize) / float64(w.plainSize))
	}
	return n + n/8
}

// writeKept packs and writes the kept clusters. more is called after each.
func (w *Writer) writeKept(more func()) error {
	for i, c := range w.kept {
		c.Pack()
		if err := w.write(c); err != nil {
			return err
		}
		w.kept[i] = nil
		more()
	}
	w.kept = nil
	return nil
}

var errSize = errors.New("the blob does not have the size that was announced")

// stream writes a cluster of one blob.
type stream struct {
	w    *Writer
	body io.Writer
	left uint64
	zstd *zstd.Encoder // nil when the blob is not compressed
}

func newStream(w *Writer, plain bool, size uint64) (*stream, error) {
	width, info := 4, byte(plainCluster)
	if size+8 > math.MaxUint32 {
		width, info = 8, plainCluster|wideOffsets
	}
	if !plain {
		info += zstdCluster - plainCluster
	}
	if _, err := w.out.Write([]byte{info}); err != nil {
		return nil, err
	}
	s := &stream{w: w, body: &w.out, left: size}
	if !plain {
		var err error
		if s.zstd, err = zstd.NewWriter(&w.out, zstd.WithEncoderLevel(zstd.SpeedFastest)); err != nil {
			return nil, err
		}
		s.body = s.zstd
	}
	_, err := s.body.Write(appendOffset(appendOffset(nil, width, uint64(2*width)), width, uint64(2*width)+size))
	return s, err
}

// Write takes exactly as many bytes as were announced.
func (s *stream) Write(p []byte) (int, error) {
	if uint64(len(p)) > s.left {
		return 0, s.w.note(errSize)
	}
	n, err := s.body.Write(p)
	s.left -= uint64(n)
	return n, s.w.note(err)
}

func (s *stream) Close() error {
	var err error
	if s.zstd != nil {
		err = s.zstd.Close()
	}
	if (err == nil) && s.left > 0 {
		err = fmt.Errorf("%w: %d bytes are missing", errSize, s.left)
	}
	return s.w.note(err)
}
