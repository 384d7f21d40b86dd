// SPDX-License-Identifier: Apache-2.0

// Package heads is the head of an HTTP answer as it came: the status line and all fields, with repeated
// values, in order and spelling where the reader of the connection sees them. It compares heads, freshens a
// stored one by a 304, and writes and reads them.
//
// The head of an answer says something of the body and something of its exchange. Fields of the latter kind
// ([OfExchange]) differ each time although nothing has changed.
package heads

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Head is the head of one answer. It is not changed once it is made.
type Head struct {
	// the status line: "HTTP/1.1 200 OK", or "HTTP/2.0 200 OK" where the protocol has none
	Status string  `json:"status"`
	Fields []Field `json:"fields"` // as they came
	// order and spelling of the fields are net/http's: the names are canonical and sorted
	Normalised bool `json:"normalised,omitempty"`
}

// Field is one line of a head.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// MaxSize is how many bytes the head of an answer may have.
const MaxSize = 1 << 20

var errMalformed = errors.New("malformed head")

// Parse reads the head of an HTTP/1.x answer, from the status line to the empty line. Lines that continue a
// field are joined by a space, as net/http does. An error says that net/http would not have read it either.
func Parse(raw []byte) (*Head, error) {
	text := string(raw) // all strings of the head share it
	line, rest, ok := cutLine(text)
	if !ok || !strings.HasPrefix(line, "HTTP/") {
		return nil, fmt.Errorf("status line: %w", errMalformed)
	}
	h := &Head{Status: strings.TrimRight(line, " \t"), Fields: make([]Field, 0, 16)}
	for rest != "" {
		if line, rest, ok = cutLine(rest); !ok {
			return nil, fmt.Errorf("no end: %w", errMalformed)
		}
		if line == "" {
			break
		}
		if n := len(h.Fields); line[0] == ' ' || line[0] == '\t' {
			if n == 0 {
				return nil, fmt.Errorf("field: %w", errMalformed)
			}
			h.Fields[n-1].Value = strings.TrimRight(h.Fields[n-1].Value+" "+trim(line), " \t")
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" {
			return nil, fmt.Errorf("field: %w", errMalformed)
		}
		h.Fields = append(h.Fields, Field{name, trim(value)})
	}
	return h, nil
}

func cutLine(s string) (line, rest string, ok bool) {
	line, rest, ok = strings.Cut(s, "\n")
	return strings.TrimSuffix(line, "\r"), rest, ok
}

func trim(s string) string { return strings.Trim(s, " \t") }

// End returns how many bytes of b the head at its beginning has, 0 when its end has not come; from says where
// to look for it.
func End(b []byte, from int) int {
	for i := max(from-3, 0); i < len(b); {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return 0
		}
		i += n + 1
		switch {
		case i < len(b) && b[i] == '\n':
			return i + 1
		case i+1 < len(b) && b[i] == '\r' && b[i+1] == '\n':
			return i + 2
		}
	}
	return 0
}

// Normalised makes a head of a status line and the fields that net/http read.
func Normalised(status string, fields map[string][]string) *Head {
	h := &Head{Status: status, Normalised: true, Fields: make([]Field, 0, len(fields))}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, v := range fields[name] {
			h.Fields = append(h.Fields, Field{name, v})
		}
	}
	return h
}

// Matches reports whether net/http read the same fields from h, but for those about framing, which it may
// take away.
func (h *Head) Matches(fields map[string][]string) bool {
	n := 0
	for name, vs := range fields {
		n += len(vs)
		if !slices.Equal(h.Values(name), vs) {
			return false
		}
	}
	for _, f := range h.Fields { // what net/http took away
		low := strings.ToLower(f.Name)
		if low == "transfer-encoding" || (low == "trailer" && fields["Trailer"] == nil) ||
			(low == "content-length" && fields["Content-Length"] == nil) {
			n++
		}
	}
	return n == len(h.Fields)
}

// Values returns all values of a field, in order.
func (h *Head) Values(name string) (vs []string) {
	for _, f := range h.Fields {
		if strings.EqualFold(f.Name, name) {
			vs = append(vs, f.Value)
		}
	}
	return vs
}

// Code is the status code, 0 when the status line has none.
func (h *Head) Code() int {
	_, rest, _ := strings.Cut(h.Status, " ")
	code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	n, err := strconv.Atoi(code)
	if err != nil || n < 100 || n > 999 {
		return 0
	}
	return n
}

// Size is about how many bytes the head had on its way.
func (h *Head) Size() int {
	n := len(h.Status) + 4
	for _, f := range h.Fields {
		n += len(f.Name) + len(f.Value) + 4
	}
	return n
}

// String is the head as HTTP/1.1 writes it, with plain line ends and no empty line.
func (h *Head) String() string {
	var b strings.Builder
	b.WriteString(h.Status)
	b.WriteByte('\n')
	for _, f := range h.Fields {
		b.WriteString(f.Name)
		b.WriteString(": ")
		b.WriteString(f.Value)
		b.WriteByte('\n')
	}
	return b.String()
}

// Without returns the head with every occurrence of the secrets replaced by a mark, h itself without any.
func (h *Head) Without(secrets []string) *Head {
	out := h
	for i, f := range h.Fields {
		v := f.Value
		for _, s := range secrets {
			v = strings.ReplaceAll(v, s, "[secret]")
		}
		if v == f.Value {
			continue
		}
		if out == h {
			out = &Head{Status: h.Status, Fields: slices.Clone(h.Fields), Normalised: h.Normalised}
		}
		out.Fields[i].Value = v
	}
	return out
}

// ofExchange are fields, in lower case, of which each exchange has its own: when it was and which connection,
// caches and machines it went through.
var ofExchange = [...]string{
	"age", "cf-cache-status", "cf-ray", "connection", "date", "expires", "keep-alive", "report-to",
	"server-timing", "set-cookie", "set-cookie2",
	"traceparent", "tracestate", "x-amz-cf-id", "x-amz-cf-pop", "x-amz-id-2", "x-azure-ref", "x-cache",
	"x-cache-hits", "x-cloud-trace-context",
	"x-ms-request-id", "x-msedge-ref", "x-nf-request-id", "x-request-time", "x-response-time", "x-runtime",
	"x-served-by", "x-timer", "x-trace", "x-varnish", "x-vercel-id",
}

// OfExchange reports whether a field says something of the one exchange alone: its time, its cookies, its way
// through caches, its request id. That it differs is no change of the head.
func OfExchange(name string) bool {
	low := strings.ToLower(name)
	if _, is := slices.BinarySearch(ofExchange[:], low); is {
		return true
	}
	for _, end := range [...]string{"request-id", "requestid", "trace-id", "traceid", "correlation-id"} {
		if strings.HasSuffix(low, end) {
			return true
		}
	}
	return false
}

// Equal reports whether two heads are the same to the byte.
func (h *Head) Equal(other *Head) bool {
	return h.Status == other.Status && h.Normalised == other.Normalised && slices.Equal(h.Fields, other.Fields)
}

// Same reports whether two heads differ in nothing but what differs between any two exchanges ([OfExchange]),
// order and spelling.
func (h *Head) Same(other *Head) bool {
	return h.Status == other.Status && h.covers(other) && other.covers(h)
}

// covers reports whether the fields of other have the same values here.
func (h *Head) covers(other *Head) bool {
	for _, f := range other.Fields {
		if !OfExchange(f.Name) && !h.agrees(other, f.Name) {
			return false
		}
	}
	return true
}

// agrees reports whether a field has the same values in both heads, in order.
func (h *Head) agrees(other *Head, name string) bool {
	return slices.Equal(h.Values(name), other.Values(name))
}

// Sum is a checksum (64-bit FNV-1a) of all that Same, or for a 304 Freshened, holds against a stored head:
// the status line and the fields, but those of the exchange. Two answers of one sum tell the same of a body;
// two that tell the same have one sum when their fields come in the same order.
func (h *Head) Sum() uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	sum := uint64(offset)
	add := func(s string) {
		for i := range len(s) {
			sum = (sum ^ uint64(s[i])) * prime
		}
		sum = (sum ^ '\n') * prime
	}
	notModified := h.Code() == 304
	add(h.Status)
	for _, f := range h.Fields {
		if OfExchange(f.Name) || (notModified && isNotOfBody(f.Name)) {
			continue
		}
		add(f.Name)
		add(f.Value)
	}
	return sum
}

// notOfBody are fields that a 304 says of itself, not of the stored answer (RFC 9111 §3.2), or that some
// servers send wrongly with it.
var notOfBody = [...]string{
	"connection", "content-encoding", "content-length", "content-range", "content-type", "keep-alive",
	"proxy-authenticate", "proxy-authentication-info",
	"proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}

func isNotOfBody(name string) bool {
	_, is := slices.BinarySearch(notOfBody[:], strings.ToLower(name))
	return is
}

// saysOfBody reports whether a field of a 304 says something of the stored answer.
func (h *Head) saysOfBody(f Field) bool {
	if strings.EqualFold(f.Name, "etag") { // nginx has a strong one in the 304 to a body that it codes
		stored := h.Values(f.Name)
		return len(stored) == 0 || strings.TrimPrefix(stored[0], "W/") != strings.TrimPrefix(f.Value, "W/")
	}
	return !isNotOfBody(f.Name)
}

// Freshened is the stored head h after a 304 (RFC 9111 §3.2): its fields take the place of the stored ones of
// their name. changed is false, and the head h, when no field but those of the exchange says something new.
func (h *Head) Freshened(by *Head) (now *Head, changed bool) {
	for _, f := range by.Fields {
		changed = changed || (!OfExchange(f.Name) && h.saysOfBody(f) && !h.agrees(by, f.Name))
	}
	if !changed {
		return h, false
	}
	fresh := map[string][]string{}
	for _, f := range by.Fields {
		if name := strings.ToLower(f.Name); fresh[name] == nil && h.saysOfBody(f) {
			fresh[name] = by.Values(name)
		}
	}
	now = &Head{Status: h.Status, Normalised: h.Normalised, Fields: make([]Field, 0, len(h.Fields)+2)}
	put := func(name string, vs []string) {
		for _, v := range vs {
			now.Fields = append(now.Fields, Field{name, v})
		}
	}
	done := map[string]bool{}
	for _, f := range h.Fields {
		switch name := strings.ToLower(f.Name); {
		case fresh[name] == nil:
			now.Fields = append(now.Fields, f)
		case !done[name]:
			done[name] = true
			put(f.Name, fresh[name])
		}
	}
	for _, f := range by.Fields {
		if name := strings.ToLower(f.Name); fresh[name] != nil && !done[name] {
			done[name] = true
			put(f.Name, fresh[name])
		}
	}
	return now, true
}
