// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"encoding/binary"
	"errors"

	"mirrord/internal/binread"
	"mirrord/store/record"
)

// A capture of a plan is kept as a line: small binary values, with escapes for line feeds.

// appendPlanned appends a capture, without a line feed at its end.
func appendPlanned(line []byte, c *planned) []byte {
	from := len(line)
	flags := byte(c.Body) << 2
	if c.Made {
		flags |= 1
	}
	if c.Added {
		flags |= 2
	}
	line = append(line, flags)
	line = append(line, c.Digest[:]...)
	for _, s := range []string{c.URL, c.MIME, c.Charset, c.Source} {
		line = binread.AppendString(line, s)
	}
	line = append(binary.AppendUvarint(line, uint64(len(c.Head))), c.Head...)
	for _, n := range []int64{
		int64(c.Number), c.Date, c.Size, c.Again, c.Kept, c.Listed, int64(c.At.Pack), c.At.Off, int64(c.At.Len),
		int64(c.At.Doc),
	} {
		line = binary.AppendUvarint(line, uint64(n))
	}
	return escapeLine(line, from)
}

// parsePlanned reads what appendPlanned appended.
func parsePlanned(line []byte) (*planned, error) {
	d := binread.Reader{Rest: unescapeLine(line)}
	flags := d.Byte()
	c := &planned{Made: flags&1 != 0, Added: flags&2 != 0, Body: record.BodyKind(flags >> 2)}
	copy(c.Digest[:], d.Take(len(c.Digest)))
	for _, s := range []*string{&c.URL, &c.MIME, &c.Charset, &c.Source} {
		*s = d.Text()
	}
	c.Head = d.Bytes()
	c.Number = uint32(d.Uvarint())
	for _, n := range []*int64{&c.Date, &c.Size, &c.Again, &c.Kept, &c.Listed} {
		*n = int64(d.Uvarint())
	}
	c.At.Pack, c.At.Off = uint32(d.Uvarint()), int64(d.Uvarint())
	c.At.Len, c.At.Doc = uint32(d.Uvarint()), uint32(d.Uvarint())
	if d.Bad || len(d.Rest) > 0 {
		return nil, errPlanned
	}
	return c, nil
}

var errPlanned = errors.New("the plan of the export, in a temporary file, was changed")

const lineEscape = 0x1b // rare in heads and addresses

// escapeLine escapes line feeds from a byte of a line on.
func escapeLine(line []byte, from int) []byte {
	n := bytes.Count(line[from:], []byte{'\n'}) + bytes.Count(line[from:], []byte{lineEscape})
	if n == 0 {
		return line
	}
	k := len(line) - 1
	line = append(line, make([]byte, n)...)
	for to := len(line) - 1; to > k; k-- { // from the end: nothing is overwritten that was not read
		switch c := line[k]; c {
		case '\n', lineEscape:
			line[to-1], line[to] = lineEscape, c^0x40
			to -= 2
		default:
			line[to] = c
			to--
		}
	}
	return line
}

// unescapeLine returns a copy of a line without escapes; of one that was cut in an escape, nothing.
func unescapeLine(line []byte) []byte {
	out := make([]byte, 0, len(line))
	for {
		i := bytes.IndexByte(line, lineEscape)
		if i < 0 {
			return append(out, line...)
		}
		if i+1 == len(line) {
			return nil // an escape of nothing
		}
		out = append(append(out, line[:i]...), line[i+1]^0x40)
		line = line[i+2:]
	}
}
