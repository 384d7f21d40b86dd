// SPDX-License-Identifier: Apache-2.0

package mirrortest

import (
	"context"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"mirrord/fetch"
	"mirrord/fetch/robots"
	"mirrord/site"
)

// Fake asks a Web without any network, so that a run fits into a synctest bubble and its order is the same
// every time. It is a mirror.Fetcher and a mirror.Robots.
type Fake struct {
	Web     *Web
	Handler http.Handler  // answers instead of Web
	Takes   time.Duration // of each exchange, in the time of the bubble

	mu     sync.Mutex
	active map[string]int
	Most   map[string]int // most exchanges at a time, by host
	rules  map[string]*fetch.Robots
	asking map[string]chan struct{}
}

// exchange makes one request.
func (f *Fake) exchange(ctx context.Context, u site.URL, header http.Header) (*http.Response, error) {
	f.mu.Lock()
	if f.active == nil {
		f.active, f.Most = map[string]int{}, map[string]int{}
	}
	host := u.Hostname()
	f.active[host]++
	f.Most[host] = max(f.Most[host], f.active[host])
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.active[host]--
		f.mu.Unlock()
	}()
	if ctx.Err() != nil {
		return nil, &fetch.Error{URL: u, Class: fetch.ErrCanceled, Err: context.Cause(ctx)}
	}
	if f.Takes > 0 {
		timer := time.NewTimer(f.Takes)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, &fetch.Error{URL: u, Class: fetch.ErrCanceled, Err: context.Cause(ctx)}
		}
	}
	r := httptest.NewRequest(http.MethodGet, u.String(), nil)
	r.Header = header
	rec := httptest.NewRecorder()
	h := f.Handler
	if h == nil {
		h = f.Web
	}
	if broken := serve(h, rec, r); broken {
		return nil, &fetch.Error{URL: u, Class: fetch.ErrReset, Err: io.ErrUnexpectedEOF}
	}
	return rec.Result(), nil
}

// serve reports whether the handler hung up.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (broken bool) {
	defer func() {
		if v := recover(); v != nil {
			if v != http.ErrAbortHandler {
				panic(v)
			}
			broken = true
		}
	}()
	h.ServeHTTP(w, r)
	return false
}

// Do is mirror.Fetcher.
func (f *Fake) Do(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	start := time.Now()
	header := http.Header{}
	if req.ETag != "" {
		header.Set("If-None-Match", req.ETag)
	}
	if req.LastModified != "" {
		header.Set("If-Modified-Since", req.LastModified)
	}
	res := &fetch.Result{}
	resp, err := f.exchange(ctx, req.URL, header)
	if err != nil {
		return res, err
	}
	res.Status, res.Header, res.Length = resp.StatusCode, resp.Header, -1
	res.ETag, res.LastModified = resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")
	if t, params, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil {
		res.MIME, res.Charset = t, strings.ToLower(params["charset"])
	}
	res.NotModified = res.Status == http.StatusNotModified && len(header) > 0
	if loc := resp.Header.Get("Location"); loc != "" {
		res.Location, res.Fragment, res.LocationErr = req.URL.ResolveLocation(loc)
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		res.RetryAfter, res.HasRetryAfter = time.Duration(s)*time.Second, true
	}
	if res.Status == http.StatusOK {
		w, err := sink.Begin(&res.Head)
		if err != nil {
			return res, &fetch.Error{URL: req.URL, Class: fetch.ErrSink, Err: err}
		}
		n, err := io.Copy(w, resp.Body)
		if err != nil {
			return res, &fetch.Error{URL: req.URL, Class: fetch.ErrSink, Err: err}
		}
		res.Kept, res.Body, res.Wire = true, n, n
	}
	res.ToHeader = time.Since(start)
	return res, nil
}

// Rules is mirror.Robots. Each origin gets one request.
func (f *Fake) Rules(ctx context.Context, u site.URL) (*fetch.Robots, error) {
	origin := u.Origin()
	f.mu.Lock()
	if f.rules == nil {
		f.rules, f.asking = map[string]*fetch.Robots{}, map[string]chan struct{}{}
	}
	if r := f.rules[origin]; r != nil {
		f.mu.Unlock()
		return r, nil
	}
	if c := f.asking[origin]; c != nil {
		f.mu.Unlock()
		select {
		case <-c:
			return f.Rules(ctx, u)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	done := make(chan struct{})
	f.asking[origin] = done
	f.mu.Unlock()
	r := &fetch.Robots{Origin: origin, Fetched: time.Now()}
	resp, err := f.exchange(ctx, site.Canonical(origin+"/robots.txt"), http.Header{})
	if err != nil {
		r.Err, r.File = err, robots.DisallowAll(err.Error())
	} else {
		body, _ := io.ReadAll(resp.Body)
		r.Status, r.File = resp.StatusCode, robots.FromStatus(resp.StatusCode, body)
	}
	r.Rules = r.File.Agent("mirrord")
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.asking, origin)
	close(done)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f.rules[origin] = r
	return r, nil
}

// Forget makes the next run ask for robots.txt again.
func (f *Fake) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
}

// Eager is a mirror.Hosts that never makes anybody wait.
type Eager struct{}

// Acquire gives the turn at once.
func (Eager) Acquire(string, fetch.Politeness, time.Time) (bool, time.Time) { return true, time.Time{} }

// Release does nothing.
func (Eager) Release(string, fetch.Politeness, time.Time, fetch.Observation) {}

// AcquireAnyway always gives a turn.
func (Eager) AcquireAnyway(string, fetch.Politeness, time.Time) (bool, time.Time) {
	return true, time.Time{}
}

// Lift does nothing.
func (Eager) Lift(string) {}

// SetCrawlDelay does nothing.
func (Eager) SetCrawlDelay(string, time.Duration) {}

// Defer does nothing.
func (Eager) Defer(string, time.Time, time.Time) {}

// Gap returns 0.
func (Eager) Gap(string, fetch.Politeness) time.Duration { return 0 }

// Held is by nothing.
func (Eager) Held(string, fetch.Politeness, time.Time) fetch.Hold { return fetch.Hold{} }
