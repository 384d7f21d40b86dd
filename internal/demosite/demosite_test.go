// SPDX-License-Identifier: Apache-2.0

package demosite

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

func get(t *testing.T, srv *httptest.Server, path string, header ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequest("GET", srv.URL+(&url.URL{Path: path}).EscapedPath(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := srv.Client().Transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, body
}

// links returns what a page refers to by href, src, data, background and poster.
func links(t *testing.T, body []byte, contentType string) []string {
	t.Helper()
	r, err := charset.NewReader(bytes.NewReader(body), contentType)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := nethtml.Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for n := range doc.Descendants() {
		if n.Type != nethtml.ElementNode || n.Data == "base" {
			continue
		}
		for _, a := range n.Attr {
			switch a.Key {
			case "href", "src", "data", "background", "poster":
				out = append(out, a.Val)
			}
		}
	}
	return out
}

// Every page of every version refers only to existing files, but for the few dead ends it is meant to have.
func TestLinksLeadSomewhere(t *testing.T) {
	h := New()
	srv := httptest.NewServer(h)
	defer srv.Close()
	for v := 1; v <= Versions(); v++ {
		h.SetVersion(v)
		files := h.versions[v-1]
		for _, p := range h.Paths(v) {
			resp, body := get(t, srv, p)
			if resp.StatusCode != 200 || bytes.Contains(body, []byte(origin)) || len(body) == 0 {
				t.Fatalf("version %d: %s is %d with %d bytes", v, p, resp.StatusCode, len(body))
			}
			ct := resp.Header.Get("Content-Type")
			if !strings.HasPrefix(ct, "text/html") {
				continue
			}
			base, err := url.Parse(srv.URL + (&url.URL{Path: p}).EscapedPath())
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(body, []byte("<base href=\"/docs/\">")) {
				base.Path = "/docs/"
			}
			for _, l := range links(t, body, ct) {
				u, err := base.Parse(l)
				if err != nil {
					t.Errorf("version %d: %s: link %q: %v", v, p, l, err)
					continue
				}
				if "http://"+u.Host != srv.URL || strings.HasPrefix(u.Path, "/cgi-bin/") || u.Path == "/sky/" ||
					u.Path == "/card/missing.html" {
					continue
				}
				if files[u.Path] == nil {
					t.Errorf("version %d: %s links to %s, which is not there", v, p, u.Path)
				}
			}
		}
	}
}

// changedIn returns the sorted paths whose bytes are new in a version against the one before, and those that
// are gone.
func changedIn(h *Handler, version int) (changed, gone []string) {
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

func TestSectionsChangeAtTheirRates(t *testing.T) {
	h := New()
	for v := 2; v <= Versions(); v++ {
		changed, gone := changedIn(h, v)
		if !slices.Contains(changed, "/news/") || !slices.Contains(changed, "/") {
			t.Errorf("version %d does not change the news: %v", v, changed)
		}
		for _, p := range changed {
			if strings.HasPrefix(p, "/almanac/2025/") || strings.HasPrefix(p, "/archive/") ||
				strings.HasPrefix(p, "/card/") || strings.HasPrefix(p, "/ja/") {
				t.Errorf("version %d changes %s", v, p)
			}
		}
		if len(changed) > 25 {
			t.Errorf("version %d changes %d files: %v", v, len(changed), changed)
		}
		want := map[int]int{5: 6 + 1, 6: 3}[v] // the manual and its index; a page and a picture in two sizes
		if len(gone) != want {
			t.Errorf("version %d drops %v, want %d files", v, gone, want)
		}
		if Changes(v) == "" {
			t.Errorf("version %d says nothing of its changes", v)
		}
	}
	if n := len(h.Paths(1)); n < 100 || n > 200 {
		t.Errorf("version 1 has %d files", n)
	}
}

func TestConditionalRequests(t *testing.T) {
	h := New()
	srv := httptest.NewServer(h)
	defer srv.Close()
	first, _ := get(t, srv, "/news/")
	etag, modified := first.Header.Get("ETag"), first.Header.Get("Last-Modified")
	for _, tc := range []struct {
		name   string
		header []string
		want   int
	}{
		{"same tag", []string{"If-None-Match", etag}, 304},
		{"one of several, weak", []string{"If-None-Match", `"x", W/` + etag}, 304},
		{"other tag wins over date", []string{"If-None-Match", `"x"`, "If-Modified-Since", modified}, 200},
		{"same date", []string{"If-Modified-Since", modified}, 304},
		{"older date", []string{"If-Modified-Since", "Mon, 01 Jan 2024 00:00:00 GMT"}, 200},
		{"no date", []string{"If-Modified-Since", "yesterday"}, 200},
	} {
		if resp, body := get(t, srv, "/news/", tc.header...); resp.StatusCode != tc.want ||
			(tc.want == 304 && len(body) > 0) {
			t.Errorf("%s: %d, want %d", tc.name, resp.StatusCode, tc.want)
		}
	}
	h.SetVersion(2)
	if resp, _ := get(t, srv, "/news/", "If-None-Match", etag, "If-Modified-Since",
		modified); resp.StatusCode != 200 {
		t.Errorf("changed page answers %d", resp.StatusCode)
	}
	if resp, _ := get(t, srv, "/almanac/2025/03.html", "If-Modified-Since", modified); resp.StatusCode != 304 {
		t.Errorf("page that never changes answers %d", resp.StatusCode)
	}
	log := h.Requests()
	if len(log) != 9 || log[0].Path != "/news/" || log[0].Conditional || !log[1].Conditional ||
		log[1].Status != 304 || log[0].Bytes == 0 || len(h.Requests()) != 0 {
		t.Errorf("log %+v", log)
	}
}

func TestStatusAndHeaders(t *testing.T) {
	h := New()
	srv := httptest.NewServer(h)
	defer srv.Close()
	h.SetVersion(99)
	if h.Version() != Versions() {
		t.Errorf("version %d", h.Version())
	}
	for path, want := range map[string]int{
		"/":                               200,
		"/nowhere":                        404,
		"/old-home":                       301,
		"/docs/first":                     302,
		"/docs/manual/":                   301,
		"/docs/manual/focus.html":         404,
		"/cgi-bin/x":                      200,
		"/docs/handbook/film-plates.html": 404,
	} {
		if resp, _ := get(t, srv, path); resp.StatusCode != want {
			t.Errorf("%s is %d, want %d", path, resp.StatusCode, want)
		}
	}
	if resp, _ := get(t, srv, "/card/"); resp.Header.Get("Link") == "" {
		t.Error("test card has no Link header")
	}
	resp, err := http.Post(srv.URL+"/", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST is %d", resp.StatusCode)
	}
	if resp, err = http.Head(srv.URL + "/"); err != nil || resp.ContentLength <= 0 || resp.Body.Close() != nil {
		t.Errorf("HEAD: %v, length %d", err, resp.ContentLength)
	}
}

// The files are what they say they are.
func TestFormats(t *testing.T) {
	h := New()
	srv := httptest.NewServer(h)
	defer srv.Close()
	for _, p := range h.Paths(1) {
		resp, body := get(t, srv, p)
		ct := resp.Header.Get("Content-Type")
		switch {
		case strings.HasPrefix(ct, "image/png"):
			if _, err := png.Decode(bytes.NewReader(body)); err != nil {
				t.Errorf("%s: %v", p, err)
			}
		case strings.Contains(ct, "xml"):
			for d := xml.NewDecoder(bytes.NewReader(body)); ; {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Errorf("%s: %v", p, err)
					break
				}
			}
		case strings.Contains(ct, "json"):
			if !json.Valid(body) {
				t.Errorf("%s is no JSON", p)
			}
		case strings.Contains(ct, "utf-8") && !utf8.Valid(body):
			t.Errorf("%s is no UTF-8", p)
		}
	}
	for path, want := range map[string]string{
		"/ja/":                   "shift_jis",
		"/archive/telegram.html": "utf-16le",
		"/archive/logbook.html":  "windows-1252",
	} {
		resp, body := get(t, srv, path)
		if _, got, _ := charset.DetermineEncoding(body, resp.Header.Get("Content-Type")); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

// Version returns the version that is served now.
func (h *Handler) Version() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.version
}
