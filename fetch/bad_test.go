// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/fetch/reach"
	"mirrord/testing/badserver"
)

func TestMain(m *testing.M) {
	// net/http reports bytes after the end of an answer there; some of the bad server's paths are made of them.
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

// patient are limits that only endless transfers reach, on a machine that is busy with other tests.
func patient() Options {
	return Options{Reach: reach.Policy{All: true}, Retries: -1, MaxBody: 32 << 20}
}

func newClient(t testing.TB, o Options) *Client {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestBadAnswers asks for every bad answer once and wants its class. Nothing of it may be reported as kept.
func TestBadAnswers(t *testing.T) {
	s := badserver.Start(t)
	c := newClient(t, patient())
	tests := map[string]error{
		"/endless-chunks":   ErrTooLarge,
		"/endless":          ErrTooLarge,
		"/declared-huge":    ErrTooLarge,
		"/length-long":      ErrTruncated,
		"/length-old":       ErrTruncated,
		"/length-junk":      ErrProtocol,
		"/length-negative":  ErrProtocol,
		"/length-two":       ErrProtocol,
		"/chunk-garbage":    ErrProtocol,
		"/chunk-overlong":   ErrProtocol,
		"/chunk-overflow":   ErrProtocol,
		"/chunk-cut":        ErrTruncated,
		"/chunk-cut-inside": ErrTruncated,
		"/chunk-no-trailer": ErrTruncated,
		"/reset-body":       ErrReset,
		"/reset-header":     ErrReset,
		"/hang-up":          ErrReset,
		"/header-cut":       ErrProtocol,
		"/headers-many":     ErrHeaderFlood,
		"/headers-long":     ErrHeaderFlood,
		"/headers-endless":  ErrHeaderFlood,
		"/flood-1xx":        ErrHeaderFlood,
		"/switch":           ErrProtocol,
		"/header-nul":       ErrProtocol,
		"/header-no-colon":  ErrProtocol,
		"/http09":           ErrProtocol,
		"/status-junk":      ErrProtocol,
		"/tls":              ErrProtocol,
		"/binary":           ErrProtocol,
		"/partial-unasked":  ErrProtocol,
		"/coding-unknown":   ErrCoding,
		"/coding-many":      ErrCoding,
		"/gzip-checksum":    ErrCoding,
	}
	for _, coding := range []string{"gzip", "br", "zstd", "deflate", "deflate-raw"} {
		tests["/"+coding+"-cut"] = ErrTruncated
		tests["/"+coding+"-cut-end"] = ErrTruncated
		tests["/"+coding+"-bomb"] = ErrBomb
		tests["/"+coding+"-lie"] = ErrCoding
		tests["/"+coding+"-no-last-chunk"] = ErrTruncated
	}
	for path, want := range tests {
		t.Run(strings.TrimPrefix(path, "/"), func(t *testing.T) {
			t.Parallel()
			var m memory
			req := Request{URL: mustURL(t, s.URL+path)}
			if want == ErrTooLarge {
				req.MaxBody = 1 << 20
			}
			res, err := c.Do(context.Background(), req, &m)
			if !errors.Is(err, want) {
				t.Fatalf("got %v, want %v", err, want)
			}
			if res.Kept {
				t.Error("reported as kept")
			}
			var e *Error
			if !errors.As(err, &e) || e.Class != want {
				t.Errorf("class %v of %T, want %v alone", e, err, want)
			}
		})
	}
}

// TestSlowAnswers runs into each of the limits on time.
func TestSlowAnswers(t *testing.T) {
	s := badserver.Start(t)
	const limit = 150 * time.Millisecond
	tests := []struct {
		path string
		set  func(*Options)
		want error
	}{
		{"/silent", func(o *Options) { o.HeaderTimeout = limit }, ErrTimeout},
		{"/slow-header", func(o *Options) { o.HeaderTimeout = limit }, ErrTimeout},
		{"/stalled-body", func(o *Options) { o.IdleTimeout = limit }, ErrTimeout},
		{"/slow-body", func(o *Options) { o.MinRate, o.MinRateWindow = 10000, limit }, ErrTooSlow},
		{"/slow-body", func(o *Options) { o.TotalTimeout = limit }, ErrTimeout},
		{"/slow-header", func(o *Options) { o.TotalTimeout = limit }, ErrTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			o := patient()
			tt.set(&o)
			start := time.Now()
			_, err := newClient(t, o).Do(context.Background(), Request{URL: mustURL(t, s.URL+tt.path)}, new(memory))
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if d := time.Since(start); d < limit || d > 5*time.Minute {
				t.Errorf("after %v", d)
			}
		})
	}
}

// TestCorrupt changes bytes within a coded body. Without a checksum (br, raw deflate) the change may decode
// to something: then the body is not what was sent, and no client can know. What has a checksum must be
// refused.
func TestCorrupt(t *testing.T) {
	s := badserver.Start(t)
	c := newClient(t, patient())
	for _, coding := range []string{"gzip", "zstd", "deflate"} {
		var m memory
		_, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+"/"+coding+"-corrupt")}, &m)
		if !errors.Is(err, ErrCoding) && !errors.Is(err, ErrTruncated) {
			t.Errorf("%s: %v", coding, err)
		}
	}
}

// TestOddAnswers asks for what looks odd and is good.
func TestOddAnswers(t *testing.T) {
	s := badserver.Start(t)
	o := patient()
	// what /length-short leaves on its connection may spoil the next answer
	o.Retries, o.Backoff = 2, time.Millisecond
	c := newClient(t, o)
	page, long := badserver.Page, string(badserver.Long())
	gz := string(badserver.GzipFile())
	tests := map[string]struct {
		body, mime, coding string
	}{
		"/ok":                 {page, "text/html", ""},
		"/early-hints":        {page, "text/html", ""},
		"/no-length":          {page, "text/html", ""},
		"/length-short":       {page[:20], "text/html", ""}, // nothing tells that there was more
		"/type-junk":          {page, "", ""},
		"/empty":              {"", "text/html", ""},
		"/gzip":               {long, "text/html", "gzip"},
		"/br":                 {long, "text/html", "br"},
		"/zstd":               {long, "text/html", "zstd"},
		"/deflate":            {long, "text/html", "deflate"},
		"/deflate-raw":        {long, "text/html", "deflate"},
		"/gzip-empty":         {"", "text/html", "gzip"},
		"/br-empty":           {"", "text/html", "br"},
		"/zstd-empty":         {"", "text/html", "zstd"},
		"/deflate-empty":      {"", "text/html", "deflate"},
		"/gzip-padded":        {page, "text/html", "gzip"},
		"/gzip-members":       {page, "text/html", "gzip"},
		"/gzip-over-br":       {page, "text/html", "br, gzip"},
		"/coding-identity":    {page, "text/html", ""},
		"/coding-x-gzip":      {page, "text/html", "gzip"},
		"/files/a.tar.gz":     {gz, "application/gzip", ""},
		"/files/b.tgz":        {gz, "application/gzip", ""},
		"/files/twice.tar.gz": {gz, "application/gzip", "gzip"},
		"/files/plain.tar.gz": {gz, "application/gzip", ""},
	}
	for round := range 3 { // on connections that are used again
		for path, want := range tests {
			var m memory
			res, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+path)}, &m)
			if err != nil {
				t.Errorf("%d %v", round, err)
				continue
			}
			if m.String() != want.body || res.MIME != want.mime || res.Coding != want.coding || !res.Kept ||
				len(m.begun) != 1 {
				t.Errorf("%d %s: %d bytes of %d, %q, %q, kept %v, begun %d", round, path, m.Len(), len(want.body),
					res.MIME, res.Coding, res.Kept, len(m.begun))
			}
			if res.Body != int64(len(want.body)) || res.Unframed != (path == "/no-length") {
				t.Errorf("%d %s: body %d, unframed %v", round, path, res.Body, res.Unframed)
			}
		}
	}
}

// TestNotKept asks for answers whose bodies are of no use: the sink must not be called, and the connection
// survives if it can.
func TestNotKept(t *testing.T) {
	s := badserver.Start(t)
	c := newClient(t, patient())
	tests := []struct {
		path     string
		status   int
		location string
		bad      bool // a Location that is no web address
		after    time.Duration
	}{
		{path: "/missing", status: 404},
		{path: "/stalled-404", status: 404},
		{path: "/error-then-flood", status: 404},
		{path: "/error-with-body", status: 500},
		{path: "/no-content", status: 204},
		{path: "/redirect-self", status: 302, location: s.URL + "/redirect-self"},
		{path: "/redirect-private", status: 302, location: "http://169.254.169.254/latest/meta-data/"},
		{path: "/redirect-ok", status: 302, location: s.URL + "/ok"},
		{path: "/redirect-file", status: 302, bad: true},
		{path: "/redirect-junk", status: 302, bad: true},
		{path: "/redirect-nowhere", status: 302},
		{path: "/busy", status: 503, after: 7 * time.Second},
		{path: "/busy-date", status: 503, after: 9 * time.Second},
		{path: "/busy-long", status: 429, after: 24 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			var m memory
			res, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+tt.path)}, &m)
			if err != nil {
				t.Fatal(err)
			}
			if res.Status != tt.status || res.Location.String() != tt.location || (res.LocationErr != nil) != tt.bad ||
				res.RetryAfter != tt.after {
				t.Errorf("status %d, location %q (%v), retry after %v", res.Status, res.Location, res.LocationErr,
					res.RetryAfter)
			}
			if len(m.begun) > 0 || res.Kept {
				t.Error("body was kept")
			}
		})
	}
}

func TestConditional(t *testing.T) {
	s := badserver.Start(t)
	c := newClient(t, patient())
	res, err := c.Do(context.Background(), Request{
		URL:          mustURL(t, s.URL+"/unchanged"),
		ETag:         `"v1"`,
		LastModified: "Wed, 01 Jan 2020 00:00:00 GMT",
	}, nil)
	if err != nil || !res.NotModified || res.ETag != `"v1"` {
		t.Fatalf("%+v, %v", res, err)
	}
	h := s.Log()[0].Header
	if h.Get("If-None-Match") != `"v1"` || h.Get("If-Modified-Since") == "" ||
		h.Get("Accept-Encoding") != acceptEncoding {
		t.Errorf("header %v", h)
	}
}

func TestResume(t *testing.T) {
	s := badserver.Start(t)
	o := patient()
	o.Retries, o.Backoff = 3, time.Millisecond
	c := newClient(t, o)
	file := badserver.File()
	changed := append([]byte("X"), file[1:]...)
	tests := []struct {
		path  string
		want  []byte
		begun int
		hits  int
	}{
		{"/range", file, 1, 2},
		{"/range?breaks=3", file, 1, 4},
		{"/range?breaks=1&at=1000", file, 2, 2}, // too little to be worth it
		{"/range-date", file, 1, 2},
		{"/range-weak", file, 2, 2},
		{"/range-none", file, 2, 2},
		{"/range-unproven", file, 2, 2},
		{"/range-ignored", file, 2, 2},
		{"/range-shifted", file, 2, 3},
		{"/range-earlier", file, 1, 2},
		{"/range-earlier?breaks=2&at=100000", file, 1, 3},
		{"/range-whole", file, 1, 2},
		{"/range-unlabeled", file, 2, 3},
		{"/range-junk", file, 2, 3},
		{"/range-grown", file, 2, 3},
		{"/range-refused", file, 2, 3},
		{"/range-changed", changed, 2, 2},
	}
	for i, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			path, _, _ := strings.Cut(tt.path, "?")
			own := "/case" + strconv.Itoa(i) // the server counts the requests of each path
			s.Alias(own, path)
			tt.path = own + strings.TrimPrefix(tt.path, path)
			path = own
			var m memory
			res, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+tt.path)}, &m)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(m.Bytes(), tt.want) {
				t.Errorf("%d bytes differ from the file's %d", m.Len(), len(tt.want))
			}
			if len(m.begun) != tt.begun || s.Hits(path) != tt.hits {
				t.Errorf("begun %d, requests %d", len(m.begun), s.Hits(path))
			}
			if res.Status != 200 || res.Body != int64(len(tt.want)) || res.Length != int64(len(tt.want)) || !res.Kept {
				t.Errorf("status %d, body %d, length %d", res.Status, res.Body, res.Length)
			}
		})
	}
}

func TestResumeOfAnEarlierRun(t *testing.T) {
	s := badserver.Start(t)
	c := newClient(t, patient())
	file := badserver.File()
	for path, offset := range map[string]int64{
		"/range":         500000,
		"/range-ignored": 0,
		"/range-refused": 0,
		"/range-shifted": 0,
	} {
		var m memory
		m.Write(file[:500000])
		res, err := c.Do(context.Background(), Request{
			URL:    mustURL(t, s.URL+path+"?breaks=0"),
			Offset: 500000,
			Part:   partOf(`"v1"`),
		}, &m)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if !bytes.Equal(m.Bytes(), file) || m.begun[0].Offset != offset || res.Body != int64(len(file)) ||
			!res.Kept {
			t.Errorf("%s: %d bytes, offset %d, body %d", path, m.Len(), m.begun[0].Offset, res.Body)
		}
	}
}

// A .tar.gz that the server labels as coded is kept as a file, and resumed as one.
func TestResumeOfALabelledFile(t *testing.T) {
	s := badserver.Start(t)
	file := badserver.Encode("gzip", badserver.File()[:600000])
	s.Handle("/a.tar.gz", func(c *badserver.Conn, r *http.Request) bool {
		b, status, ranged := file, "200 OK", ""
		if r.Header.Get("Range") != "" {
			b, status = file[100000:], "206 Partial Content"
			ranged = fmt.Sprintf("Content-Range: bytes 100000-%d/%d\r\n", len(file)-1, len(file))
		}
		c.Text("HTTP/1.1 %s\r\nContent-Type: application/x-gzip\r\nContent-Encoding: x-gzip\r\nETag: "+
			"\"a\"\r\n%sContent-Length: %d\r\n\r\n", status, ranged, len(b))
		if ranged == "" {
			b = b[:100000]
		}
		c.Write(b)
		return ranged != ""
	})
	o := patient()
	o.Retries, o.Backoff = 1, time.Millisecond
	var m memory
	res, err := newClient(t, o).Do(context.Background(), Request{URL: mustURL(t, s.URL+"/a.tar.gz")}, &m)
	if err != nil || !bytes.Equal(m.Bytes(), file) || len(m.begun) != 1 || res.MIME != "application/gzip" {
		t.Errorf("%d bytes of %d, begun %d, %s: %v", m.Len(), len(file), len(m.begun), res.MIME, err)
	}
}

// A server whose coding is bad gets one request for plain bytes.
func TestBadCodingAskedPlain(t *testing.T) {
	s := badserver.Start(t)
	s.Handle("/half-bad", func(c *badserver.Conn, r *http.Request) bool {
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			c.Answer("200 OK", []byte(badserver.Page), "Content-Encoding: gzip")
			return true
		}
		c.Answer("200 OK", []byte(badserver.Page))
		return true
	})
	o := patient()
	o.Retries, o.Backoff = 2, time.Millisecond
	c := newClient(t, o)
	var m memory
	res, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+"/half-bad")}, &m)
	if err != nil || m.String() != badserver.Page || res.Sent != 2 {
		t.Errorf("%q, %d requests, %v", m.String(), res.Sent, err)
	}
	if _, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+"/gzip-lie")}, nil); !errors.Is(err,
		ErrCoding) || s.Hits("/gzip-lie") != 2 {
		t.Errorf("%d requests: %v", s.Hits("/gzip-lie"), err)
	}
}

// Memory does not depend on what a body becomes.
func TestBombMemory(t *testing.T) {
	s := badserver.Start(t)
	c := newClient(t, patient())
	for _, coding := range []string{"gzip", "br", "zstd", "deflate", "deflate-raw"} {
		var before, after runtime.MemStats
		// the server makes its bomb once
		res, _ := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+"/"+coding+"-bomb")}, nil)
		runtime.ReadMemStats(&before)
		_, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+"/"+coding+"-bomb")}, nil)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 24<<20 || !errors.Is(err, ErrBomb) {
			t.Errorf("%s: %d MB allocated, %v", coding, got>>20, err)
		}
		if res.Body > 0 && res.Kept {
			t.Errorf("%s: kept", coding)
		}
	}
}

// There are never more connections than the client may have, although each of its workers always has a
// request to make.
func TestConnections(t *testing.T) {
	var opened atomic.Int32
	body := badserver.File()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Query().Get("n"))
		if err != nil {
			w.WriteHeader(n)
			return
		}
		if n%5 == 0 {
			w.WriteHeader(http.StatusNotFound)
		}
		w.Write(body[:n*7])
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	const workers = 2
	c := newClient(t, Options{Reach: reach.Policy{All: true}, MaxConnsPerHost: workers})
	var wg sync.WaitGroup
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 200 {
				if _, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+"/?n="+strconv.Itoa(i*workers+w))},
					nil); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	// On a machine that stands still for drainTime a connection is given up and replaced; one for each of 400
	// requests is what would be wrong.
	if n := opened.Load(); n > 10*workers {
		t.Errorf("%d connections for %d requests at a time", n, workers)
	}
}
