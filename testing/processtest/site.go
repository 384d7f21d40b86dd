// SPDX-License-Identifier: Apache-2.0

package processtest

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"mirrord/fetch"
	"mirrord/fetch/robots"
	"mirrord/site"
)

// SiteReply is how the site answers a request of a URL.
type SiteReply struct {
	Status int // 0: 200
	MIME   string
	Body   string
	To     string // Location
	Cookie bool   // it sets a cookie that is kept
	Wait   time.Duration
	Err    error // class of the failure instead of an answer
}

// Site answers from a table. It is a source.Fetcher and a source.Robots that forbids what Forbids lists. It
// is safe for concurrent use while the table stays.
type Site struct {
	Answers map[string]SiteReply // by URL
	Other   *SiteReply           // to other URLs; nil: 404
	Forbids string               // lines of robots.txt

	mu       sync.Mutex
	requests []string
}

// Requests returns the URLs that were requested, and begins anew.
func (s *Site) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.requests = nil }()
	return s.requests
}

// Rules is that of source.Robots.
func (s *Site) Rules(context.Context, site.URL) (*fetch.Robots, error) {
	f := robots.Parse([]byte("User-agent: *\n" + s.Forbids))
	return &fetch.Robots{File: f, Rules: f.Agent("mirrord")}, nil
}

// Do is that of source.Fetcher.
func (s *Site) Do(_ context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	s.mu.Lock()
	s.requests = append(s.requests, req.URL.String())
	a, ok := s.Answers[req.URL.String()]
	s.mu.Unlock()
	if !ok && s.Other != nil {
		a, ok = *s.Other, true
	}
	res := new(fetch.Result)
	res.Sent = 1
	switch {
	case !ok:
		res.Status = http.StatusNotFound
		return res, nil
	case a.Err != nil:
		return res, &fetch.Error{URL: req.URL, Class: a.Err, Err: a.Err}
	}
	res.Status, res.MIME, res.Length, res.Header = max(a.Status, http.StatusOK), a.MIME, -1, http.Header{}
	res.SetsCookie, res.RetryAfter, res.HasRetryAfter = a.Cookie, a.Wait, a.Wait > 0
	if a.To != "" {
		res.Location, res.Fragment, res.LocationErr = req.URL.ResolveLocation(a.To)
	}
	if res.Status != http.StatusOK {
		return res, nil
	}
	res.LastModified = "Sun, 01 Nov 2026 00:00:00 GMT" // files, which are not requested twice
	w, err := sink.Begin(&res.Head)
	if err == nil {
		_, err = io.WriteString(w, a.Body)
	}
	if err != nil {
		return res, &fetch.Error{URL: req.URL, Class: fetch.ErrSink, Err: err}
	}
	res.Kept, res.Body, res.Wire = true, int64(len(a.Body)), int64(len(a.Body))
	return res, nil
}
