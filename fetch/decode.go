// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"mirrord/internal/charset"
)

const (
	acceptEncoding = "gzip, zstd, br, deflate"
	maxCodings     = 3 // applied one over the other
	// RFC 9659: the most that a client must support, so also the largest window here
	zstdWindow = 8 << 20
	copyBuffer = 32 << 10
)

// decoders keeps the decoders of a Client for reuse: a gzip reader is 40 KB, a zstd one can be megabytes.
type decoders struct {
	gzip, zlib, flate, br, zstd, bufs, copies sync.Pool
}

func (d *decoders) copyBuffer() *[]byte {
	if b, ok := d.copies.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, copyBuffer)
	return &b
}

func (d *decoders) buffered(r io.Reader) *bufio.Reader {
	b, ok := d.bufs.Get().(*bufio.Reader)
	if !ok {
		// given r it might return r itself, which another user releases
		b = bufio.NewReaderSize(noReader{}, 16<<10)
	}
	b.Reset(r)
	return b
}

// noReader is what a pooled decoder holds on to while it is unused.
type noReader struct{}

func (noReader) Read([]byte) (int, error) { return 0, io.EOF }

// codings splits a Content-Encoding into the codings in the order in which they were applied; identity is
// left out. With an error the list has also those that are not known.
func codings(values []string) (list []string, err error) {
	for _, v := range values {
		for c := range strings.SplitSeq(v, ",") {
			c = strings.ToLower(strings.TrimSpace(c))
			switch c {
			case "", "identity", "none", "7bit", "8bit", "binary", "aws-chunked":
				// all but the first two are not codings, yet seen in the wild on plain bodies
			case "x-gzip":
				list = append(list, "gzip")
			case "gzip", "br", "zstd", "deflate":
				list = append(list, c)
			default:
				if _, ok := charset.Lookup([]byte(c)); ok { // so are the names of encodings
					continue
				}
				list, err = append(list, strings.TrimPrefix(c, "x-")), cmp.Or(err, fmt.Errorf("%w: %.40q", ErrCoding, c))
			}
		}
	}
	if len(list) > maxCodings {
		err = fmt.Errorf("%w: %d codings one over the other", ErrCoding, len(list))
	}
	return list, err
}

// open returns a reader of r without the coding, and a function that gives the decoder back. An empty body is
// empty in every coding (servers label them so), and r is never read past the end of what the coding says,
// but for buffering.
func (d *decoders) open(coding string, r io.Reader) (io.Reader, func(), error) {
	b := d.buffered(r)
	free := func() { b.Reset(noReader{}); d.bufs.Put(b) }
	head, err := b.Peek(2)
	if len(head) == 0 {
		if err == io.EOF {
			return noReader{}, free, nil
		}
		free()
		return nil, nil, err
	}
	switch coding {
	case "gzip":
		z, ok := d.gzip.Get().(*gzip.Reader)
		if !ok {
			z = new(gzip.Reader)
		}
		if err := z.Reset(b); err != nil {
			free()
			return nil, nil, err
		}
		z.Multistream(false)
		return &members{z: z, b: b}, func() { d.gzip.Put(z); free() }, nil
	case "deflate":
		// RFC 9110 §8.4.1.2: "deflate" is zlib, but some servers send it raw. A zlib header is 8 in the low nibble
		// and a multiple of 31 (RFC 1950 §2.2); no raw stream that a compressor writes begins so.
		if len(head) == 2 && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
			return d.openZlib(b, free)
		}
		f, ok := d.flate.Get().(io.ReadCloser)
		if !ok {
			f = flate.NewReader(b)
		} else if err := f.(flate.Resetter).Reset(b, nil); err != nil {
			free()
			return nil, nil, err
		}
		return f, func() { d.flate.Put(f); free() }, nil
	case "br":
		z, ok := d.br.Get().(*brotli.Reader)
		if !ok {
			z = new(brotli.Reader)
		}
		if err := z.Reset(b); err != nil {
			free()
			return nil, nil, err
		}
		return z, func() { d.br.Put(z); free() }, nil
	case "zstd":
		z, ok := d.zstd.Get().(*zstd.Decoder)
		if !ok {
			z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(zstdWindow))
			if err != nil {
				free()
				return nil, nil, err
			}
		}
		if err := z.Reset(b); err != nil {
			free()
			return nil, nil, err
		}
		return z, func() {
			if z.Reset(nil) == nil {
				d.zstd.Put(z)
			}
			free()
		}, nil
	}
	free()
	return nil, nil, fmt.Errorf("%w: %.40q", ErrCoding, coding)
}

func (d *decoders) openZlib(b *bufio.Reader, free func()) (io.Reader, func(), error) {
	z, ok := d.zlib.Get().(io.ReadCloser)
	var err error
	if ok {
		err = z.(zlib.Resetter).Reset(b, nil)
	} else {
		z, err = zlib.NewReader(b)
	}
	if err != nil {
		free()
		return nil, nil, err
	}
	return z, func() { d.zlib.Put(z); free() }, nil
}

// members reads all members of a gzip body (RFC 1952 §2.2). What follows a member and does not begin as
// another is ignored, as browsers do: some servers pad.
type members struct {
	z *gzip.Reader
	b *bufio.Reader
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if err != io.EOF {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
		next, err := m.b.Peek(2)
		if len(next) < 2 || next[0] != 0x1f || next[1] != 0x8b {
			if err != nil && err != io.EOF {
				return 0, err
			}
			return 0, io.EOF
		}
		if err := m.z.Reset(m.b); err != nil {
			return 0, err
		}
		m.z.Multistream(false)
	}
}

// codingError gives what a decoder said a class: an early end is a truncation, all else bad data. Errors of
// the network and of our own limits stay what they are.
func codingError(err, network error) error {
	switch {
	case network != nil && network != io.EOF:
		return network
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: the content coding does not end", ErrTruncated)
	case errors.Is(err, ErrCoding):
		return err
	}
	return fmt.Errorf("%w: %w", ErrCoding, err)
}
