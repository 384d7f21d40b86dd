// SPDX-License-Identifier: Apache-2.0

// Package sourcetest has the suite that every source.Fetcher passes, regardless of its URL scheme.
package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/mirror/source"
	"mirrord/site"
)

// openFetcher returns a fetcher and the URL at which it finds what the handler serves.
type openFetcher func(t *testing.T, h http.Handler) (source.Fetcher, site.URL)

// TestFetcher holds an implementation of source.Fetcher to the contract of its users. open returns one, and
// the base URL, with a path of "/", under which it finds what the handler serves. Requests of the suite are
// not to be retried.
func TestFetcher(t *testing.T, open func(t *testing.T, h http.Handler) (source.Fetcher, site.URL)) {
	for _, tc := range []struct {
		name string
		test func(t *testing.T, open openFetcher)
	}{
		{"body", testBody},
		{"not modified", testNotModified},
		{"no body", testNoBody},
		{"redirect", testRedirect},
		{"retry after", testRetryAfter},
		{"sink", testSink},
		{"broken", testBroken},
		{"canceled", testCanceled},
		{"many", testMany},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, open) })
	}
}

// The page that the suite serves as /page.
const (
	pageBody = "<title>A page</title><p>The text of a page."
	pageTag  = `"v1"`
	pageTime = "Mon, 02 Jan 2006 15:04:05 GMT"
)

// serve is what the fetchers of the suite request.
func serve(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/page":
		w.Header().Set("ETag", pageTag)
		w.Header().Set("Last-Modified", pageTime)
		if r.Header.Get("If-None-Match") == pageTag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		io.WriteString(w, pageBody)
	case "/moved":
		w.Header().Set("Location", "page#part")
		w.WriteHeader(http.StatusMovedPermanently)
	case "/busy":
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusServiceUnavailable)
	case "/broken":
		panic(http.ErrAbortHandler)
	default:
		if n, ok := strings.CutPrefix(r.URL.Path, "/n/"); ok {
			fmt.Fprintf(w, "number %s", n)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "not here")
	}
}

// memorySink is a Sink that keeps a body; with fails it keeps none.
type memorySink struct {
	bytes.Buffer
	begun int
	head  fetch.Head
	fails error
}

// Begin is fetch.Sink.
func (s *memorySink) Begin(h *fetch.Head) (io.Writer, error) {
	s.begun++
	s.head = *h
	s.Reset()
	return &s.Buffer, s.fails
}

// get requests a path below the base URL.
func get(
	t *testing.T, f source.Fetcher, base site.URL, path string, sink fetch.Sink,
) (*fetch.Result, error) {
	t.Helper()
	return f.Do(t.Context(), fetch.Request{URL: below(t, base, path), NoRetry: true}, sink)
}

func below(t *testing.T, base site.URL, path string) site.URL {
	t.Helper()
	u, _, err := base.Resolve(path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A body goes to the sink after its head, and is complete when Do returns.
func testBody(t *testing.T, open openFetcher) {
	f, base := open(t, http.HandlerFunc(serve))
	var sink memorySink
	res, err := get(t, f, base, "page", &sink)
	if err != nil {
		t.Fatal(err)
	}
	if sink.String() != pageBody || sink.begun != 1 {
		t.Errorf("the sink began %d times and has %q", sink.begun, sink.String())
	}
	for _, h := range []fetch.Head{sink.head, res.Head} {
		if h.Status != 200 || h.MIME != "text/html" || h.Charset != "utf-8" ||
			h.ETag != pageTag || h.LastModified != pageTime {
			t.Errorf("head: %+v", h)
		}
	}
	if !res.Kept || res.NotModified || res.Body != int64(len(pageBody)) || res.Wire <= 0 {
		t.Errorf("result: kept %v, not modified %v, %d bytes, %d on the wire",
			res.Kept, res.NotModified, res.Body, res.Wire)
	}
}

// Unchanged resources have no body.
func testNotModified(t *testing.T, open openFetcher) {
	f, base := open(t, http.HandlerFunc(serve))
	for tag, want := range map[string]bool{pageTag: true, `"v0"`: false} {
		var sink memorySink
		req := fetch.Request{URL: below(t, base, "page"), ETag: tag, NoRetry: true}
		res, err := f.Do(t.Context(), req, &sink)
		if err != nil {
			t.Fatal(err)
		}
		if res.NotModified != want || res.Kept == want || (sink.begun == 0) != want {
			t.Errorf("with ETag %s: not modified %v, kept %v, begun %d", tag, res.NotModified, res.Kept, sink.begun)
		}
	}
}

// An answer of another status is a result, not an error, and its body is not kept.
func testNoBody(t *testing.T, open openFetcher) {
	f, base := open(t, http.HandlerFunc(serve))
	var sink memorySink
	res, err := get(t, f, base, "missing", &sink)
	if err != nil || res.Status != http.StatusNotFound || res.Kept || sink.begun != 0 {
		t.Errorf("%+v, %v; begun %d", res, err, sink.begun)
	}
}

// A redirect is not followed; where it leads is resolved.
func testRedirect(t *testing.T, open openFetcher) {
	f, base := open(t, http.HandlerFunc(serve))
	var sink memorySink
	res, err := get(t, f, base, "moved", &sink)
	if err != nil || res.Status != http.StatusMovedPermanently || res.Kept || sink.begun != 0 {
		t.Fatalf("%+v, %v; begun %d", res, err, sink.begun)
	}
	if want := below(t, base, "page"); res.Location != want || res.Fragment != "part" || res.LocationErr != nil {
		t.Errorf("it redirects to %s, %q, %v; want %s", res.Location, res.Fragment, res.LocationErr, want)
	}
}

// A host that says how long to wait is understood.
func testRetryAfter(t *testing.T, open openFetcher) {
	f, base := open(t, http.HandlerFunc(serve))
	res, err := get(t, f, base, "busy", new(memorySink))
	if err != nil || res.Status != 503 || !res.HasRetryAfter || res.RetryAfter != 7*time.Second {
		t.Errorf("%+v, %v", res, err)
	}
}

// A body that its receiver does not take is an error that says so and names the URL.
func testSink(t *testing.T, open openFetcher) {
	f, base := open(t, http.HandlerFunc(serve))
	full := errors.New("the disk is full")
	res, err := get(t, f, base, "page", &memorySink{fails: full})
	wantError(t, res, err, fetch.ErrSink, below(t, base, "page"))
	if !errors.Is(err, full) {
		t.Errorf("the cause is lost: %v", err)
	}
}

// A connection that breaks before the answer is an error that may be tried again.
func testBroken(t *testing.T, open openFetcher) {
	f, base := open(t, http.HandlerFunc(serve))
	res, err := get(t, f, base, "broken", new(memorySink))
	wantError(t, res, err, fetch.ErrReset, below(t, base, "broken"))
	if !fetch.Transient(err) {
		t.Errorf("it is not to be tried again: %v", err)
	}
}

// A caller that gives up gets an error that says so.
func testCanceled(t *testing.T, open openFetcher) {
	f, base := open(t, http.HandlerFunc(serve))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req := fetch.Request{URL: below(t, base, "page"), NoRetry: true}
	res, err := f.Do(ctx, req, new(memorySink))
	wantError(t, res, err, fetch.ErrCanceled, req.URL)
}

// wantError says that an exchange must have failed: with a result all the same, of a class, for a URL.
func wantError(t *testing.T, res *fetch.Result, err, class error, u site.URL) {
	t.Helper()
	var e *fetch.Error
	if !errors.As(err, &e) || !errors.Is(err, class) || e.URL != u {
		t.Errorf("%v, want %v of %s", err, class, u)
	}
	if res == nil {
		t.Fatal("there is no result")
	}
	if res.Kept {
		t.Error("a body was kept")
	}
}

// Many requests at a time do not disturb one another.
func testMany(t *testing.T, open openFetcher) {
	f, base := open(t, http.HandlerFunc(serve))
	var all sync.WaitGroup
	for n := range 50 {
		u := below(t, base, fmt.Sprint("n/", n))
		all.Go(func() {
			var sink memorySink
			res, err := f.Do(t.Context(), fetch.Request{URL: u, NoRetry: true}, &sink)
			if want := fmt.Sprint("number ", n); err != nil || !res.Kept || sink.String() != want {
				t.Errorf("%s: %q, %v", u, sink.String(), err)
			}
		})
	}
	all.Wait()
}
