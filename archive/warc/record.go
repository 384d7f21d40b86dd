// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// The kinds of records that this package knows; others may occur.
const (
	Info     = "warcinfo"
	Response = "response"
	Request  = "request"
	Revisit  = "revisit"
	Metadata = "metadata"
	Verbatim = "resource" // a block that is the resource itself, without a head
)

// SamePayload is the profile of revisits that this package writes: the body is that of the record that they
// refer to.
const SamePayload = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"

var (
	// ErrNotWARC says that a file, or what follows in it, is no record.
	ErrNotWARC = errors.New("not a WARC record")
	// ErrLength says that the block of a record has another length than its Content-Length.
	ErrLength = errors.New("wrong Content-Length")
	// ErrDigest says that a block or a body has another digest than its record says.
	ErrDigest = errors.New("wrong digest")
)

// RecordError is an error of one record.
type RecordError struct {
	Record int   // from 1
	Offset int64 // in the file, of the record or of the compressed member that it begins in
	Err    error
}

func (e *RecordError) Error() string {
	if e.Record == 0 {
		return fmt.Sprintf("record at offset %d: %v", e.Offset, e.Err)
	}
	return fmt.Sprintf("record %d at offset %d: %v", e.Record, e.Offset, e.Err)
}

func (e *RecordError) Unwrap() error { return e.Err }

// HeaderField is one line of a header.
type HeaderField struct{ Name, Value string }

// Header is the fields of a record or of an HTTP head, as they came.
type Header []HeaderField

// Get returns the first value of a field, "" without one.
func (h Header) Get(name string) string {
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// all returns the values of a field as one list.
func (h Header) all(name string) string {
	var vs []string
	for _, f := range h {
		if strings.EqualFold(f.Name, name) {
			vs = append(vs, f.Value)
		}
	}
	return strings.Join(vs, ", ")
}

// Record is one record of a file. Its block is read by Read, from its beginning to its end; it is valid until
// the next one is read.
type Record struct {
	Number int    // in its file, from 1
	Offset int64  // of its first byte in the file; of a compressed one, of the member that it begins in
	Shared bool   // it is not the first of its member, so that it cannot be read from its offset
	Proto  string // "WARC/1.1"

	Header Header
	Length int64 // Content-Length: bytes of the block

	from *Reader
	left int64 // bytes of the block that were not read
	head *HTTPHead
}

// Type returns the kind of the record, such as [Response].
func (r *Record) Type() string { return strings.ToLower(r.Header.Get("WARC-Type")) }

// URL returns the target of the record, without the angle brackets in which some programs write it; "" when
// it has none. The scheme of a page of the web is in lower case.
func (r *Record) URL() string {
	u := r.Header.Get("WARC-Target-URI")
	if strings.HasPrefix(u, "<") && strings.HasSuffix(u, ">") {
		u = u[1 : len(u)-1]
	}
	return WithScheme(u)
}

// WithScheme returns an address whose scheme, if it is one of the web, is in lower case.
func WithScheme(address string) string {
	scheme, _, ok := strings.Cut(address, ":")
	if lower := strings.ToLower(scheme); ok && lower != scheme && (lower == "http" || lower == "https") {
		return lower + address[len(scheme):]
	}
	return address
}

// Date returns when the record was captured; the zero time when it does not say.
func (r *Record) Date() time.Time { return ParseDate(r.Header.Get("WARC-Date")) }

// ParseDate reads a date as records have it: in WARC 1.1 one of the W3C's date and time formats. Of one that
// is less precise than a second it is the beginning. Some programs leave the zone out, which then is UTC,
// write digits alone, or the form of HTTP. The zero time for other strings.
func ParseDate(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	for _, form := range []string{
		time.RFC3339Nano, "2006-01-02T15:04Z07:00", time.DateOnly, "2006-01", "2006", "2006-01-02T15:04:05",
		time.DateTime, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z0700", StampForm, time.RFC1123,
	} {
		if t, err := time.Parse(form, strings.TrimSpace(s)); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// Cut reports whether the record lacks a part of the body: its writer did not keep all, or wrote the rest
// into continuation records, which this package does not put together.
func (r *Record) Cut() bool { return r.Header.Get("WARC-Truncated") != "" || r.segment() }

// segment reports whether the record is one part of several.
func (r *Record) segment() bool { return r.Header.Get("WARC-Segment-Number") != "" }

// Read reads the block, or what follows the head once [Record.Message] has read that.
func (r *Record) Read(p []byte) (int, error) {
	if r.from.now != r {
		return 0, r.fail(errors.New("it is read after the next one was"))
	}
	if r.left == 0 {
		return 0, io.EOF
	}
	n, err := r.from.src.rec.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	if err != nil && r.left > 0 {
		return n, r.fail(r.cut(err))
	}
	return n, nil
}

// cut says that the block ends early: the compressed member is cut off, or the length is wrong.
func (r *Record) cut(err error) error {
	what := ErrLength
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		what = io.ErrUnexpectedEOF
	case !errors.Is(err, io.EOF):
		return err
	}
	return fmt.Errorf("%w: %d bytes of its block of %d are missing", what, r.left, r.Length)
}

func (r *Record) fail(err error) error {
	if e, ok := errors.AsType[*RecordError](err); ok {
		return e
	}
	return &RecordError{r.Number, r.Offset, err}
}
