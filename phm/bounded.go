// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"

	"mirrord/internal/inorder"
)

// packRatio is how many bytes mirrord packs into one at most. Readers refuse an archive beyond Limits.Ratio,
// twice as much, as a bomb; a site may well have files of nothing but zeros.
const packRatio = 100

// counter counts the bytes written to it.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// boundedDeflate writes a deflate stream (RFC 1951) that keeps to packRatio: what would go beyond it becomes
// stored blocks.
type boundedDeflate struct {
	out   *counter
	flate *flate.Writer
	in    int64
}

func newBoundedDeflate(w io.Writer, level int) (*boundedDeflate, error) {
	b := &boundedDeflate{out: &counter{w: w}}
	var err error
	b.flate, err = flate.NewWriter(b.out, level)
	return b, err
}

const (
	storedBlock = 1<<16 - 1 // bytes of a stored block at most, RFC 1951 3.2.4
	// bytes from which on the ratio counts; before, most of the output may still be in memory
	boundFrom = 1 << 20
)

func (b *boundedDeflate) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		k := min(len(p), storedBlock)
		if b.in > boundFrom && b.in > packRatio*b.out.n {
			err = b.stored(p[:k])
		} else {
			_, err = b.flate.Write(p[:k])
		}
		b.in += int64(k)
		n += k
		p = p[k:]
	}
	return n, err
}

// stored ends the compressed data at a byte boundary, writes one stored block, and begins again: what
// follows refers to nothing before it.
func (b *boundedDeflate) stored(p []byte) error {
	if err := b.flate.Flush(); err != nil {
		return err
	}
	k := len(p)
	if _, err := b.out.Write([]byte{0, byte(k), byte(k >> 8), ^byte(k), ^byte(k >> 8)}); err != nil {
		return err
	}
	if _, err := b.out.Write(p); err != nil {
		return err
	}
	b.flate.Reset(b.out)
	return nil
}

func (b *boundedDeflate) Close() error { return b.flate.Close() }

// NewZstd returns a writer that compresses a tar with zstd (RFC 8878), in frames that the crew packs side by
// side, and keeps to packRatio: data that packs better is followed by frames that readers skip. The output
// depends on the bytes alone. Close or Abort must be called, and ends the workers.
func NewZstd(w io.Writer, crew inorder.Crew) *ZstdWriter {
	b := &ZstdWriter{out: &counter{w: w}, free: make(chan *zstdFrame, zstdAhead)}
	b.frames = inorder.New(crew, zstdPart*min(int64(crew.Size), zstdAhead), b.put)
	b.encoders = make([]*zstd.Encoder, b.frames.Workers())
	for i := range b.encoders {
		b.encoders[i], _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), // these options are valid
			zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(zstdWindow))
	}
	return b
}

// ZstdWriter is what NewZstd returns. It is for one goroutine.
type ZstdWriter struct {
	out      *counter
	frames   *inorder.Lane[*zstdFrame]
	encoders []*zstd.Encoder // by worker
	next     *zstdFrame      // what was written and is no whole frame yet
	free     chan *zstdFrame
	in       int64 // bytes that the frames in out hold
}

// zstdFrame is a part of the tar.
type zstdFrame struct{ raw, packed []byte }

// Sizes of zstd frames, in bytes: with parts of zstdPart a site is as small as in the single frame of
// zstd -3, in the same processor time; a reader holds zstdWindow. zstdAhead bounds the parts on their way.
const (
	zstdPart   = 16 << 20
	zstdWindow = 8 << 20
	zstdAhead  = 4
)

func (b *ZstdWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		if b.next == nil {
			b.next = b.frame()
		}
		k := min(len(p), zstdPart-len(b.next.raw))
		b.next.raw = append(b.next.raw, p[:k]...)
		n += k
		p = p[k:]
		if len(b.next.raw) == zstdPart {
			err = b.pack()
		}
	}
	return n, err
}

// frame returns an empty frame.
func (b *ZstdWriter) frame() *zstdFrame {
	select {
	case f := <-b.free:
		f.raw, f.packed = f.raw[:0], f.packed[:0]
		return f
	default:
		return &zstdFrame{raw: make([]byte, 0, zstdPart)}
	}
}

// pack has the next frame packed.
func (b *ZstdWriter) pack() error {
	f := b.next
	b.next = nil
	return b.frames.Add(int64(len(f.raw)), func(worker int) (*zstdFrame, error) {
		f.packed = b.encoders[worker].EncodeAll(f.raw, f.packed)
		return f, nil
	})
}

// put writes a frame that is packed, and a skippable one (RFC 8878 3.1.2) that is as long as the ratio wants.
func (b *ZstdWriter) put(f *zstdFrame, _ error) error {
	if _, err := b.out.Write(f.packed); err != nil {
		return err
	}
	b.in += int64(len(f.raw))
	if size := b.in/packRatio - b.out.n; b.in > boundFrom && size > 0 {
		head := []byte{0x50, 0x2a, 0x4d, 0x18, byte(size), byte(size >> 8), byte(size >> 16), byte(size >> 24)}
		if _, err := b.out.Write(append(head, make([]byte, size)...)); err != nil {
			return err
		}
	}
	select {
	case b.free <- f:
	default:
	}
	return nil
}

// Close writes the remaining data.
func (b *ZstdWriter) Close() error {
	defer b.frames.Close()
	if b.next != nil {
		if err := b.pack(); err != nil {
			return err
		}
	}
	return b.frames.Flush()
}

// Abort ends the writing after an error, in place of Close. What was written then ends within a frame, so
// that its reader sees that more should come: a tar may end behind any file, and most programs say nothing.
func (b *ZstdWriter) Abort() {
	b.frames.Close()
	if b.out.n > 0 {
		// the beginning of a frame; the caller gets the error before it
		_, _ = b.out.Write([]byte{0x28, 0xb5, 0x2f, 0xfd})
	}
}
