// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

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

// decode returns a reader of r without the coding. An empty body is empty in every coding (servers label them
// so), and r is never read past the end of what the coding says, but for buffering.
func decode(coding string, r io.Reader) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(r, 16<<10)
	head, err := b.Peek(2)
	if len(head) == 0 {
		if err == io.EOF {
			return http.NoBody, nil
		}
		return nil, err
	}
	switch coding {
	case "gzip":
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		z.Multistream(false)
		return io.NopCloser(&members{z: z, b: b}), nil
	case "deflate":
		// RFC 9110 §8.4.1.2: "deflate" is zlib, but some servers send it raw. A zlib header is 8 in the low nibble
		// and a multiple of 31 (RFC 1950 §2.2); no raw stream that a compressor writes begins so.
		if len(head) == 2 && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
			return zlib.NewReader(b)
		}
		return flate.NewReader(b), nil
	case "br":
		return io.NopCloser(brotli.NewReader(b)), nil
	case "zstd":
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(zstdWindow))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("%w: %.40q", ErrCoding, coding)
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
