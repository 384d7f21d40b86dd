// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Limits of the accepted input.
const (
	maxLine   = 64 << 10 // bytes of a line of a header
	maxFields = 1000     // of a header
)

// Reader reads the records of a file in order.
type Reader struct {
	src  *source
	now  *Record
	num  int
	end  int64 // offset behind the last record
	fail error // ends all reading
}

// NewReader returns a reader of a file, plain or compressed.
func NewReader(r io.Reader) (*Reader, error) {
	src, err := newSource(r)
	if err != nil {
		return nil, &RecordError{1, 0, err}
	}
	return &Reader{src: src}, nil
}

// Close releases the decompressor. It does not close the input.
func (r *Reader) Close() { r.src.close() }

// Next returns the next record, io.EOF after the last one. What was not read of the one before is skipped. An
// error of a file is a [RecordError], and ends it.
func (r *Reader) Next() (*Record, error) {
	if r.fail != nil {
		return nil, r.fail
	}
	rec, err := r.next()
	if err != nil {
		r.fail = err
		return nil, err
	}
	r.now = rec
	return rec, nil
}

// End finishes the record that is being read, and returns the offset behind it: of a compressed one that of
// the next member. Together with the record's offset it is what an index needs.
func (r *Reader) End() (int64, error) {
	if err := r.finish(); err != nil {
		r.fail = err
		return 0, err
	}
	return r.end, nil
}

func (r *Reader) next() (*Record, error) {
	if err := r.finish(); err != nil {
		return nil, err
	}
	rec := &Record{Number: r.num + 1, from: r}
	fresh, err := r.src.next()
	r.src.within = true
	rec.Offset, rec.Shared = r.src.at, !fresh && r.src.kind != plainFile
	if err == nil {
		err = rec.parse(r.src.rec)
	}
	if err == io.EOF {
		return nil, io.EOF
	}
	if err != nil {
		return nil, rec.fail(err)
	}
	r.num++
	return rec, nil
}

// finish skips the rest of the record and the empty lines behind it.
func (r *Reader) finish() error {
	rec := r.now
	if rec == nil {
		return nil
	}
	if rec.left > 0 {
		n, err := io.CopyN(io.Discard, r.src.rec, rec.left)
		rec.left -= n
		if err != nil {
			return rec.fail(rec.cut(err))
		}
	}
	r.src.within = false
	if err := r.src.emptyLines(); err != nil {
		return rec.fail(err)
	}
	r.now = nil
	end, err := r.src.ended()
	if err != nil {
		return rec.fail(err)
	}
	r.end = end
	return nil
}

// parse reads the header; io.EOF when the file ends before it.
func (r *Record) parse(b *bufio.Reader) error {
	head, err := b.Peek(40)
	if len(head) == 0 {
		return err
	}
	if !bytes.HasPrefix(head, []byte(recordBegin)) {
		return fmt.Errorf("%w: it begins with %q", ErrNotWARC, head)
	}
	if r.Proto, err = readLine(b); err != nil {
		return headerCut(err)
	}
	if !knownVersion(r.Proto) {
		return fmt.Errorf("%w: %.40q is of no known version", ErrNotWARC, r.Proto)
	}
	if r.Header, err = readHeader(b); err != nil {
		return headerCut(err)
	}
	length := r.Header.Get("Content-Length")
	r.Length, err = strconv.ParseInt(length, 10, 64)
	if err != nil || r.Length < 0 {
		return fmt.Errorf("%w: %.40q is no number of bytes", ErrLength, length)
	}
	r.left = r.Length
	return nil
}

func headerCut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the file ends inside of its header", ErrNotWARC)
	}
	return err
}

// knownVersion reports whether a line begins a record that can be read: those of 0.17 and 0.18, which the
// first crawlers wrote, differ in nothing that matters here.
func knownVersion(line string) bool {
	return strings.HasPrefix(line, "WARC/1.") || slices.Contains([]string{"WARC/0.17", "WARC/0.18"}, line)
}

// readHeader reads fields up to the empty line. A line that begins with a space continues the one before it.
func readHeader(b *bufio.Reader) (h Header, err error) {
	for {
		next, _ := b.Peek(len(messageBegin))
		if string(next) == messageBegin && h.Get("Content-Length") != "" { // the empty line is missing
			return h, nil
		}
		line, err := readLine(b)
		if err != nil {
			return nil, err
		}
		if line == "" {
			return h, nil
		}
		if len(h) == maxFields {
			return nil, fmt.Errorf("%w: it has more than %d fields", ErrNotWARC, maxFields)
		}
		if n := len(h); n > 0 && (line[0] == ' ' || line[0] == '\t') {
			if len(h[n-1].Value)+len(line) > maxLine {
				return nil, errLongLine
			}
			h[n-1].Value = strings.TrimSpace(h[n-1].Value + " " + strings.TrimSpace(line))
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("%w: %.40q is no field", ErrNotWARC, line)
		}
		h = append(h, HeaderField{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
}

// messageBegin is what the block of a response begins with, and no field of a record.
const messageBegin = "HTTP/"

var errLongLine = fmt.Errorf("%w: a line has more than %d bytes", ErrNotWARC, maxLine)

// readLine reads a line without its end, which may be a bare LF. io.EOF says that there was nothing more,
// io.ErrUnexpectedEOF that the line has no end.
func readLine(b *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return "", errLongLine
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return strings.TrimSuffix(string(line[:len(line)-1]), "\r"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && len(line) > 0:
			return "", io.ErrUnexpectedEOF
		default:
			return "", err
		}
	}
}
