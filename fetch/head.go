// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mirrord/fetch/heads"
	"mirrord/site"
)

// Head is the head of an answer, as far as a mirror needs it.
type Head struct {
	Status  int
	MIME    string      // lower case, without parameters; "" when absent or unusable
	Charset string      // the charset parameter of Content-Type, lower case
	Header  http.Header // all fields; not to be changed
	// the whole head as it came, less the secrets that were sent; of a body that was continued, that of the
	// answer that began it
	Whole  *heads.Head
	Length int64 // of the whole body as the Sink gets it, when that is known in advance; else -1
	// position in the body of the first byte that the Sink will get: that of the Request when the body is
	// continued, else 0
	Offset       int64
	Coding       string // the content coding that is being removed, "" for none
	ETag         string // with quotes and W/
	LastModified string // as sent
}

// RobotsTags returns the X-Robots-Tag fields.
func (h *Head) RobotsTags() []string { return h.Header["X-Robots-Tag"] }

// Cookies returns the names of the cookies that are set, in lower case.
func (h *Head) Cookies() (names []string) {
	for _, c := range h.Header["Set-Cookie"] {
		name, _, _ := strings.Cut(c, "=")
		names = append(names, strings.ToLower(strings.TrimSpace(name)))
	}
	return names
}

// Refresh returns the Refresh field, "" for none: a redirection after some seconds (HTML standard, section
// 4.2.5.3).
func (h *Head) Refresh() string { return first(h.Header, "Refresh") }

// Links returns the Link fields (RFC 8288), unparsed.
func (h *Head) Links() []string { return h.Header["Link"] }

// Challenged reports whether a firewall answered instead of the site and asks for a browser that solves
// a puzzle: those of Cloudflare and of AWS say so, the latter with the status 202 or 405.
func (h *Head) Challenged() bool {
	action := first(h.Header, "X-Amzn-Waf-Action")
	return first(h.Header, "Cf-Mitigated") == "challenge" || action == "challenge" || action == "captcha"
}

// Refuses reports whether an answer refuses its URL to this crawler: it may be one of the site or of a
// firewall before it.
func (h *Head) Refuses() bool { return RefusingStatus(h.Status) || h.Challenged() }

// ModifiedAt reads Last-Modified, in Unix seconds; 0 for none. A time in the future counts as none: it
// would hide later changes from comparisons of times.
func (h *Head) ModifiedAt(now time.Time) int64 {
	t, err := http.ParseTime(h.LastModified)
	if err != nil || t.Unix() <= 0 || t.After(now.Add(24*time.Hour)) {
		return 0
	}
	return t.Unix()
}

// Result is what became of a request that got an answer.
type Result struct {
	Head
	NotModified bool // 304 to a conditional request, whose validators it does not contradict
	SetsCookie  bool // it set a cookie that the Client keeps
	// Unconditional says that the server answered 412 to a condition, and that it was requested without.
	Unconditional bool

	Location      site.URL // where a 3xx points
	Fragment      string   // of Location
	LocationErr   error    // why a Location field is no web address: junk, or another scheme (site.ErrNotWeb)
	RetryAfter    time.Duration
	HasRetryAfter bool

	Wire     int64         // bytes of the body as it came in the last attempt
	Body     int64         // length of the body after decoding, resumed parts included
	Kept     bool          // the body went to the Sink and is complete
	Unframed bool          // it lasted until the connection closed, so that a cut cannot be told from the end
	Cut      bool          // it was longer than MaxBody and Request.Cut allowed to stop there
	Sent     int           // requests on all attempts, those that net/http repeated by itself included
	ToHeader time.Duration // of the last attempt, from its start to the end of the header
	At       time.Time     // when the answer came, if it was recorded earlier; else zero
	Seen     time.Time     // with At: when the URL was last known to answer so
}

// contentType returns what the Content-Type fields of a head say: of several types, in one field or in more,
// the last one that is a type (Fetch standard, "extract a MIME type").
func contentType(values []string) (mime, charset string) {
	for _, v := range values {
		for quoted, rest := false, v; rest != ""; {
			i := strings.IndexFunc(rest, func(r rune) bool {
				quoted = quoted != (r == '"')
				return r == ',' && !quoted
			})
			one := rest
			if rest = ""; i >= 0 {
				one, rest = one[:i], one[i+1:]
			}
			m, c := parseContentType(one)
			switch {
			case mime == "", m != "" && m != "*/*" && m != mime:
				mime, charset = m, c
			case m == mime && c != "":
				charset = c
			}
		}
	}
	return mime, charset
}

// parseContentType reads a Content-Type as leniently as browsers do (WHATWG MIME sniffing §4.4): a type
// without subtype is ignored, the first charset parameter counts, quotes may be missing.
func parseContentType(s string) (mime, charset string) {
	mime, params, _ := strings.Cut(s, ";")
	mime = strings.ToLower(strings.Trim(mime, " \t\r\n"))
	major, minor, ok := strings.Cut(mime, "/")
	if !ok || !isToken(major) || !isToken(minor) {
		mime = ""
	}
	for name, value := range parameters(params) {
		if name == "charset" {
			return mime, strings.ToLower(strings.Trim(value, " \t\r\n'"))
		}
	}
	return mime, charset
}

// parameters are the parameters of a field, with their names in lower case.
func parameters(s string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for s != "" {
			name, rest, ok := strings.Cut(s, "=")
			if semi := strings.IndexByte(name, ';'); semi >= 0 || !ok { // a parameter without value
				if semi < 0 {
					return
				}
				s = s[semi+1:]
				continue
			}
			var value string
			if rest = strings.TrimLeft(rest, " \t"); strings.HasPrefix(rest, `"`) {
				value, s = unquote(rest[1:])
			} else {
				value, s, _ = strings.Cut(rest, ";")
			}
			if !yield(strings.ToLower(strings.Trim(name, " \t\r\n")), value) {
				return
			}
		}
	}
}

// unquote reads a quoted string whose opening quote is gone and returns what follows the next semicolon.
func unquote(s string) (value, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			_, rest, _ = strings.Cut(s[i+1:], ";")
			return b.String(), rest
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}

func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// parseRetryAfter reads a Retry-After (RFC 9110 §10.2.3): seconds, or a date. A date is measured from the
// answer's own Date, so that a wrong clock on either side does not matter, else from now. Never negative.
func parseRetryAfter(value, date string, now time.Time) (time.Duration, bool) {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0, false
	}
	if value[0] >= '0' && value[0] <= '9' {
		whole, _, _ := strings.Cut(value, ".")
		n, err := strconv.ParseInt(whole, 10, 64)
		const most = int64(365 * 24 * time.Hour / time.Second)
		if err != nil && n == 0 { // junk; a number out of range has n at its end
			return 0, false
		}
		return time.Duration(min(n, most)) * time.Second, true
	}
	t, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	if d, err := http.ParseTime(date); err == nil {
		now = d
	}
	return max(t.Sub(now), 0), true
}

// parseContentRange reads "bytes 5-9/10" or "bytes 5-9/*" (total -1).
func parseContentRange(s string) (first, last, total int64, err error) {
	bad := fmt.Errorf("content-range %q", s)
	rest, ok := strings.CutPrefix(strings.TrimSpace(s), "bytes ")
	if !ok {
		return 0, 0, 0, bad
	}
	span, size, ok := strings.Cut(strings.TrimSpace(rest), "/")
	if !ok {
		return 0, 0, 0, bad
	}
	from, to, ok := strings.Cut(span, "-")
	if !ok {
		return 0, 0, 0, bad
	}
	if first, err = strconv.ParseInt(from, 10, 64); err != nil {
		return 0, 0, 0, bad
	}
	if last, err = strconv.ParseInt(to, 10, 64); err != nil {
		return 0, 0, 0, bad
	}
	total = -1
	if size != "*" {
		if total, err = strconv.ParseInt(size, 10, 64); err != nil || total < 0 {
			return 0, 0, 0, bad
		}
	}
	if first < 0 || last < first || (total >= 0 && last >= total) {
		return 0, 0, 0, bad
	}
	return first, last, total, nil
}

// strongValidator returns what an If-Range may carry (RFC 9110 §13.1.5): a strong entity tag, else a
// Last-Modified that is at least a minute older than the answer's Date (§8.8.2.2), else "".
func strongValidator(h http.Header) string {
	if tag := h.Get("Etag"); len(tag) >= 2 && tag[0] == '"' && tag[len(tag)-1] == '"' {
		return tag
	}
	lm := h.Get("Last-Modified")
	changed, err := http.ParseTime(lm)
	if err != nil {
		return ""
	}
	sent, err := http.ParseTime(h.Get("Date"))
	if err != nil || sent.Sub(changed) < time.Minute {
		return ""
	}
	return lm
}
