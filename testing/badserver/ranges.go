// SPDX-License-Identifier: Apache-2.0

package badserver

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// addRanges adds a file of 1 MiB whose connection breaks: on each of the first ?breaks=n requests (default 1)
// after ?at=bytes (default 300000) of the response. The paths differ in what they do with Range and
// If-Range.
func addRanges(m map[string]Handler) {
	type kind struct {
		validators []string // fields
		answer     func(from int, whole int) (status string, rangeField string, start int)
	}
	honest := func(from, whole int) (string, string, int) {
		return "206 Partial Content", fmt.Sprintf("bytes %d-%d/%d", from, whole-1, whole), from
	}
	old := "Last-Modified: " + time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Format(http.TimeFormat)
	kinds := map[string]kind{
		"/range":          {[]string{`ETag: "v1"`}, honest},
		"/range-date":     {[]string{old}, honest},
		"/range-weak":     {[]string{`ETag: W/"v1"`}, honest},
		"/range-none":     {[]string{`ETag: "v1"`, "Accept-Ranges: none"}, honest},
		"/range-unproven": {nil, honest},
		"/range-ignored": {
			[]string{`ETag: "v1"`}, func(_, _ int) (string, string, int) { return "200 OK", "", 0 },
		},
		"/range-shifted": {[]string{`ETag: "v1"`}, func(from, n int) (string, string, int) {
			return "206 Partial Content", fmt.Sprintf("bytes %d-%d/%d", from+8, n-1, n), from + 8
		}},
		"/range-earlier": {[]string{`ETag: "v1"`}, func(from, n int) (string, string, int) {
			return "206 Partial Content", fmt.Sprintf("bytes %d-%d/%d", from-4096, n-1, n), from - 4096
		}},
		"/range-whole": {[]string{`ETag: "v1"`}, func(_, n int) (string, string, int) {
			return "206 Partial Content", fmt.Sprintf("bytes 0-%d/%d", n-1, n), 0
		}},
		"/range-unlabeled": {
			[]string{`ETag: "v1"`}, func(from, _ int) (string, string, int) { return "206 Partial Content", "", from },
		},
		"/range-junk": {
			[]string{`ETag: "v1"`}, func(from, _ int) (string, string, int) {
				return "206 Partial Content", "octets all", from
			},
		},
		"/range-grown": {[]string{`ETag: "v1"`}, func(from, n int) (string, string, int) {
			return "206 Partial Content", fmt.Sprintf("bytes %d-%d/%d", from, n-1, n+5), from
		}},
		"/range-refused": {[]string{`ETag: "v1"`}, func(_, n int) (string, string, int) {
			return "416 Range Not Satisfiable", fmt.Sprintf("bytes */%d", n), n
		}},
	}
	for path, k := range kinds {
		m[path] = func(c *Conn, r *http.Request) bool { return sendRange(c, r, file(), k.validators, k.answer) }
	}
	// The file changes between the requests: the second version is the first with its first byte different.
	m["/range-changed"] = func(c *Conn, r *http.Request) bool {
		b := append([]byte(nil), file()...)
		tag := `"v1"`
		if c.Nth > 1 {
			tag = `"v2"`
			b[0] = 'X'
			r.Header.Del("Range") // an If-Range that does not match
		}
		return sendRange(c, r, b, []string{"ETag: " + tag}, honest)
	}
}

func sendRange(
	c *Conn, r *http.Request, b []byte, fields []string, part func(int, int) (string, string, int),
) bool {
	status, start := "200 OK", 0
	if from, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok {
		if n, err := strconv.Atoi(strings.TrimSuffix(from, "-")); err == nil && n < len(b) {
			var field string
			if status, field, start = part(n, len(b)); field != "" {
				fields = append(fields[:len(fields):len(fields)], "Content-Range: "+field)
			}
		}
	}
	c.Text("HTTP/1.1 %s\r\nContent-Type: application/octet-stream\r\nDate: %s\r\n", status,
		time.Now().UTC().Format(http.TimeFormat))
	for _, f := range fields {
		c.Text("%s\r\n", f)
	}
	b = b[start:]
	c.Text("Content-Length: %d\r\n\r\n", len(b))
	if c.Nth > number(r, "breaks", 1) {
		c.Write(b)
		return true
	}
	c.Write(b[:min(len(b), number(r, "at", 300000))])
	return false
}
