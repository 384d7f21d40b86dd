// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"mirrord/testing/badserver"
)

func TestParseContentType(t *testing.T) {
	tests := []struct{ in, mime, charset string }{
		{"", "", ""},
		{"text/html", "text/html", ""},
		{" TEXT/Html ; Charset=UTF-8", "text/html", "utf-8"},
		{`text/html; charset="shift_jis"; x=y`, "text/html", "shift_jis"},
		{`text/html; x="a;charset=no"; charset=yes`, "text/html", "yes"},
		{`text/html; x="a\";charset=no"; charset=yes`, "text/html", "yes"},
		{"text/html; charset=a; charset=b", "text/html", "a"},
		{"text/html;charset='utf-8'", "text/html", "utf-8"},
		{"text/html; charset", "text/html", ""},
		{"text/html; novalue; charset=utf-8", "text/html", "utf-8"},
		{"text/html;;;charset = utf-8 ", "text/html", "utf-8"},
		{`text/html; charset="unclosed`, "text/html", "unclosed"},
		{"html; charset=utf-8", "", "utf-8"},
		{"text/ html", "", ""},
		{"text/html, text/plain", "", ""},
		{"/", "", ""},
		{"image/svg+xml", "image/svg+xml", ""},
	}
	for _, tt := range tests {
		if mime, charset := parseContentType(tt.in); mime != tt.mime || charset != tt.charset {
			t.Errorf("%q: %q, %q", tt.in, mime, charset)
		}
	}
}

func TestParseRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	date := func(t time.Time) string { return t.Format(http.TimeFormat) }
	tests := []struct {
		value, date string
		want        time.Duration
		ok          bool
	}{
		{"", "", 0, false},
		{"0", "", 0, true},
		{" 120 ", "", 2 * time.Minute, true},
		{"1.5", "", time.Second, true},
		{"99999999999999999999", "", 365 * 24 * time.Hour, true},
		{"-5", "", 0, false},
		{"soon", "", 0, false},
		{"12 minutes", "", 0, false},
		{date(now.Add(time.Hour)), "", time.Hour, true},
		{date(now.Add(-time.Hour)), "", 0, true},
		// the server's clock is ahead
		{date(now.Add(time.Hour)), date(now.Add(30 * time.Minute)), 30 * time.Minute, true},
		{date(now.Add(time.Hour)), "junk", time.Hour, true},
	}
	for _, tt := range tests {
		if got, ok := parseRetryAfter(tt.value, tt.date, now); got != tt.want || ok != tt.ok {
			t.Errorf("%q at %q: %v, %v", tt.value, tt.date, got, ok)
		}
	}
}

func TestParseContentRange(t *testing.T) {
	for in, want := range map[string][3]int64{"bytes 5-9/10": {
		5, 9, 10,
	}, "bytes 0-0/*": {0, 0, -1}, " bytes  1-2/3 ": {1, 2, 3}} {
		a, b, c, err := parseContentRange(in)
		if err != nil || [3]int64{a, b, c} != want {
			t.Errorf("%q: %d %d %d %v", in, a, b, c, err)
		}
	}
	for _, in := range []string{
		"", "bytes", "bytes */10", "bytes 5-4/10", "bytes 5-10/10", "bytes -5-9/10", "items 1-2/3", "bytes 1-2",
		"bytes 1/3", "bytes a-b/c", "bytes 1-2/-9",
	} {
		if _, _, _, err := parseContentRange(in); err == nil {
			t.Errorf("%q is taken", in)
		}
	}
}

func TestStrongValidator(t *testing.T) {
	const old, now = "Wed, 01 Jan 2020 00:00:00 GMT", "Wed, 01 Jan 2025 00:00:00 GMT"
	tests := []struct{ etag, modified, date, want string }{
		{`"a"`, old, now, `"a"`},
		{`W/"a"`, old, now, old},
		{`W/"a"`, "", now, ""},
		{"a", "", now, ""},
		{`"`, "", now, ""},
		{"", old, "", ""},
		{"", now, now, ""}, // changed in the very second of the answer: there may be another such
		{"", "junk", now, ""},
	}
	for _, tt := range tests {
		h := http.Header{"Etag": {tt.etag}, "Last-Modified": {tt.modified}, "Date": {tt.date}}
		if got := strongValidator(h); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

// TestContentTypes: of several types the last one counts, as in browsers.
func TestContentTypes(t *testing.T) {
	tests := []struct {
		in            []string
		mime, charset string
	}{
		{nil, "", ""},
		{[]string{""}, "", ""},
		{[]string{"text/plain", "text/html"}, "text/html", ""},
		{[]string{"text/html, text/html"}, "text/html", ""},
		{[]string{"text/html; charset=utf-8, text/html"}, "text/html", "utf-8"},
		{[]string{"text/html; charset=utf-8", "text/html; charset=koi8-r"}, "text/html", "koi8-r"},
		{[]string{"text/plain; charset=utf-8", "text/html"}, "text/html", ""},
		{[]string{"text/html", "*/*"}, "text/html", ""},
		{[]string{"text/html; charset=utf-8", "html", ""}, "text/html", "utf-8"},
		{[]string{"nonsense", "text/css"}, "text/css", ""},
		{[]string{"*/*, text/css"}, "text/css", ""},
		{[]string{"*/*"}, "*/*", ""},
		{[]string{`text/html; x="a, text/plain"; charset=utf-8`}, "text/html", "utf-8"},
		{[]string{"html; charset=utf-8"}, "", "utf-8"},
	}
	for _, tt := range tests {
		if mime, charset := contentType(tt.in); mime != tt.mime || charset != tt.charset {
			t.Errorf("%q: %q, %q; want %q, %q", tt.in, mime, charset, tt.mime, tt.charset)
		}
	}
}

func FuzzHeadFields(f *testing.F) {
	for _, s := range []string{
		`text/html; charset="a\"b"; c`, "bytes 5-9/10", "Wed, 01 Jan 2020 00:00:00 GMT", "120", "gzip, br",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		mime, _ := contentType([]string{s})
		if mime != "" && (mime != strings.ToLower(mime) || strings.ContainsAny(mime, "; \t\"") ||
			strings.Count(mime, "/") != 1) {
			t.Errorf("type %q of %q", mime, s)
		}
		if first, last, total, err := parseContentRange(s); err == nil &&
			(first < 0 || last < first || (total >= 0 && last >= total)) {
			t.Errorf("range %d-%d/%d of %q", first, last, total, s)
		}
		if d, ok := parseRetryAfter(s, "", epoch); d < 0 || (!ok && d != 0) {
			t.Errorf("retry after %v of %q", d, s)
		}
		if list, err := codings([]string{s}); err == nil && len(list) > maxCodings {
			t.Errorf("%d codings of %q", len(list), s)
		}
	})
}

// FuzzDecode feeds junk to the decoders, and wants no panic, no endless output and the same a second time.
func FuzzDecode(f *testing.F) {
	names := []string{"gzip", "br", "zstd", "deflate", "deflate-raw"}
	for i, name := range names {
		f.Add(uint8(i), badserver.Encode(name, []byte(badserver.Page)))
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		name := strings.TrimSuffix(names[int(which)%len(names)], "-raw")
		read := func(b []byte) ([]byte, error) {
			r, err := decode(name, bytes.NewReader(b))
			if err != nil {
				return nil, err
			}
			defer r.Close()
			return io.ReadAll(io.LimitReader(r, 1<<20))
		}
		first, err1 := read(b)
		if again, err2 := read(b); !bytes.Equal(first, again) || (err1 == nil) != (err2 == nil) {
			t.Errorf("%s: %d bytes, %v; then %d, %v", name, len(first), err1, len(again), err2)
		}
		good, err := read(badserver.Encode(name, []byte(badserver.Page)))
		if err != nil || string(good) != badserver.Page {
			t.Errorf("%s: a good body after it: %d bytes, %v", name, len(good), err)
		}
	})
}
