// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// packRatio is how many bytes mirrord packs into one at most. Readers refuse an archive beyond Limits.Ratio,
// twice as much, as a bomb; a site may well have files of nothing but zeros.
const packRatio = 100

// counter counts what is written.
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
	// bytes from which on the ratio counts; before, most of what is written may still be in memory
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

// stored ends what is being compressed at a byte, writes one stored block, and begins again: what follows
// refers to nothing before it.
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

// NewZstd returns a writer that compresses a tar with zstd (RFC 8878) and keeps to packRatio: what packs
// better is followed by frames that readers pass over.
func NewZstd(w io.Writer) (io.WriteCloser, error) {
	b := &boundedZstd{out: &counter{w: w}}
	var err error
	b.zstd, err = zstd.NewWriter(b.out)
	return b, err
}

type boundedZstd struct {
	out     *counter
	zstd    *zstd.Encoder
	in      int64
	checked int64 // of in, when the ratio was last looked at
}

const zstdStep = 8 << 20 // bytes between two looks at the ratio

func (b *boundedZstd) Write(p []byte) (int, error) {
	n := len(p)
	b.in += int64(n)
	if b.in-b.checked >= zstdStep {
		b.checked = b.in
		if err := b.zstd.Flush(); err != nil {
			return 0, err
		}
		if b.in > packRatio*b.out.n {
			if err := b.pad(); err != nil {
				return 0, err
			}
		}
	}
	return b.zstd.Write(p)
}

// pad ends the frame and writes a skippable one (RFC 8878 3.1.2) that is as long as the ratio wants.
func (b *boundedZstd) pad() error {
	if err := b.zstd.Close(); err != nil {
		return err
	}
	size := b.in/packRatio - b.out.n
	if size > 0 {
		head := []byte{0x50, 0x2a, 0x4d, 0x18, byte(size), byte(size >> 8), byte(size >> 16), byte(size >> 24)}
		if _, err := b.out.Write(append(head, make([]byte, size)...)); err != nil {
			return err
		}
	}
	b.zstd.Reset(b.out)
	return nil
}

func (b *boundedZstd) Close() error { return b.zstd.Close() }
