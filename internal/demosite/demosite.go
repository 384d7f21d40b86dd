// SPDX-License-Identifier: Apache-2.0

// Package demosite is a small web site of ours that changes from version to version: the observatory of an
// invented headland.
//
// It is for mirrord demo and for tests: no network is needed to watch a mirror's whole life. Its sections
// change at different rates (news with every version, the almanac's past never, the instrument pages now and
// then), one directory is renamed, pages are deleted, and it refers to its own parts in every way a web page
// can (see /card/). It is deterministic: the same build serves the same bytes. All links are to itself, but
// for a few to hosts below .example, which do not exist.
package demosite

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// origin is the placeholder in bodies for the scheme and host that requests to the site name.
const origin = "@@ORIGIN@@"

// Entry is the path of the entry point.
const Entry = "/"

// Versions returns how many versions the site has; they are numbered from 1.
func Versions() int { return len(timeline()) }

// Published returns when a version was published: a week apart.
func Published(version int) time.Time {
	return time.Date(2026, 1, 5, 6, 0, 0, 0, time.UTC).AddDate(0, 0, 7*(version-1))
}

// Changes says in one line what a version changed.
func Changes(version int) string {
	if version < 1 || version > Versions() {
		return ""
	}
	return timeline()[version-1].changes
}

// file is what one path yields in one version.
type file struct {
	status   int // 0 is 200
	mime     string
	location string // of a redirect
	body     []byte
	etag     string
	changed  int // the version in which these bytes appeared
}

func newFile(name string, body []byte, version int) *file {
	sum := sha256.Sum256(body)
	return &file{
		mime:    mimeOf(name),
		body:    body,
		etag:    fmt.Sprintf("%q", hex.EncodeToString(sum[:8])),
		changed: version,
	}
}

// Request is one line of the request log.
type Request struct {
	Method      string
	Path        string // with query
	Status      int
	Conditional bool // If-None-Match or If-Modified-Since was sent
	Bytes       int  // of the body
}

// Handler serves the site. It is safe for concurrent use.
type Handler struct {
	versions []map[string]*file // immutable

	mu      sync.Mutex
	version int
	log     []Request
}

// New returns the site at version 1.
func New() *Handler { return &Handler{version: 1, versions: build()} }

// SetVersion moves the site to version n; a number out of range means the nearest version.
func (h *Handler) SetVersion(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version = min(max(n, 1), len(h.versions))
}

// Requests returns the log since the last call and starts a new one.
func (h *Handler) Requests() []Request {
	h.mu.Lock()
	defer h.mu.Unlock()
	log := h.log
	h.log = nil
	return log
}

// Paths returns the sorted paths that answer 200 in a version, programs left out.
func (h *Handler) Paths(version int) []string {
	var out []string
	for path, f := range h.versions[version-1] {
		if f.status == 0 {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// ServeHTTP answers with ETag, Last-Modified and conditional requests (RFC 9110 13).
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	version := h.version
	h.mu.Unlock()
	cond := r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Modified-Since") != ""
	sent := &counted{ResponseWriter: w}
	h.serve(sent, r, version)
	h.mu.Lock()
	h.log = append(h.log, Request{
		Method:      r.Method,
		Path:        r.URL.RequestURI(),
		Status:      sent.status,
		Conditional: cond,
		Bytes:       sent.n,
	})
	h.mu.Unlock()
}

// counted notes what was answered, as far as the client took it.
type counted struct {
	http.ResponseWriter
	status, n int
}

func (c *counted) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.n += n
	return n, err
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, version int) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		reply(w, r, http.StatusMethodNotAllowed, "text/plain; charset=utf-8", []byte("only GET and HEAD\n"))
		return
	}
	if strings.HasPrefix(r.URL.Path, "/cgi-bin/") || r.URL.Path == "/sky/" {
		reply(w, r, http.StatusOK, "text/html; charset=utf-8", program(r.URL.Path, r.URL.RawQuery))
		return
	}
	f := h.versions[version-1][r.URL.Path]
	if f == nil {
		reply(w, r, http.StatusNotFound, "text/html; charset=utf-8", []byte(notFound))
		return
	}
	hd := w.Header()
	if f.location != "" {
		hd.Set("Location", f.location)
		reply(w, r, f.status, "text/html; charset=utf-8",
			[]byte("<!DOCTYPE html><title>Moved</title><p><a href=\""+f.location+"\">Moved here</a>.\n"))
		return
	}
	hd.Set("ETag", f.etag)
	hd.Set("Content-Type", f.mime)
	hd.Set("Cache-Control", "max-age=0")
	if r.URL.Path == "/card/" {
		hd.Set("Link", "<link-header.css>; rel=preload; as=style")
	}
	body := f.body
	if strings.Contains(string(body), origin) {
		scheme := "http://"
		if r.TLS != nil {
			scheme = "https://"
		}
		body = []byte(strings.ReplaceAll(string(body), origin, scheme+r.Host))
	}
	http.ServeContent(w, r, "", Published(f.changed), bytes.NewReader(body))
}

func reply(w http.ResponseWriter, r *http.Request, status int, mime string, body []byte) {
	w.Header().Set("Content-Type", mime)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may go away; the log shows how far it came
	}
}
