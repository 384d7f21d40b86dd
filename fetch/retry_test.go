// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mirrord/fetch/reach"
	"mirrord/testing/badserver"
)

// pauses records what a client would have waited.
type pauses []time.Duration

func (p *pauses) sleep(_ context.Context, d time.Duration) error {
	*p = append(*p, d)
	return nil
}

func TestRetries(t *testing.T) {
	s := badserver.Start(t)
	tests := []struct {
		name   string
		path   string
		req    Request
		status int
		err    error
		hits   int
		waits  pauses // with Rand 0.5, Backoff 1 s
	}{
		{"broken connection", "/flaky?fail=1&status=0", Request{}, 200, nil, 2, pauses{500 * time.Millisecond}},
		{"broken connection, again", "/flaky?fail=2&status=0", Request{}, 0, ErrReset, 2,
			pauses{500 * time.Millisecond}},
		{"broken connection, caller repairs", "/flaky?fail=2&status=0", Request{NoMend: true}, 0, ErrReset, 1, nil},
		{"caller retries", "/flaky?fail=9&status=0", Request{NoRetry: true}, 0, ErrReset, 1, nil},
		{"500", "/flaky?fail=1&status=500", Request{}, 200, nil, 2, pauses{500 * time.Millisecond}},
		{"502 with the host's gap", "/flaky?fail=1&status=502", Request{Gap: 5 * time.Second}, 200, nil, 2,
			pauses{5500 * time.Millisecond}},
		{"500 for ever", "/flaky?fail=99&status=500", Request{}, 500, nil, 8,
			pauses{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second,
				15 * time.Second, 15 * time.Second}},
		{"503 with Retry-After 0", "/flaky?fail=1&status=503&after=0", Request{}, 200, nil, 2,
			pauses{500 * time.Millisecond}},
		{"503 with Retry-After", "/flaky?fail=1&status=503&after=3600", Request{}, 503, nil, 1, nil},
		{"503 without", "/flaky?fail=1&status=503", Request{}, 503, nil, 1, nil},
		{"429 without", "/flaky?fail=1&status=429", Request{}, 429, nil, 1, nil},
		{"404", "/missing", Request{}, 404, nil, 1, nil},
		{"truncated for ever", "/length-long", Request{}, 200, ErrTruncated, 2, pauses{500 * time.Millisecond}},
		{"truncated for ever, caller repairs", "/length-long", Request{NoMend: true}, 200, ErrTruncated, 1, nil},
		{"cut in its coding", "/gzip-cut", Request{}, 200, ErrTruncated, 2, pauses{500 * time.Millisecond}},
		{"cut in a chunk", "/chunk-cut-inside", Request{}, 200, ErrTruncated, 2, pauses{500 * time.Millisecond}},
		{"reset in the body", "/reset-body", Request{}, 200, ErrReset, 2, pauses{500 * time.Millisecond}},
		{"junk", "/http09", Request{}, 0, ErrProtocol, 2, pauses{500 * time.Millisecond}},
		{"junk for a length", "/length-junk", Request{}, 0, ErrProtocol, 2, pauses{500 * time.Millisecond}},
		{"header cut", "/header-cut", Request{}, 0, ErrProtocol, 2, pauses{500 * time.Millisecond}},
		{"wrong coding", "/gzip-lie", Request{}, 200, ErrCoding, 2, pauses{0}},
		{"bomb", "/gzip-bomb", Request{}, 200, ErrBomb, 1, nil},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p pauses
			o := Options{
				Reach:   reach.Policy{All: true},
				Retries: 7,
				Sleep:   p.sleep,
				Rand:    func() float64 { return 0.5 },
			}
			c := newClient(t, o)
			own := mustURL(t, s.URL+tt.path)
			path := "/case" + string(rune('a'+i))
			s.Alias(path, own.Path())
			q, _ := own.Query()
			tt.req.URL = mustURL(t, s.URL+path+"?"+q)
			res, err := c.Do(context.Background(), tt.req, new(memory))
			if !errors.Is(err, tt.err) || res.Status != tt.status {
				t.Errorf("status %d, %v", res.Status, err)
			}
			if s.Hits(path) != tt.hits {
				t.Errorf("%d requests", s.Hits(path))
			}
			if len(p) != len(tt.waits) {
				t.Fatalf("waits %v, want %v", p, tt.waits)
			}
			for i := range p {
				if p[i] != tt.waits[i] {
					t.Errorf("waits %v, want %v", p, tt.waits)
				}
			}
		})
	}
}

// TestBrokenOnUsedConnection: when a connection that was used before ends, net/http repeats the request by
// itself. That counts: there are never more than two requests for a URL that is always broken.
func TestBrokenOnUsedConnection(t *testing.T) {
	for _, path := range []string{"/hang-up", "/reset-header", "/header-cut", "/length-long", "/status-junk"} {
		for _, noMend := range []bool{false, true} {
			s := badserver.Start(t)
			o := patient()
			o.Retries, o.Backoff = 3, time.Millisecond
			c := newClient(t, o)
			ask := func(path string, req Request) *Result {
				req.URL = mustURL(t, s.URL+path)
				res, _ := c.Do(context.Background(), req, new(memory))
				return res
			}
			ask("/ok", Request{})
			res := ask(path, Request{NoMend: noMend})
			if noMend && res.Sent < 2 {
				ask("/ok", Request{})
				res = ask(path, Request{NoMend: true, Fresh: true})
			}
			if n := s.Hits(path); n != 2 {
				t.Errorf("%s, caller repairs %t: %d requests, the last result counts %d", path, noMend, n, res.Sent)
			}
		}
	}
}

func TestCanceled(t *testing.T) {
	s := badserver.Start(t)
	why := errors.New("the operator said so")
	for _, path := range []string{"/silent", "/stalled-body", "/endless"} {
		ctx, cancel := context.WithCancelCause(context.Background())
		var began beginFunc = func(*Head) (io.Writer, error) { cancel(why); return io.Discard, nil }
		if path == "/silent" {
			timer := time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
			defer timer.Stop()
		}
		o := patient()
		o.MaxBody, o.Retries = 1<<40, 5
		res, err := newClient(t, o).Do(ctx, Request{URL: mustURL(t, s.URL+path)}, began)
		if !errors.Is(err, ErrCanceled) || !errors.Is(err, why) || Transient(err) || res.Sent > 1 {
			t.Errorf("%s: %v after %d requests", path, err, res.Sent)
		}
	}
	// while it waits for a retry
	ctx, cancel := context.WithCancelCause(context.Background())
	o := patient()
	o.Retries, o.Backoff = 5, time.Hour
	o.Sleep = func(ctx context.Context, d time.Duration) error { cancel(why); return sleep(ctx, d) }
	_, err := newClient(t, o).Do(ctx, Request{URL: mustURL(t, s.URL+"/reset-header")}, nil)
	if !errors.Is(err, ErrCanceled) || !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

type beginFunc func(*Head) (io.Writer, error)

func (f beginFunc) Begin(h *Head) (io.Writer, error) { return f(h) }

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// A full disk is neither the server's fault nor worth a retry.
func TestSinkErrors(t *testing.T) {
	s := badserver.Start(t)
	o := patient()
	o.Retries = 3
	c := newClient(t, o)
	for name, sink := range map[string]Sink{
		"begin": beginFunc(func(*Head) (io.Writer, error) { return nil, syscall.ENOSPC }),
		"write": beginFunc(func(*Head) (io.Writer, error) { return brokenWriter{syscall.ENOSPC}, nil }),
		"reset": beginFunc(func(*Head) (io.Writer, error) { return brokenWriter{syscall.ECONNRESET}, nil }),
	} {
		res, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+"/ok")}, sink)
		if !errors.Is(err, ErrSink) || Transient(err) || res.Sent > 1 || res.Kept {
			t.Errorf("%s: %v", name, err)
		}
	}
	if res, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+"/ok")}, nil); err != nil ||
		!res.Kept {
		t.Errorf("no sink: %v", err)
	}
}

func TestLimitsOfSize(t *testing.T) {
	s := badserver.Start(t)
	c := newClient(t, patient())
	n, long := int64(len(badserver.Page)), int64(len(badserver.Long()))
	tests := []struct {
		path string
		req  Request
		err  error
		want int64
	}{
		{"/ok", Request{MaxBody: n}, nil, n},
		{"/ok", Request{MaxBody: n - 1}, ErrTooLarge, 0},
		{"/ok", Request{MaxBody: n - 1, Cut: true}, nil, n - 1},
		{"/no-length", Request{MaxBody: n - 1}, ErrTooLarge, 0},
		{"/gzip", Request{MaxBody: long - 1}, ErrTooLarge, 0},
		{"/gzip", Request{MaxBody: long}, nil, long},
		{"/gzip", Request{MaxBody: 1000, Cut: true}, nil, 1000},
		{"/endless", Request{MaxBody: 100000, Cut: true}, nil, 100000},
		{"/range?breaks=0", Request{
			MaxBody: 1000,
			Offset:  4000,
			Part:    partOf(`"v1"`),
			Cut:     true,
		}, nil, 4000},
		{"/range?breaks=0", Request{MaxBody: 1000, Offset: 4000, Part: partOf(`"v1"`)}, ErrTooLarge, 0},
		{"/robots-huge", Request{MaxBody: 500 << 10, Cut: true}, nil, 500 << 10},
	}
	for _, tt := range tests {
		var m memory
		m.Write(make([]byte, tt.req.Offset))
		tt.req.URL = mustURL(t, s.URL+tt.path)
		res, err := c.Do(context.Background(), tt.req, &m)
		if !errors.Is(err, tt.err) {
			t.Errorf("%s %+v: %v", tt.path, tt.req, err)
			continue
		}
		if err == nil && (int64(m.Len()) != tt.want || res.Body != tt.want || !res.Kept || res.Cut != tt.req.Cut) {
			t.Errorf("%s: %d bytes, want %d; cut %v, body %d", tt.path, m.Len(), tt.want, res.Cut, res.Body)
		}
	}
}

// The texts by which net/http is understood are provoked elsewhere; this is the rest.
func TestErrorClasses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	c := newClient(t, patient())
	_, err = c.Do(context.Background(), Request{URL: mustURL(t, "http://"+closed+"/")}, nil)
	if !errors.Is(err, ErrRefused) || !Transient(err) {
		t.Errorf("closed port: %v", err)
	}
	_, err = c.Do(context.Background(), Request{}, nil)
	if err == nil {
		t.Error("no URL, no error")
	}
	for _, tt := range []struct {
		err       error
		class     error
		transient bool
	}{
		{&net.DNSError{IsNotFound: true}, ErrDNS, false},
		{&net.DNSError{IsTemporary: true}, ErrDNS, true},
		{&net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}, ErrUnreachable, true},
		{&net.OpError{Op: "read", Err: syscall.ETIMEDOUT}, ErrTimeout, true},
		{http.ErrHandlerTimeout, ErrProtocol, false},
	} {
		e := classify(context.Background(), nil, mustURL(t, "http://a/"), tt.err, false)
		if e.Class != tt.class || Transient(e) != tt.transient {
			t.Errorf("%v: class %v, transient %v", tt.err, e.Class, Transient(e))
		}
	}
	if Transient(nil) || Transient(io.EOF) {
		t.Error("transient without a class")
	}
}

// What an overlong body leaves on its connection spoils the next answer: that is worth another try, and it
// never counts as one.
func TestJunkBetweenAnswers(t *testing.T) {
	s := badserver.Start(t)
	s.Handle("/spoiled", func(c *badserver.Conn, _ *http.Request) bool {
		if c.Nth == 1 {
			c.Text("the rest of the last body</html>\r\n")
			return false
		}
		c.Answer("200 OK", []byte("good"))
		return true
	})
	for _, retries := range []int{-1, 2} {
		o := patient()
		o.Retries, o.Backoff = retries, time.Millisecond
		c := newClient(t, o)
		if _, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+"/ok")}, nil); err != nil {
			t.Fatal(err)
		}
		path := "/spoiled" + string(rune('a'+retries+1))
		s.Alias(path, "/spoiled")
		var m memory
		_, err := c.Do(context.Background(), Request{URL: mustURL(t, s.URL+path)}, &m)
		if (retries < 0 && (!errors.Is(err, ErrProtocol) || !Transient(err))) ||
			(retries > 0 && (err != nil || m.String() != "good")) {
			t.Errorf("%d retries: %v, %q", retries, err, m.String())
		}
	}
}

// TestRefusedCondition requests without its validators what a server refuses with them.
func TestRefusedCondition(t *testing.T) {
	refuses := func(status string) badserver.Handler {
		return func(c *badserver.Conn, r *http.Request) bool {
			if r.Header.Get("If-None-Match")+r.Header.Get("If-Modified-Since") != "" {
				c.Answer(status, nil)
				return true
			}
			c.Answer("200 OK", []byte(badserver.Page), "Content-Type: text/html", `ETag: "b"`)
			return true
		}
	}
	const gap = 5 * time.Second
	tests := []struct {
		name    string
		path    string
		req     Request
		status  int
		refused bool
		waits   pauses
	}{
		{"412", "/412", Request{ETag: `"a"`, Gap: gap, NoRetry: true}, 200, true, pauses{gap}},
		{"412 to a date", "/412", Request{LastModified: "Mon, 02 Nov 2026 10:00:00 GMT"}, 200, true, pauses{0}},
		{"412 to a plain request", "/always", Request{}, 412, false, nil},
		{"412 in any case", "/always", Request{ETag: `"a"`}, 412, true, pauses{0}},
		{"500", "/500", Request{ETag: `"a"`}, 200, false, pauses{500 * time.Millisecond}},
		{"500, caller retries", "/500", Request{ETag: `"a"`, NoRetry: true}, 500, false, nil},
	}
	s := badserver.Start(t)
	s.Handle("/412", refuses("412 Precondition Failed"))
	s.Handle("/500", refuses("500 Internal Server Error"))
	s.Handle("/always", func(c *badserver.Conn, _ *http.Request) bool {
		c.Answer("412 Precondition Failed", nil)
		return true
	})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p pauses
			o := Options{
				Reach:   reach.Policy{All: true},
				Retries: 3,
				Sleep:   p.sleep,
				Rand:    func() float64 { return 0.5 },
			}
			tt.req.URL = mustURL(t, s.URL+tt.path)
			res, err := newClient(t, o).Do(t.Context(), tt.req, new(memory))
			if err != nil || res.Status != tt.status || res.Unconditional != tt.refused {
				t.Errorf("status %d, refused %v, %v", res.Status, res.Unconditional, err)
			}
			if !slices.Equal(p, tt.waits) {
				t.Errorf("waited %v, want %v", p, tt.waits)
			}
		})
	}
}

// TestErrorsToConditions: a server that answers an error to conditional requests is asked without, and after
// two such responses no longer conditionally. One that answers errors to everything is not asked twice for
// all.
func TestErrorsToConditions(t *testing.T) {
	s := badserver.Start(t)
	var conditional, plain atomic.Int64
	serve := func(of, without string) badserver.Handler {
		return func(c *badserver.Conn, r *http.Request) bool {
			if r.Header.Get("If-None-Match") != "" {
				conditional.Add(1)
				c.Answer(of, nil)
				return true
			}
			plain.Add(1)
			c.Answer(without, []byte(badserver.Page), "Content-Type: text/html", `ETag: "a"`)
			return true
		}
	}
	s.Handle("/cannot", serve("500 Internal Server Error", "200 OK"))
	s.Handle("/gateway", serve("502 Bad Gateway", "200 OK"))
	s.Handle("/down", serve("500 Internal Server Error", "500 Internal Server Error"))
	s.Handle("/busy", serve("503 Service Unavailable", "200 OK"))
	s.Handle("/fine", serve("304 Not Modified", "200 OK"))
	never := func(*Result, error) bool { return false }
	tests := []struct {
		name               string
		paths              []string // each asked once, with a condition
		statuses           []int
		conditional, plain int64
	}{
		{"cannot do with conditions", []string{"/cannot", "/gateway", "/cannot", "/gateway"},
			[]int{200, 200, 200, 200}, 2, 4},
		{"fails now and then", []string{"/cannot", "/fine", "/cannot", "/fine", "/cannot", "/fine"},
			[]int{200, 304, 200, 304, 200, 304}, 6, 3},
		{"is down", []string{"/down", "/down", "/down", "/down"}, []int{500, 500, 500, 500}, 4, 2},
		{"is busy", []string{"/busy", "/busy"}, []int{503, 503}, 2, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conditional.Store(0)
			plain.Store(0)
			var p pauses
			c := newClient(t, Options{Reach: reach.Policy{All: true}, Retries: 3, Sleep: p.sleep})
			for i, path := range tt.paths {
				req := Request{URL: mustURL(t, s.URL+path), ETag: `"a"`, Again: never}
				res, err := c.Do(t.Context(), req, new(memory))
				if err != nil || res.Status != tt.statuses[i] || res.Unconditional {
					t.Errorf("%s: status %d, %v", path, res.Status, err)
				}
			}
			if conditional.Load() != tt.conditional || plain.Load() != tt.plain {
				t.Errorf("%d conditional requests, %d others", conditional.Load(), plain.Load())
			}
		})
	}
}
