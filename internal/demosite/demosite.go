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

// Changed returns the sorted paths whose bytes are new in a version against the one before, and those that
// are gone.
func (h *Handler) Changed(version int) (changed, gone []string) {
	now := h.versions[version-1]
	for path, f := range now {
		if f.status == 0 && f.changed == version {
			changed = append(changed, path)
		}
	}
	if version > 1 {
		for path, f := range h.versions[version-2] {
			if after := now[path]; f.status == 0 && (after == nil || after.status != 0) {
				gone = append(gone, path)
			}
		}
	}
	slices.Sort(changed)
	slices.Sort(gone)
	return changed, gone
}

// ServeHTTP answers with ETag, Last-Modified and conditional requests (RFC 9110 13).
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	version := h.version
	h.mu.Unlock()
	cond := r.Header.Get("If-None-Match") != "" || r.Header.Get("If-Modified-Since") != ""
	status, n := h.serve(w, r, version)
	h.mu.Lock()
	h.log = append(h.log, Request{
		Method:      r.Method,
		Path:        r.URL.RequestURI(),
		Status:      status,
		Conditional: cond,
		Bytes:       n,
	})
	h.mu.Unlock()
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request, version int) (status, n int) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return reply(w, r, http.StatusMethodNotAllowed, "text/plain; charset=utf-8", []byte("only GET and HEAD\n"))
	}
	if strings.HasPrefix(r.URL.Path, "/cgi-bin/") || r.URL.Path == "/sky/" {
		return reply(w, r, http.StatusOK, "text/html; charset=utf-8", program(r.URL.Path, r.URL.RawQuery))
	}
	f := h.versions[version-1][r.URL.Path]
	if f == nil {
		return reply(w, r, http.StatusNotFound, "text/html; charset=utf-8", []byte(notFound))
	}
	hd := w.Header()
	if f.location != "" {
		hd.Set("Location", f.location)
		return reply(w, r, f.status, "text/html; charset=utf-8",
			[]byte("<!DOCTYPE html><title>Moved</title><p><a href=\""+f.location+"\">Moved here</a>.\n"))
	}
	modified := Published(f.changed)
	hd.Set("ETag", f.etag)
	hd.Set("Last-Modified", modified.Format(http.TimeFormat))
	hd.Set("Cache-Control", "max-age=0")
	if r.URL.Path == "/card/" {
		hd.Set("Link", "<link-header.css>; rel=preload; as=style")
	}
	if fresh(r, f.etag, modified) {
		w.WriteHeader(http.StatusNotModified)
		return http.StatusNotModified, 0
	}
	body := f.body
	if strings.Contains(string(body), origin) {
		scheme := "http://"
		if r.TLS != nil {
			scheme = "https://"
		}
		body = []byte(strings.ReplaceAll(string(body), origin, scheme+r.Host))
	}
	return reply(w, r, http.StatusOK, f.mime, body)
}

func reply(w http.ResponseWriter, r *http.Request, status int, mime string, body []byte) (int, int) {
	w.Header().Set("Content-Type", mime)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return status, 0
	}
	n, _ := w.Write(body) // the client may go away; the log shows how far it came
	return status, n
}

// fresh reports whether the client's copy is the present one; If-None-Match wins (RFC 9110 13.2.2).
func fresh(r *http.Request, etag string, modified time.Time) bool {
	if tags := r.Header.Values("If-None-Match"); len(tags) > 0 {
		for tag := range strings.SplitSeq(strings.Join(tags, ","), ",") {
			if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == etag || tag == "*" {
				return true
			}
		}
		return false
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	return err == nil && !modified.After(since)
}
