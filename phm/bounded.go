// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"io"

	"github.com/klauspost/compress/flate"
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
