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
	maxBlobs  = 1 << 16 // in a cluster, so that one of empty blobs ends too
	packRatio = 100     // bytes that are packed into one at most: more looks like a bomb to readers
)

// openCluster takes blobs.
type openCluster struct {
	id    uint32 // see Writer.open
	data  []byte
	sizes []int
}

// job is a cluster on its way into the file.
type job struct {
	id     uint32
	bytes  []byte // with the info byte
	packed bool
	done   chan struct{} // closed when bytes is right
}

// seal ends a cluster and begins to compress it. The next blob opens another.
func (w *Writer) seal(c *openCluster, pack bool) error {
	if len(c.sizes) == 0 {
		return nil
	}
	j := &job{id: c.id, packed: pack, done: make(chan struct{})}
	j.bytes = appendPlain(make([]byte, 0, len(c.data)+5+8*len(c.sizes)), c)
	c.data, c.sizes = c.data[:0], c.sizes[:0]
	w.pending = append(w.pending, j)
	work := func() {
		if pack {
			j.bytes = compressed(w.zstd, j.bytes)
		}
		close(j.done)
	}
	if w.o.Go == nil || !pack {
		work()
	} else {
		w.o.Go(work)
	}
	return w.flush(ahead)
}

// appendPlain appends a cluster without compression.
func appendPlain(dst []byte, c *openCluster) []byte {
	width, info := 4, byte(plainCluster)
	if uint64(len(c.data))+uint64(width*(len(c.sizes)+1)) > math.MaxUint32 {
		width, info = 8, plainCluster|wideOffsets
	}
	dst = append(dst, info)
	at := uint64(width * (len(c.sizes) + 1))
	dst = appendOffset(dst, width, at)
	for _, n := range c.sizes {
		at += uint64(n)
		dst = appendOffset(dst, width, at)
	}
	return append(dst, c.data...)
}

func appendOffset(dst []byte, width int, at uint64) []byte {
	if width == 8 {
		return binary.LittleEndian.AppendUint64(dst, at)
	}
	return binary.LittleEndian.AppendUint32(dst, uint32(at))
}

// compressed returns a plain cluster compressed, or as it is when it does not shrink, or too well.
func compressed(z *zstd.Encoder, plain []byte) []byte {
	out := z.EncodeAll(plain[1:], append(make([]byte, 0, len(plain)/3), plain[0]-plainCluster+zstdCluster))
	if len(out) >= len(plain) || len(plain) > packRatio*len(out) {
		return plain
	}
	return out
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
