// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxURL bounds a line of a list, in bytes; longer ones are skipped and counted.
const maxURL = 64 << 10

// ListCount is what a list held.
type ListCount struct {
	Lines int // or records of a WARC
	URLs  int // taken
	Bad   int // lines that hold no URL
	// lines of a proxy's log whose requests had no page: tunnels, failures, what was sent
	Skipped int
}

// ReadURLs reads addresses from a list: one a line (empty lines and those that begin with # are none), a CDX
// or CDXJ index, or the log of a proxy (Squid's native form, or the combined one); each may be packed by gzip
// or zstd. It calls add with each address, which is valid during the call, and bad with the number and the
// start of each line that holds none; both may end the reading with an error.
func ReadURLs(
	r io.Reader, add func(url []byte) error, bad func(line int, text string, err error) error,
) (ListCount, error) {
	in, err := unpack(r)
	if err != nil {
		return ListCount{}, err
	}
	if c, ok := in.(io.Closer); ok {
		defer c.Close()
	}
	l := lister{in: bufio.NewReaderSize(in, maxURL), add: add, bad: bad}
	err = l.lines()
	return l.count, err
}

// unpack unpacks gzip or zstd, which it knows by its first bytes.
func unpack(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, maxURL)
	head, err := b.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the list: %w", err)
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("unpacking the list: %w", err)
		}
		return z, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return nil, fmt.Errorf("unpacking the list: %w", err)
		}
		return z.IOReadCloser(), nil
	}
	return b, nil
}

type lister struct {
	in    *bufio.Reader
	add   func([]byte) error
	bad   func(int, string, error) error
	count ListCount
}

// errLong says that a line was too long to be an address.
var errLong = fmt.Errorf("longer than %d bytes", maxURL)

// line returns the next line without its end, or the start of one that is too long with errLong.
func (l *lister) line() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		start := bytes.Clone(line[:200])
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.in.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("reading the list: %w", err)
		}
		return start, errLong
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("reading the list: %w", err)
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

func (l *lister) lines() error {
	for {
		line, err := l.line()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, errLong):
			return err
		}
		l.count.Lines++
		if err == nil {
			line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))
			if len(line) == 0 || line[0] == '#' || (l.count.Lines == 1 && bytes.HasPrefix(line, []byte("CDX "))) {
				continue
			}
			if err = l.takeLine(line); err == nil {
				continue
			}
			if !errors.Is(err, ErrNotURL) {
				return err
			}
		}
		if err := l.refuse(line, err); err != nil {
			return err
		}
	}
}

// takeLine hands on the address in a line; ErrNotURL when it has none.
func (l *lister) takeLine(line []byte) error {
	url := urlOf(line)
	if url == nil {
		var err error
		if url, err = proxyURL(line); err != nil {
			l.count.Skipped++
			return nil
		}
	}
	return l.take(url)
}

// take hands an address on; ErrNotURL for other bytes.
func (l *lister) take(url []byte) error {
	if url == nil {
		return ErrNotURL
	}
	if err := l.add(url); err != nil {
		return err
	}
	l.count.URLs++
	return nil
}

func (l *lister) refuse(line []byte, err error) error {
	l.count.Bad++
	return l.bad(l.count.Lines, string(line[:min(len(line), 200)]), err)
}

// urlOf finds the address in a line: the line itself, the third field of a CDX, or "url" of the JSON of a
// CDXJ.
func urlOf(line []byte) []byte {
	if isHTTP(line) {
		return line
	}
	_, rest, _ := bytes.Cut(line, []byte(" "))
	stamp, rest, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(stamp) < 4 || len(bytes.Trim(stamp, "0123456789")) > 0 {
		return nil
	}
	if isHTTP(rest) {
		url, _, _ := bytes.Cut(rest, []byte(" "))
		return url
	}
	var entry struct{ URL string }
	if json.Unmarshal(rest, &entry) != nil || entry.URL == "" {
		return nil
	}
	return []byte(entry.URL)
}

func isHTTP(b []byte) bool {
	return len(b) >= 8 &&
		(bytes.EqualFold(b[:7], []byte("http://")) || bytes.EqualFold(b[:8], []byte("https://")))
}
