// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxHead is how many bytes the head of an HTTP message may have.
const maxHead = 1 << 20

// HTTPHead is the head of the HTTP message that is the block of a record.
type HTTPHead struct {
	Raw    []byte // from the first line to the empty one; that may be missing in a revisit
	Start  string // status line or request line
	Header Header
}

// Status returns the status code; 0 without one.
func (m *HTTPHead) Status() int {
	_, rest, _ := strings.Cut(m.Start, " ")
	code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	n, err := strconv.Atoi(code)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// IsMessage reports whether the block is an HTTP message: that of a response or request, and of a revisit
// that is not empty.
func (r *Record) IsMessage() bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	http := strings.EqualFold(strings.TrimSpace(kind), "application/http")
	switch r.Type() {
	case Response, Request:
		return http || strings.HasPrefix(r.URL(), "http")
	case Revisit:
		return r.Length > 0
	}
	return false
}

// Message reads the head of the HTTP message, nil when the block is no message. The record's reader is then
// at the body, as it came over the connection: [Record.Payload] takes the chunks away.
func (r *Record) Message() (*HTTPHead, error) {
	if r.head != nil || !r.IsMessage() {
		return r.head, nil
	}
	if (r.from.now != r) || r.left != r.Length {
		return nil, r.fail(errors.New("its head is read after its body"))
	}
	m := new(HTTPHead)
	for end := false; !end && r.left > 0; {
		n := len(m.Raw)
		whole, err := r.appendLine(&m.Raw)
		if err != nil {
			return nil, r.fail(r.cut(err))
		}
		if len(m.Raw) > maxHead {
			return nil, r.fail(fmt.Errorf("the HTTP head has more than %d bytes", maxHead))
		}
		begins := (n == 0) || m.Raw[n-1] == '\n'
		end = whole && begins && len(bytes.TrimRight(m.Raw[n:], "\r\n")) == 0
	}
	r.head = ParseMessage(m.Raw)
	return r.head, nil
}

// Good is the status line of an answer that has a body.
const Good = "HTTP/1.1 200 OK"

// WriteHead writes the head of a message, with its empty line. Ends of lines in what it gets become blanks.
func WriteHead(start string, fields ...HeaderField) []byte {
	plain := strings.NewReplacer("\r", " ", "\n", " ")
	b := append([]byte(plain.Replace(start)), "\r\n"...)
	for _, f := range fields {
		b = fmt.Appendf(b, "%s: %s\r\n", plain.Replace(f.Name), plain.Replace(f.Value))
	}
	return append(b, "\r\n"...)
}

// ParseMessage reads the head of a message.
func ParseMessage(raw []byte) *HTTPHead {
	m := &HTTPHead{Raw: raw}
	m.Start, m.Header = parseHead(raw)
	return m
}

// appendLine reads a line of the block, or a part of a long one; whole says that its end was read.
func (r *Record) appendLine(to *[]byte) (whole bool, err error) {
	b := r.from.src.rec
	if _, err := b.Peek(1); err != nil {
		return false, err
	}
	line, _ := b.Peek(int(min(int64(b.Buffered()), r.left)))
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line, whole = line[:i+1], true
	}
	*to = append(*to, line...)
	r.left -= int64(len(line))
	_, err = b.Discard(len(line))
	return whole, err
}

// parseHead splits a head. Lines that are no field are left out, as browsers do.
func parseHead(raw []byte) (start string, h Header) {
	first := true
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\r\n")
		if first {
			start, first = strings.TrimSpace(line), false
			continue
		}
		if n := len(h); n > 0 && line != "" && (line[0] == ' ' || line[0] == '\t') {
			h[n-1].Value = strings.TrimSpace(h[n-1].Value + " " + strings.TrimSpace(line))
			continue
		}
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) != "" {
			h = append(h, HeaderField{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	return start, h
}

// Payload returns the body of the record's HTTP message without the chunks in which it came, or the block
// when it has none. Some programs took the chunks away before they wrote the record, and left the field:
// a body that does not begin with a chunk is given as it is. Encodings of the content stay.
func (r *Record) Payload() (io.Reader, error) {
	m, err := r.Message()
	if err != nil {
		return nil, err
	}
	if m == nil || !chunked(m.Header) {
		return r, nil
	}
	b := bufio.NewReader(r)
	head, err := b.Peek(maxChunkLine)
	if err != nil && err != io.EOF {
		return nil, err
	}
	line, _, ok := bytes.Cut(head, []byte("\n"))
	if _, bad := chunkSize(line); bad || !ok {
		return b, nil
	}
	return &dechunker{b: b}, nil
}

func chunked(h Header) bool {
	codings := strings.Split(h.all("Transfer-Encoding"), ",")
	return strings.EqualFold(strings.TrimSpace(codings[len(codings)-1]), "chunked")
}

const maxChunkLine = 256 // bytes of the line before a chunk that are believed

// errChunk says that a chunked body is damaged.
var errChunk = errors.New("a chunk of the body is damaged")

// dechunker takes the chunks of RFC 9112 §7.1 away. A body that ends before its last chunk was cut off when
// it was captured: io.ErrUnexpectedEOF.
type dechunker struct {
	b    *bufio.Reader
	left int64
	any  bool
	err  error
}

func (d *dechunker) Read(p []byte) (int, error) {
	if d.err == nil && d.left == 0 {
		d.err = d.next()
	}
	if d.err != nil {
		return 0, d.err
	}
	n, err := d.b.Read(p[:min(int64(len(p)), d.left)])
	d.left -= int64(n)
	d.err = noEnd(err)
	return n, d.err
}

// next reads the line before the next chunk.
func (d *dechunker) next() error {
	if d.any {
		if line, err := d.line(); err != nil || len(line) > 0 {
			return errors.Join(errChunk, err)
		}
	}
	d.any = true
	line, err := d.line()
	if err != nil {
		return err
	}
	n, bad := chunkSize(line)
	if bad {
		return errChunk
	}
	if d.left = n; n == 0 {
		return io.EOF // what follows is trailers
	}
	return nil
}

func (d *dechunker) line() ([]byte, error) {
	line, err := d.b.ReadSlice('\n')
	if err != nil {
		return nil, noEnd(err)
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// chunkSize reads the line before a chunk.
func chunkSize(line []byte) (n int64, bad bool) {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	u, err := strconv.ParseUint(string(bytes.TrimSpace(digits)), 16, 62)
	return int64(u), err != nil
}
