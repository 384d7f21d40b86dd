// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"maps"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"mirrord/fetch/heads"
)

// A Part says what the beginning of a body is the beginning of, so that a later exchange, of another process
// too, can ask for the rest. It is plain data, for JSON.
type Part struct {
	// a strong entity tag, or a Last-Modified that is one (RFC 9110 §8.8.2.2)
	Validator string `json:"validator"`
	Length    int64  `json:"length"` // of the whole body, -1 unknown
	Status    int    `json:"status"` // 200 or 203
	// of the answer that began the body, as far as a mirror reads it
	Header http.Header `json:"header,omitempty"`
	Whole  *heads.Head `json:"whole,omitempty"` // the whole head of that answer, if it is not too large
}

// partFields are the fields that outlive an answer whose body was cut off. A 206 need not repeat them (RFC
// 9110 §15.3.7).
var partFields = [...]string{
	"Accept-Ranges", "Age", "Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Type", "Date",
	"Etag", "Expires", "Last-Modified", "Link", "X-Robots-Tag",
}

// mostPartHeader is how many bytes of header fields a Part has at most.
const mostPartHeader = 64 << 10

// Part returns the data to be stored with the beginning of the body that h announces; ok is false when the
// rest could not be requested: the body is coded, has no strong validator, or the server says that it knows
// no ranges.
func (h *Head) Part() (p Part, ok bool) {
	p = Part{
		Validator: h.continuedBy(),
		Length:    h.Length,
		Status:    h.Status,
		Header:    http.Header{},
	}
	size := 0
	for _, k := range partFields {
		if v := h.Header[k]; len(v) > 0 {
			p.Header[k] = v
			for _, s := range v {
				size += len(s)
			}
		}
	}
	if h.Whole != nil && h.Whole.Size() <= mostPartHeader {
		p.Whole = h.Whole
	}
	return p, p.Validator != "" && size <= mostPartHeader
}

// continuedBy returns the If-Range with which the rest of a body can be requested, "" when it cannot.
func (h *Head) continuedBy() string {
	if h.Coding != "" || first(h.Header, "Accept-Ranges") == "none" {
		return ""
	}
	return strongValidator(h.Header)
}

// usable reports whether a request can be made of p, which may come from a file.
func (p *Part) usable() bool {
	return p != nil && p.Validator != "" && httpguts.ValidHeaderFieldValue(p.Validator) &&
		(p.Status == http.StatusOK || p.Status == http.StatusNonAuthoritativeInfo)
}

// isPacked reports whether the body is one of those whose label was not believed, see keep.
func (p *Part) isPacked() bool {
	list, _ := codings(p.Header["Content-Encoding"])
	return len(list) == 1
}

// head is the head of the whole body: that of the answer that began it, with what the one that continues it
// says again.
func (p *Part) head(now *Head, urlPath string) Head {
	fields := make(http.Header, len(p.Header)+len(now.Header))
	maps.Copy(fields, p.Header)
	for k, v := range now.Header {
		if !strings.HasPrefix(k, "Content-") {
			fields[k] = v
		}
	}
	h := newHead(p.Status, fields)
	if h.Whole = p.Whole; h.Whole == nil {
		h.Whole = heads.Normalised(fmt.Sprintf("HTTP/1.1 %d %s", p.Status, http.StatusText(p.Status)), fields)
	}
	if pk := packingOf(h.MIME, urlPath); pk != nil && p.isPacked() {
		h.MIME, h.Charset = pk.mime, ""
	}
	return h
}

// newHead is the head that status and fields make, its length unknown.
func newHead(status int, fields http.Header) Head {
	h := Head{
		Status:       status,
		Header:       fields,
		Length:       -1,
		ETag:         first(fields, "Etag"),
		LastModified: first(fields, "Last-Modified"),
	}
	h.MIME, h.Charset = contentType(fields["Content-Type"])
	return h
}
