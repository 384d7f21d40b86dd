// SPDX-License-Identifier: Apache-2.0

package zim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
)

const (
	ahead     = 4       // clusters that are compressed beside the caller
	maxBlobs  = 1 << 13 // in a cluster, so that one of empty blobs ends too
	packRatio = 100     // bytes that are packed into one at most: more looks like a bomb to readers

	headRoom = 1 + 8*(maxBlobs+1) // for the info byte and the offsets of a cluster
)

// openCluster takes blobs.
type openCluster struct {
	id    uint32 // see Writer.open
	data  []byte // room for what stands before the blobs, and the blobs
	sizes []int
}

func (c *openCluster) add(blob []byte) {
	c.data = append(c.data, blob...)
	c.sizes = append(c.sizes, len(blob))
}

// plain returns the cluster without compression, which lies in data.
func (c *openCluster) plain() []byte {
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

// job is a cluster on its way into the file.
type job struct {
	id    uint32
	bytes []byte        // with the info byte
	bufs  [2][]byte     // where bytes may lie: that of the blobs, and one for what is compressed
	done  chan struct{} // closed when bytes is right
}

// seal ends a cluster and begins to compress it. The next blob opens another.
func (w *Writer) seal(c *openCluster, pack bool) error {
	if len(c.sizes) == 0 {
		return nil
	}
	j := &job{id: c.id, bytes: c.plain(), done: make(chan struct{})}
	j.bufs[0] = c.data
	c.data, c.sizes = nil, c.sizes[:0]
	w.pending = append(w.pending, j)
	if !pack {
		close(j.done)
		return w.flush(ahead)
	}
	j.bufs[1] = w.buffer(1)
	work := func() {
		j.compress(w.zstd)
		close(j.done)
	}
	if w.o.Go == nil {
		work()
	} else {
		w.o.Go(work)
	}
	return w.flush(ahead)
}

// compress compresses a plain cluster, unless it does not shrink, or too well.
func (j *job) compress(z *zstd.Encoder) {
	plain := j.bytes
	out := z.EncodeAll(plain[1:], append(j.bufs[1][:0], plain[0]-plainCluster+zstdCluster))
	j.bufs[1] = out
	if len(out) < len(plain) && len(plain) <= packRatio*len(out) {
		j.bytes = out
	}
}

// begin opens a cluster.
func (w *Writer) begin(c *openCluster) {
	c.id = w.open()
	if c.data = w.buffer(0); c.data == nil {
		c.data = make([]byte, 0, headRoom+w.o.Cluster)
	}
	c.data = c.data[:headRoom]
}

// buffer returns one of a kind that is used again, or nil.
func (w *Writer) buffer(kind int) (b []byte) {
	if k := len(w.free[kind]) - 1; k >= 0 {
		b, w.free[kind] = w.free[kind][k], w.free[kind][:k]
	}
	return b
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
		j := w.pending[0]
		w.pending = w.pending[1:]
		<-j.done
		if w.err != nil {
			continue // wait for all: nothing may run when Close has returned
		}
		w.place(j.id)
		if _, err := w.out.Write(j.bytes); err != nil {
			return err
		}
		for kind, b := range j.bufs {
			if b != nil && cap(b) <= headRoom+2*w.o.Cluster {
				w.free[kind] = append(w.free[kind], b)
			}
		}
	}
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
