// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// unpack undoes a content coding.
func unpack(t *testing.T, coding string, b []byte) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(b)
	var err error
	switch coding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "br":
		r = brotli.NewReader(r)
	case "zstd":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(r); err == nil {
			defer d.Close()
			r = d
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", coding, err)
	}
	return string(out)
}

func TestCodings(t *testing.T) {
	s := testServer(t, nil)
	tags := map[string]bool{}
	for _, tc := range []struct{ accept, coding string }{
		{"", ""}, {"gzip", "gzip"}, {"gzip, deflate, br", "br"}, {"gzip, deflate, br, zstd", "zstd"},
		{"br;q=0.5, gzip;q=0.8", "gzip"}, {"*", "zstd"}, {"*;q=0.1, gzip", "gzip"},
		{"identity", ""}, {"gzip;q=0", ""}, {"gzip;q=0, *", "zstd"}, {"identity, gzip;q=0.5", ""}, {"deflate", ""},
		{"GZIP ; Q=1.0", "gzip"}, {"x-gzip", "gzip"},
		{"gzip;q=x", ""}, {"gzip;q=NaN", ""}, {",,;;=", ""},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			var headers []string
			if tc.accept != "" {
				headers = []string{"Accept-Encoding", tc.accept}
			}
			res := ask(t, s, method, byHost+"/docs/long.txt", headers...)
			raw, _ := io.ReadAll(res.Body)
			h := res.Header
			if res.StatusCode != 200 || h.Get("Content-Encoding") != tc.coding ||
				!strings.Contains(strings.Join(h.Values("Vary"), ","), "Accept-Encoding") ||
				h.Get("Content-Type") != "text/plain; charset=iso-8859-1" ||
				h.Get("Last-Modified") != old.Format(http.TimeFormat) {
				t.Errorf("%s %q: %d %v", method, tc.accept, res.StatusCode, h)
				continue
			}
			tags[h.Get("Etag")] = true
			if method == "GET" {
				if got := unpack(t, tc.coding, raw); got != long || h.Get("Content-Length") != fmt.Sprint(len(raw)) {
					t.Errorf("%q: wrong body of %d bytes, Content-Length %s", tc.accept, len(raw), h.Get("Content-Length"))
				}
			} else if len(raw) != 0 || h.Get("Content-Length") == "" {
				t.Errorf("HEAD %q: %d bytes, Content-Length %q", tc.accept, len(raw), h.Get("Content-Length"))
			}
		}
	}
	if len(tags) != 4 {
		t.Errorf("entity tags are not one for each coding: %v", tags)
	}
	for _, path := range []string{"/pic.png", "/docs/"} { // packed already, and too small
		res := ask(t, s, "GET", byHost+path, "Accept-Encoding", "gzip, br, zstd")
		if res.Header.Get("Content-Encoding") != "" ||
			strings.Contains(strings.Join(res.Header.Values("Vary"), ","), "Encoding") {
			t.Errorf("%s: %v", path, res.Header)
		}
	}
}

func TestConditional(t *testing.T) {
	s := testServer(t, nil)
	const address = byHost + "/docs/long.txt"
	plain := ask(t, s, "GET", address).Header.Get("Etag")
	packed := ask(t, s, "GET", address, "Accept-Encoding", "gzip").Header.Get("Etag")
	if plain == packed || !strings.HasPrefix(plain, `"`) {
		t.Fatalf("entity tags %s and %s", plain, packed)
	}
	when := func(d time.Duration) string { return old.Add(d).Format(http.TimeFormat) }
	for _, tc := range []struct {
		name    string
		headers []string
		status  int
	}{
		{"same tag", []string{"If-None-Match", plain}, 304},
		{"weak comparison", []string{"If-None-Match", "W/" + plain}, 304},
		{"one of many", []string{"If-None-Match", `"x", ` + plain + `, "y"`}, 304},
		{"any", []string{"If-None-Match", "*"}, 304},
		{"another tag", []string{"If-None-Match", `"x"`}, 200},
		{"tag of a coding, not accepted", []string{"If-None-Match", packed}, 200},
		{"tag of a coding", []string{"If-None-Match", packed, "Accept-Encoding", "gzip"}, 304},
		{"tag of another coding", []string{"If-None-Match", packed, "Accept-Encoding", "br"}, 200},
		{"plain tag, coding accepted", []string{"If-None-Match", plain, "Accept-Encoding", "gzip"}, 200},
		{"not modified since", []string{"If-Modified-Since", when(0)}, 304},
		{"not modified since, coding", []string{"If-Modified-Since", when(0), "Accept-Encoding", "gzip"}, 304},
		{"modified since", []string{"If-Modified-Since", when(-time.Second)}, 200},
		{"tag wins over time", []string{"If-None-Match", `"x"`, "If-Modified-Since", when(0)}, 200},
		{"bad time", []string{"If-Modified-Since", "yesterday"}, 200},
		{"match", []string{"If-Match", plain}, 200},
		{"no match", []string{"If-Match", `"x"`}, 412},
		{"no match, coding", []string{"If-Match", plain, "Accept-Encoding", "gzip"}, 412},
		{"match wins", []string{"If-Match", `"x"`, "If-None-Match", plain}, 412},
		{"unmodified", []string{"If-Unmodified-Since", when(0)}, 200},
		{"modified", []string{"If-Unmodified-Since", when(-time.Hour)}, 412},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			res := ask(t, s, method, address, tc.headers...)
			if res.StatusCode != tc.status {
				t.Errorf("%s %s: %d, want %d", method, tc.name, res.StatusCode, tc.status)
			}
			if b := bodyOf(t, res); res.StatusCode != 200 && b != "" {
				t.Errorf("%s %s: body %q", method, tc.name, b)
			}
			if res.StatusCode == 304 && (res.Header.Get("Etag") == "" || res.Header.Get("Content-Length") != "" ||
				len(res.Header.Values("Vary")) != 3) {
				t.Errorf("%s %s: %v", method, tc.name, res.Header)
			}
			if res.StatusCode == 412 && res.Header.Get("Content-Length") != "" {
				t.Errorf("%s %s: a length and no body", method, tc.name)
			}
		}
	}
	if res := ask(t, s, "GET", byHost+"/pic.png"); res.Header.Get("Last-Modified") != "" {
		t.Errorf("a time that the origin did not give: %v", res.Header)
	}
	if res := ask(t, s, "GET", byHost+"/no-type"); res.Header.Get("Content-Type") != "text/plain" {
		t.Errorf("no type: %q", res.Header.Get("Content-Type"))
	}
}

func TestRanges(t *testing.T) {
	s := testServer(t, nil)
	const address = byHost + "/docs/long.txt"
	n := len(long)
	tag := ask(t, s, "GET", address).Header.Get("Etag")
	packed := ask(t, s, "GET", address, "Accept-Encoding", "gzip").Header.Get("Etag")
	for _, tc := range []struct {
		name    string
		headers []string
		status  int
		body    string
	}{
		{"first bytes", []string{"Range", "bytes=0-9"}, 206, long[:10]},
		{"open end", []string{"Range", fmt.Sprintf("bytes=%d-", n-5)}, 206, long[n-5:]},
		{"suffix", []string{"Range", "bytes=-7"}, 206, long[n-7:]},
		{"suffix longer than the file", []string{"Range", "bytes=-999999"}, 206, long},
		{"beyond the end", []string{"Range", fmt.Sprintf("bytes=%d-", n)}, 416,
			"invalid range: failed to overlap\n"},
		{"of a type never compressed", []string{"Range", "bytes=0-9", "Accept-Encoding",
			"gzip, br, zstd"}, 206,
			long[:10]},
		{"another unit", []string{"Range", "lines=0-9"}, 200, long},
		{"case of the unit", []string{"Range", "Bytes=0-9"}, 206, long[:10]},
		{"the last no bytes", []string{"Range", "bytes=-0"}, 416, "invalid range: failed to overlap\n"},
		{"those and others", []string{"Range", "bytes=-0, 0-9"}, 206, long[:10]},
		{"if the same", []string{"Range", "bytes=0-9", "If-Range", tag}, 206, long[:10]},
		{"if the same, weak", []string{"Range", "bytes=0-9", "If-Range", "W/" + tag}, 200, long},
		{"if a coding's", []string{"Range", "bytes=0-9", "If-Range", packed}, 200, long},
		{"if the same time", []string{"Range", "bytes=0-9", "If-Range", old.Format(http.TimeFormat)}, 206,
			long[:10]},
		{"many that make more than the file", []string{"Range", "bytes=0-,0-,0-"}, 200, long},
	} {
		res := ask(t, s, "GET", address, tc.headers...)
		if got := bodyOf(t, res); res.StatusCode != tc.status || got != tc.body ||
			res.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d %.40q, want %d %.40q", tc.name, res.StatusCode, got, tc.status, tc.body)
		}
	}
	res := ask(t, s, "GET", address, "Range", "bytes=0-1,5-6")
	if res.StatusCode != 206 || !strings.HasPrefix(res.Header.Get("Content-Type"), "multipart/byteranges") {
		t.Errorf("two ranges: %d %v", res.StatusCode, res.Header)
	}
	res = ask(t, s, "HEAD", address, "Range", "bytes=0-1")
	if res.StatusCode != 200 || res.Header.Get("Content-Length") != fmt.Sprint(n) {
		t.Errorf("HEAD with a range: %d %v", res.StatusCode, res.Header)
	}
}

// A failure is one of the request, and a text that is too large stays as it is.
func TestCodingFails(t *testing.T) {
	c := make(codings, 1)
	open := func(r Resource) (io.ReadSeekCloser, error) {
		if r.Path == "bad" {
			return nil, errors.New("disk")
		}
		return nopCloser{bytes.NewReader([]byte(long))}, nil
	}
	good := Resource{Path: "x", Size: int64(len(long))}
	if b, err := c.get(t.Context(), good, "gzip", open); err != nil || len(b) == 0 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, err := c.get(t.Context(), Resource{Path: "bad"}, "gzip", open); err == nil {
		t.Error("no error for a file that cannot be opened")
	}
	short := good
	short.Size++
	if _, err := c.get(t.Context(), short, "br", open); !errors.Is(err, ErrMoved) {
		t.Errorf("a file that is shorter than stated: %v", err)
	}
	c <- struct{}{}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.get(gone, good, "gzip", open); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that has disconnected waits for a slot: %v", err)
	}
	if got := chooseCoding([]string{"gzip"}, largestCoded+1); got != "" {
		t.Errorf("too large: %q", got)
	}
}

func TestIncompressible(t *testing.T) {
	c := make(codings, 1)
	noise := make([]byte, 4096)
	x := uint32(1)
	for i := range noise {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	r := Resource{Path: "noise.txt", Digest: [32]byte{7}, Size: int64(len(noise))}
	for _, coding := range codingNames {
		b, err := c.get(context.Background(), r, coding, func(Resource) (io.ReadSeekCloser, error) {
			return nopCloser{bytes.NewReader(noise)}, nil
		})
		if b != nil || err != nil {
			t.Errorf("%s: %d bytes, %v", coding, len(b), err)
		}
	}
}

func FuzzAcceptEncoding(f *testing.F) {
	for _, s := range []string{"gzip, br;q=0.5", "*;q=0", "identity;q=0, *;q=0", ";;q=,=", "zstd;q=1e308"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		switch got := chooseCoding([]string{s}, 5000); got {
		case "":
		case "gzip", "br", "zstd":
			if low := strings.ToLower(s); !strings.Contains(low, got) && !strings.Contains(s, "*") {
				t.Errorf("%q: %s", s, got)
			}
		default:
			t.Errorf("%q: %q", s, got)
		}
	})
}
