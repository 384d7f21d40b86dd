// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"context"

	"mirrord/fetch/reach"
	"mirrord/testing/badserver"
)

func zstdEncode(t *testing.T, b []byte, sized bool, o ...zstd.EOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, append(o, zstd.WithEncoderConcurrency(1))...)
	if err != nil {
		t.Fatal(err)
	}
	if sized {
		w.ResetContentSize(&out, int64(len(b)))
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// RFC 9659: a window of 8 MB is the most that may be used, regardless of the length of the body.
func TestZstdWindow(t *testing.T) {
	big := bytes.Repeat(badserver.File(), 20)
	for _, tt := range []struct {
		name string
		body []byte
		ok   bool
	}{
		{"20 MB in a window of 8 MB", zstdEncode(t, big, false, zstd.WithWindowSize(8<<20)), true},
		{"the same with its size declared", zstdEncode(t, big, true, zstd.WithWindowSize(8<<20)), true},
		{"window of 64 MB", zstdEncode(t, big, false, zstd.WithWindowSize(64<<20)), false},
		{"window of 512 MB", zstdEncode(t, big[:100], false, zstd.WithWindowSize(512<<20),
			zstd.WithSingleSegment(false)), true}, // a small body needs none
	} {
		r, err := decode("zstd", bytes.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, r)
		r.Close()
		if (err == nil) != tt.ok {
			t.Errorf("%s: %d bytes, %v", tt.name, n, err)
		}
	}
}

// FuzzAnswer sends any bytes as a response, on a fresh connection that then ends.
func FuzzAnswer(f *testing.F) {
	s := badserver.Start(f)
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 302 Found\r\nLocation: ../x\r\nRetry-After: 5\r\n\r\n"))
	f.Add(
		append([]byte("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: text/html; charset=x\r\n\r\n"),
			badserver.Encode("gzip", []byte("hello"))...))
	f.Add([]byte("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 3-7/8\r\nContent-Length: 5\r\n\r\nhello"))
	c := newClient(f, Options{
		Reach:         reach.Policy{All: true},
		Retries:       -1,
		HeaderTimeout: 5 * time.Second,
		MaxBody:       1 << 20,
	})
	f.Fuzz(func(t *testing.T, answer []byte) {
		s.Handle("/fuzz", func(c *badserver.Conn, _ *http.Request) bool { c.Write(answer); return false })
		for _, offset := range []int64{0, 3} {
			var m memory
			m.WriteString("abc")
			res, err := c.Do(context.Background(), Request{
				URL:    mustURL(t, s.URL+"/fuzz"),
				Offset: offset,
				Part:   partOf(`"v"`),
			}, &m)
			var e *Error
			switch {
			case res == nil:
				t.Fatal("no result")
			case err != nil && (!errors.As(err, &e) || e.Class == nil || errors.Is(err, errRestart) || res.Kept):
				t.Errorf("%v, kept %v", err, res.Kept)
			case res.Kept && int64(m.Len()) != res.Body:
				t.Errorf("%d bytes, said to be %d", m.Len(), res.Body)
			case res.Length >= 0 && res.Kept && res.Length != res.Body:
				t.Errorf("%d bytes of %d", res.Body, res.Length)
			}
		}
	})
}

// Nothing that a server does leaves a goroutine or a connection behind.
func TestNothingIsLeft(t *testing.T) {
	s := badserver.Start(t)
	before := runtime.NumGoroutine()
	o := patient()
	o.HeaderTimeout, o.IdleTimeout, o.MinRate, o.MaxBody = 50*time.Millisecond, 50*time.Millisecond, -1, 1<<20
	c := newClient(t, o)
	for _, path := range s.Paths() {
		if strings.HasSuffix(path, "404") {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		c.Do(ctx, Request{URL: mustURL(t, s.URL+path)}, new(memory))
		cancel()
	}
	c.Close()
	deadline := time.After(5 * time.Minute)
	for runtime.NumGoroutine() > before {
		select {
		case <-deadline:
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestNoCodings: an invalid Content-Encoding of a plain body does not cost the body.
func TestNoCodings(t *testing.T) {
	for _, s := range []string{"identity", "aws-chunked", "ISO-8859-1", "utf8", "Windows-1251", "7bit, none"} {
		if list, err := codings([]string{s}); err != nil || len(list) > 0 {
			t.Errorf("%q: %q, %v", s, list, err)
		}
	}
	list, err := codings([]string{"aws-chunked,gzip", "utf-8"})
	if err != nil || len(list) != 1 || list[0] != "gzip" {
		t.Errorf("%q, %v", list, err)
	}
	for _, s := range []string{"compress", "exi", "dcb", "secret"} {
		if list, err := codings([]string{s}); !errors.Is(err, ErrCoding) {
			t.Errorf("%q: %q, %v", s, list, err)
		}
	}
}
