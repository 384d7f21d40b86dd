// SPDX-License-Identifier: Apache-2.0

package badserver

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Page is the body of the paths that send a good one.
const Page = "<!DOCTYPE html>\n<title>good</title>\n<p>A page that came through whole.</p>\n"

// File returns the 1 MiB body of the /range paths: every 8 bytes name their own position, so that a shifted
// part shows.
func File() []byte { return bytes.Clone(file()) }

// file makes File once: it is as much work as a run of a small site.
var file = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < 1<<20; i += 8 {
		fmt.Fprintf(&b, "%07x\n", i)
	}
	return b.Bytes()
})

const html = "Content-Type: text/html"

func behaviours() map[string]Handler {
	m := map[string]Handler{
		"/ok": good,

		// time
		"/silent": func(c *Conn, _ *http.Request) bool { c.Hang(); return false },
		"/slow-header": func(c *Conn, r *http.Request) bool {
			return c.Drip([]byte("HTTP/1.1 200 OK\r\nX-Slow: "+strings.Repeat("x", 1<<16)), every(r))
		},
		"/slow-body": func(c *Conn, r *http.Request) bool {
			c.Text("HTTP/1.1 200 OK\r\n%s\r\nContent-Length: 1000000\r\n\r\n", html)
			return c.Drip(bytes.Repeat([]byte("x"), 1000000), every(r))
		},
		"/stalled-body": func(c *Conn, _ *http.Request) bool {
			c.Text("HTTP/1.1 200 OK\r\n%s\r\nContent-Length: 1000\r\n\r\nhalf", html)
			c.Hang()
			return false
		},
		"/stalled-404": func(c *Conn, _ *http.Request) bool {
			c.Text("HTTP/1.1 404 Not Found\r\nContent-Length: 1000\r\n\r\nhalf")
			c.Hang()
			return false
		},

		// framing
		"/endless-chunks": func(c *Conn, _ *http.Request) bool {
			c.Text("HTTP/1.1 200 OK\r\n%s\r\nTransfer-Encoding: chunked\r\n\r\n", html)
			return c.flood([]byte("1000\r\n" + strings.Repeat("x", 0x1000) + "\r\n"))
		},
		"/endless": func(c *Conn, _ *http.Request) bool {
			c.Text("HTTP/1.1 200 OK\r\n%s\r\n\r\n", html)
			return c.flood([]byte(strings.Repeat("x", 0x1000)))
		},
		"/declared-huge": func(c *Conn, _ *http.Request) bool {
			c.Text("HTTP/1.1 200 OK\r\n%s\r\nContent-Length: 9000000000000000\r\n\r\n", html)
			return c.flood([]byte(strings.Repeat("x", 0x1000)))
		},
		"/length-long":     raw("HTTP/1.1 200 OK\r\n" + html + "\r\nContent-Length: 500\r\n\r\n" + Page),
		"/length-short":    raw("HTTP/1.1 200 OK\r\n" + html + "\r\nContent-Length: 20\r\n\r\n" + Page),
		"/length-junk":     raw("HTTP/1.1 200 OK\r\n" + html + "\r\nContent-Length: many\r\n\r\n" + Page),
		"/length-negative": raw("HTTP/1.1 200 OK\r\n" + html + "\r\nContent-Length: -5\r\n\r\n" + Page),
		"/length-two": raw("HTTP/1.1 200 OK\r\n" + html +
			"\r\nContent-Length: 10\r\nContent-Length: 20\r\n\r\n" + Page),
		"/length-old":       raw("HTTP/1.0 200 OK\r\n" + html + "\r\nContent-Length: 500\r\n\r\n" + Page),
		"/no-length":        raw("HTTP/1.0 200 OK\r\n" + html + "\r\n\r\n" + Page),
		"/chunk-garbage":    chunks("zz\r\nhello\r\n0\r\n\r\n"),
		"/chunk-overlong":   chunks("5\r\nhello and more than five\r\n0\r\n\r\n"),
		"/chunk-overflow":   chunks("fffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
		"/chunk-cut":        chunks("5\r\nhello\r\n"),
		"/chunk-cut-inside": chunks("50\r\nhello"),
		"/chunk-no-trailer": chunks("5\r\nhello\r\n0\r\n"),
		"/reset-body": func(c *Conn, _ *http.Request) bool {
			c.Text("HTTP/1.1 200 OK\r\n%s\r\nContent-Length: 500\r\n\r\nhalf", html)
			c.Pause(20 * time.Millisecond) // a RST overtakes unsent bytes
			c.Reset()
			return false
		},
		"/reset-header": func(c *Conn, _ *http.Request) bool { c.Reset(); return false },
		"/hang-up":      raw(""),

		// header
		"/headers-many": raw("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: b\r\n", 20000) +
			"Content-Length: 2\r\n\r\nok"),
		"/headers-long": raw("HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("a", 4<<20) +
			"\r\nContent-Length: 2\r\n\r\nok"),
		"/headers-endless": func(c *Conn, _ *http.Request) bool {
			c.Text("HTTP/1.1 200 OK\r\n")
			return c.flood([]byte(strings.Repeat("X-More: and more\r\n", 200)))
		},
		"/flood-1xx": func(c *Conn, _ *http.Request) bool {
			return c.flood(
				[]byte(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n", 50)))
		},
		"/early-hints": raw("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\n" + html +
			"\r\nContent-Length: " + strconv.Itoa(len(Page)) + "\r\n\r\n" + Page),
		"/switch": raw(
			"HTTP/1.1 101 Switching Protocols\r\nUpgrade: nonsense\r\nConnection: Upgrade\r\n\r\nnonsense"),
		"/header-nul":      raw("HTTP/1.1 200 OK\r\nX-Nul: a\x00b\r\nContent-Length: 2\r\n\r\nok"),
		"/header-no-colon": raw("HTTP/1.1 200 OK\r\nthis is no field\r\nContent-Length: 2\r\n\r\nok"),
		"/header-cut":      raw("HTTP/1.1 200 OK\r\nContent-Len"),
		"/http09":          raw(Page),
		"/status-junk":     raw("HTTP/1.1 abc OK\r\n\r\n"),
		"/tls":             raw("\x15\x03\x01\x00\x02\x02\x46"),
		"/binary":          raw("\x00\x01\x02\xff\xfe\r\n\r\n"),
		"/type-junk":       answer("200 OK", Page, "Content-Type: ;;;=\"\\"),
		"/empty":           answer("200 OK", "", html),
		"/partial-unasked": answer("206 Partial Content", Page, html, "Content-Range: bytes 10-82/200"),
		"/no-content":      raw("HTTP/1.1 204 No Content\r\n\r\n"),
		"/unchanged":       raw("HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\n\r\n"),
		"/error-with-body": answer("500 Internal Server Error", strings.Repeat("stack trace\n", 20000), html),
		"/error-then-flood": func(c *Conn, _ *http.Request) bool {
			c.Text("HTTP/1.1 404 Not Found\r\n\r\n")
			return c.flood(make([]byte, 4096))
		},

		// redirects
		"/redirect-self": answer("302 Found", "", "Location: /redirect-self"),
		"/redirect-a":    answer("301 Moved Permanently", "", "Location: /redirect-b"),
		"/redirect-b":    answer("301 Moved Permanently", "", "Location: /redirect-a"),
		"/redirect-grow": func(c *Conn, r *http.Request) bool {
			c.Answer("302 Found", nil, "Location: "+r.URL.Path+"?x="+r.URL.RawQuery+"x")
			return true
		},
		"/redirect-private": answer("302 Found", "", "Location: http://169.254.169.254/latest/meta-data/"),
		"/redirect-file":    answer("302 Found", "", "Location: file:///etc/passwd"),
		"/redirect-junk":    answer("302 Found", "", "Location: http://[::bad/"),
		"/redirect-nowhere": answer("302 Found", ""),
		"/redirect-ok":      answer("302 Found", "moved", "Location: /ok#part"),

		// come back later
		"/busy":      answer("503 Service Unavailable", "", "Retry-After: 7"),
		"/busy-long": answer("429 Too Many Requests", "", "Retry-After: 86400"),
		"/busy-date": func(c *Conn, _ *http.Request) bool {
			now := time.Now().UTC()
			c.Answer("503 Service Unavailable", nil, "Date: "+now.Format(http.TimeFormat),
				"Retry-After: "+now.Add(9*time.Second).Format(http.TimeFormat))
			return true
		},
		"/flaky": flaky, // ?fail=2&status=502&after=0: fails so often, then sends Page

		// robots
		// 50 MB, the first rule counts, the last is beyond every cap
		"/robots-huge": func(c *Conn, _ *http.Request) bool {
			c.Text("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", 50<<20)
			first := "User-agent: *\nDisallow: /first\n"
			c.Text("%s", first)
			filler := []byte(strings.Repeat("# filler, filler, filler, fill\n", 1<<10))
			for left := 50<<20 - len(first); left > 0; left -= len(filler) {
				if _, err := c.Write(filler[:min(left, len(filler))]); err != nil {
					return false
				}
			}
			return true
		},
	}
	addCodings(m)
	addRanges(m)
	return m
}

func good(c *Conn, _ *http.Request) bool {
	c.Answer("200 OK", []byte(Page), html)
	return true
}

// raw writes bytes and hangs up.
func raw(s string) Handler {
	return func(c *Conn, _ *http.Request) bool {
		c.Text("%s", s)
		return false
	}
}

func chunks(s string) Handler {
	return raw("HTTP/1.1 200 OK\r\n" + html + "\r\nTransfer-Encoding: chunked\r\n\r\n" + s)
}

func answer(status, body string, fields ...string) Handler {
	return func(c *Conn, _ *http.Request) bool {
		c.Answer(status, []byte(body), fields...)
		return true
	}
}

// flood writes b until the client disconnects.
func (c *Conn) flood(b []byte) bool {
	for {
		if _, err := c.Write(b); err != nil {
			return false
		}
	}
}

// every is the pause of a dripping path: ?every=ms, default 10.
func every(r *http.Request) time.Duration {
	return time.Duration(number(r, "every", 10)) * time.Millisecond
}

func number(r *http.Request, key string, otherwise int) int {
	if n, err := strconv.Atoi(r.URL.Query().Get(key)); err == nil {
		return n
	}
	return otherwise
}

func flaky(c *Conn, r *http.Request) bool {
	if c.Nth > number(r, "fail", 2) {
		return good(c, r)
	}
	var fields []string
	if after := r.URL.Query().Get("after"); after != "" {
		fields = append(fields, "Retry-After: "+after)
	}
	switch status := number(r, "status", 503); status {
	case 0: // no answer at all
		c.Reset()
		return false
	default:
		c.Answer(fmt.Sprintf("%d %s", status, http.StatusText(status)), []byte("not now"), fields...)
		return true
	}
}
