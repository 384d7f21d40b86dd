// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"mirrord/mirror/render"
)

// crashSite is a generated site of a few hundred pages with all that a run meets: style sheets, images,
// redirects, a nested sitemap, pages that are gone. Every page carries the site's version.
type crashSite struct {
	srv   *httptest.Server
	pages int
	late  bool // every page links to one that is missing in the first version
	large int  // one page of so many is too large to render in memory; 0: none

	mu      sync.Mutex
	version int
	delay   time.Duration
	log     []string // paths in the order in which they were asked
	served  chan struct{}
}

func newCrashSite(t *testing.T, pages int) *crashSite {
	return serveCrashSite(t, &crashSite{pages: pages})
}

func serveCrashSite(t *testing.T, s *crashSite) *crashSite {
	s.version, s.served = 1, make(chan struct{}, 1<<20)
	s.srv = httptest.NewServer(s)
	t.Cleanup(s.srv.Close)
	return s
}

func (s *crashSite) set(version int, delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.delay = version, delay
}

// asked returns the paths asked since the last call.
func (s *crashSite) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.log
	s.log = nil
	for len(s.served) > 0 {
		<-s.served
	}
	return l
}

// changes reports whether a page's text differs between two versions: one page in seven does.
func (s *crashSite) mark(n, version int) int {
	if n == 0 || n%7 == version%7 {
		return version
	}
	for v := version - 1; v > 0; v-- {
		if n%7 == v%7 {
			return v
		}
	}
	return 0
}

func (s *crashSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	version, delay := s.version, s.delay
	s.log = append(s.log, r.URL.Path)
	s.mu.Unlock()
	defer func() { s.served <- struct{}{} }()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return
		}
	}
	body, mime := s.body(w, "http://"+r.Host, r.URL.Path, version)
	if body == "" {
		return
	}
	etag := fmt.Sprintf(`"%x"`, len(body)*1000+s.etag(r.URL.Path, version))
	w.Header().Set("ETag", etag)
	w.Header().Set("Content-Type", mime)
	w.Header().Set("Last-Modified",
		time.Unix(1e9+int64(s.etag(r.URL.Path, version))*3600, 0).UTC().Format(http.TimeFormat))
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	fmt.Fprint(w, body)
}

func (s *crashSite) etag(path string, version int) int {
	var n int
	if _, err := fmt.Sscanf(path, "/d%d/p%d.html", new(int), &n); err == nil {
		return s.mark(n, version)
	}
	if path == "/" || path == "/maponly.html" {
		return version
	}
	return 1
}

// body returns what lies at a path; "" after it has answered itself.
func (s *crashSite) body(w http.ResponseWriter, base, path string, version int) (body, mime string) {
	switch {
	case path == "/robots.txt":
		return "User-agent: *\nDisallow: /private/\nSitemap: " + base + "/maps/index.xml\n", "text/plain"
	case path == "/maps/index.xml":
		return "<sitemapindex><sitemap><loc>" + base + "/maps/one.xml</loc></sitemap></sitemapindex>",
			"application/xml"
	case path == "/maps/one.xml":
		return "<urlset><url><loc>" + base + "/maponly.html</loc></url></urlset>", "application/xml"
	case path == "/maponly.html":
		return fmt.Sprintf("<title>map %d</title><p>only the sitemap leads here <a href='/'>home</a>", version),
			"text/html"
	case path == "/style.css":
		return "body{background:url(img/1.png)} @import 'more.css';", "text/css"
	case path == "/more.css":
		return "p{background:url('/img/2.png')}", "text/css"
	case s.late && path == "/late.html" && version > 1:
		return "<title>late</title><p>it was missing", "text/html"
	case path == "/":
		return s.page(0, version), "text/html; charset=utf-8"
	case strings.HasPrefix(path, "/moved/"):
		w.Header().Set("Location", strings.Replace(path, "/moved/", "/d1/", 1))
		w.WriteHeader(http.StatusMovedPermanently)
		return "", ""
	}
	var d, n int
	if c, _ := fmt.Sscanf(path, "/d%d/p%d.html", &d, &n); c == 2 && n > 0 && n < s.pages && d == n%20 &&
		path == s.path(n) {
		if n%97 == 5 && version > 1 && version%2 == 0 { // some pages come and go
			http.NotFound(w, nil)
			return "", ""
		}
		return s.page(n, version), "text/html; charset=utf-8"
	}
	if c, _ := fmt.Sscanf(path, "/img/%d.png", &n); c == 1 && n < s.pages {
		return fmt.Sprintf("\x89PNG\r\n\x1a\n%d%s", n, strings.Repeat("\x00\x01image", 200+n)), "image/png"
	}
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusNotFound)
	return "", ""
}

func (s *crashSite) path(n int) string {
	if n == 0 {
		return "/"
	}
	return fmt.Sprintf("/d%d/p%d.html", n%20, n)
}

// page n links to the pages of a binary tree below it, to a few others, an image (some in a script), a style
// sheet, a redirect and outside.
func (s *crashSite) page(n, version int) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"<!DOCTYPE html>\n<html><head><title>page %d</title><link rel=stylesheet "+
			"href=/style.css></head><body><h1>page %d</h1>\n<p id=v>version=%d.</p>\n", n, n, s.mark(n, version))
	link := func(to string) { fmt.Fprintf(&b, "<a href=\"%s\">%s</a>\n", to, to) }
	for _, c := range []int{2*n + 1, 2*n + 2, (n*7 + 3) % s.pages} {
		if c < s.pages {
			link(s.path(c))
		}
	}
	if n%20 == 1 {
		link(fmt.Sprintf("/moved/p%d.html", n))
	}
	link("http://outside.invalid/x")
	link("/private/secret.html")
	link("nowhere.html")
	if s.late {
		link("/late.html")
	}
	if n%3 == 0 {
		fmt.Fprintf(&b, "<img src='/img/%d.png' alt>\n", n)
	}
	if n%3 == 1 { // some images are named by scripts only, and some of their strings name nothing
		fmt.Fprintf(&b, "<script>show('/img/%d.png', 'none/%d.json')</script>\n", n, n%10)
	}
	times := 20 + n%50
	if s.large > 0 && n%s.large == 7 {
		times += render.SmallDocument / 40
	}
	fmt.Fprintf(&b, "<p>%s</p></body></html>\n",
		strings.Repeat("some text of the page that is worth compressing. ", times))
	return b.String()
}
