// SPDX-License-Identifier: Apache-2.0

// Package mirrortest is what tests of whole runs are made of: a web of several hosts under one loopback
// server, the runner of a job on a temporary state that checks every invariant after each run, and scenarios
// as text archives.
//
// The server is reached as a proxy, so that hosts have names of their own and a run asks for the same URLs
// every time. Hosts that the web does not have answer as names that do not resolve: the proxy hangs up.
package mirrortest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Page is what a URL answers.
type Page struct {
	Status int               // 0 is 200
	Header map[string]string // over what Serve adds: Content-Type by the extension, ETag
	Body   string
	NoTag  bool             // no ETag
	Handle http.HandlerFunc // answers instead of all this
}

// HTML is a page with a title and a body.
func HTML(title, body string) Page {
	return Page{
		Header: map[string]string{"Content-Type": "text/html; charset=utf-8"},
		Body:   "<!DOCTYPE html>\n<title>" + title + "</title>\n" + body + "\n",
	}
}

// Redirect redirects to another address.
func Redirect(to string) Page {
	return Page{Status: http.StatusFound, Header: map[string]string{"Location": to}}
}

// Status is an answer without a page.
func Status(code int) Page { return Page{Status: code} }

// Request is one line of the log.
type Request struct {
	URL         string
	Status      int
	Conditional bool // If-None-Match or If-Modified-Since was sent
	Header      http.Header
	At          time.Time
}

// Web is a set of hosts. It is safe for concurrent use.
type Web struct {
	URL string // of the server; also the URL of the proxy

	mu    sync.Mutex
	pages map[string]Page // by URL; "*" matches last
	log   []Request
	hook  func(*http.Request)
}

// NewWeb returns an empty web without a server, for use with a Fake.
func NewWeb() *Web { return &Web{pages: map[string]Page{}} }

// Start serves an empty web until the test ends.
func Start(t testing.TB) *Web {
	t.Helper()
	w := NewWeb()
	s := httptest.NewServer(w)
	t.Cleanup(s.Close)
	w.URL = s.URL
	return w
}

// Set makes url answer p. "*" answers what nothing else does.
func (w *Web) Set(url string, p Page) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[url] = p
}

// Page returns what url answers.
func (w *Web) Page(url string) Page {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pages[url]
}

// SetAll sets pages below an origin, such as "http://www.example.org".
func (w *Web) SetAll(origin string, pages map[string]Page) {
	for p, page := range pages {
		w.Set(origin+p, page)
	}
}

// Remove makes url answer 404 again.
func (w *Web) Remove(url string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.pages, url)
}

// Hook calls f for every request before it is answered; nil for none.
func (w *Web) Hook(f func(*http.Request)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hook = f
}

// Requests returns the log since the last call, in the order in which the answers began.
func (w *Web) Requests() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.log
	w.log = nil
	return log
}

// Asked returns how often each URL was requested since the last call of Requests or Asked.
func (w *Web) Asked() map[string]int {
	n := map[string]int{}
	for _, r := range w.Requests() {
		n[r.URL]++
	}
	return n
}

// has reports whether an origin has pages.
func (w *Web) has(origin string) bool {
	for u := range w.pages {
		if u == "*" || strings.HasPrefix(u, origin+"/") {
			return true
		}
	}
	return false
}

// statusWriter notes the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (s *statusWriter) WriteHeader(code int) {
	s.status = code
	s.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController find the connection.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// ServeHTTP answers with validators and conditional requests (RFC 9110 13). A host that the web does not have
// is hung up on.
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	origin := "http://" + cmp.Or(r.URL.Host, r.Host)
	w.mu.Lock()
	if secure := "https" + origin[4:]; (r.TLS != nil) && w.has(secure) { // of a Fake
		origin = secure
	}
	url := origin + r.URL.RequestURI()
	page, ok := w.pages[url]
	if !ok {
		page, ok = w.pages["*"]
	}
	hook, known := w.hook, w.has(origin)
	w.mu.Unlock()
	if hook != nil {
		hook(r)
	}
	s := &statusWriter{ResponseWriter: rw, status: http.StatusOK}
	if !known {
		w.note(url, 0, r)
		panic(http.ErrAbortHandler)
	}
	switch {
	case ok && page.Handle != nil:
		defer func() { w.note(url, s.status, r) }()
		page.Handle(s, r)
	case ok:
		page.serve(s, r)
		w.note(url, s.status, r)
	default:
		http.Error(s, "no such page", http.StatusNotFound)
		if r.URL.Path != "/favicon.ico" { // every run asks for it, and nearly no web has one
			w.note(url, s.status, r)
		}
	}
}

func (w *Web) note(url string, status int, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, Request{
		URL:         url,
		Status:      status,
		Header:      r.Header,
		At:          time.Now(),
		Conditional: r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Modified-Since") != "",
	})
}

// serve answers with the page as it stands.
func (p *Page) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if p.Status == 0 || p.Status == http.StatusOK {
		h.Set("Content-Type", TypeOf(r.URL.Path))
		if !p.NoTag {
			sum := sha256.Sum256([]byte(p.Body))
			h.Set("ETag", `"`+hex.EncodeToString(sum[:6])+`"`)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(p.Header)) {
		h.Set(k, p.Header[k])
	}
	if p.Status != 0 && p.Status != http.StatusOK {
		w.WriteHeader(p.Status)
		w.Write([]byte(p.Body))
		return
	}
	if fresh(h, r) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Write([]byte(p.Body))
}

// fresh reports whether the client's copy is good: If-None-Match goes before If-Modified-Since (RFC 9110
// 13.2.2).
func fresh(h http.Header, r *http.Request) bool {
	if tag := r.Header.Get("If-None-Match"); tag != "" {
		return h.Get("ETag") != "" && tag == h.Get("ETag")
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	if err != nil {
		return false
	}
	changed, err := http.ParseTime(h.Get("Last-Modified"))
	return err == nil && !changed.After(since)
}

// TypeOf is the Content-Type that the web gives a path.
func TypeOf(p string) string {
	switch path.Ext(p) {
	case ".css":
		return "text/css"
	case ".js":
		return "text/javascript"
	case ".png":
		return "image/png"
	case ".gif":
		return "image/gif"
	case ".jpg":
		return "image/jpeg"
	case ".svg":
		return "image/svg+xml"
	case ".xml":
		return "application/xml"
	case ".rss":
		return "application/rss+xml"
	case ".webmanifest":
		return "application/manifest+json"
	case ".json":
		return "application/json"
	case ".txt":
		return "text/plain"
	case ".pdf":
		return "application/pdf"
	case ".gz":
		return "application/gzip"
	case ".woff2":
		return "font/woff2"
	}
	return "text/html; charset=utf-8"
}

// Clear makes every host unknown.
func (w *Web) Clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.pages)
}

// Serve serves on a loopback address, so that a test has hosts that differ by more than their ports, until
// the test ends.
func Serve(t testing.TB, addr string, h http.Handler) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", addr+":0")
	if err != nil {
		t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// Words are n words that no other seed gives.
func Words(seed uint32, n int) string {
	var b strings.Builder
	for range n {
		seed = seed*1664525 + 1013904223
		b.WriteByte('w')
		for bit := 29; bit >= 14; bit -= 3 { // without digits, which do not count in the gist of a page
			b.WriteByte('a' + byte(seed>>bit&7))
		}
		b.WriteByte(' ')
	}
	return b.String()
}
