// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"mirrord/internal/charset"
	"mirrord/internal/parts"
	"mirrord/site"
)

// testFormat is a document format that is added by one file, this one: lists of URLs, one a line.
const testFormat Format = 250

func (readers) TestList() reader {
	return reader{
		format:  testFormat,
		name:    "test list",
		types:   []string{"text/x-test-list"},
		used:    []string{"test-list"},
		syntax:  charset.Other,
		spliced: true,
		scan: func(sc *scanner, v view) {
			at := 0
			for line := range strings.Lines(string(v.s)) {
				end := at + len(strings.TrimSuffix(line, "\n"))
				sc.url(v.sub(at, end), Hyperlink, 0, false)
				at += len(line)
			}
		},
	}
}

func TestNewFormat(t *testing.T) {
	const raw = "/a/b.html\nhttp://other.example/\nc.html\n"
	u := site.Canonical("http://h.example/d/list.test-list")
	for _, mime := range []string{"text/x-test-list; charset=utf-8", "text/plain", ""} {
		if f := Detect(mime, u, []byte(raw)); f != testFormat || f.String() != "test list" || !f.Spliced() {
			t.Fatalf("%q is %v", mime, f)
		}
	}
	var d Doc
	if err := d.Scan([]byte(raw), Input{URL: u, MIME: "text/x-test-list"}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range d.Links {
		got = append(got, string(l.URL))
	}
	want := []string{"http://h.example/a/b.html", "http://other.example/", "http://h.example/d/c.html"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	out, _ := replaceLinks(nil, []byte(raw), d.Charset, d.Links, d.Edits, func(i int) ([]byte, bool, bool) {
		return []byte("x"), true, i == 0
	})
	if want := "x\nhttp://other.example/\nc.html\n"; string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

// Numbers of formats are stored: each keeps its own.
func TestFormatNumbers(t *testing.T) {
	for n, name := range []string{"unknown", "html", "css", "svg", "feed", "sitemap", "manifest", "script"} {
		if got := Format(n).String(); got != name {
			t.Errorf("%d is %q, want %q", n, got, name)
		}
	}
	if got := Format(200).String(); got != "invalid" {
		t.Errorf("a number of no format is %q", got)
	}
}

// Formats that claim the same thing would depend on the order of the registry.
func TestFormatsDiffer(t *testing.T) {
	claimed := map[string]bool{}
	claim := func(what string, words ...string) {
		for _, w := range words {
			if claimed[what+w] || w == "" {
				t.Errorf("the %s %q is that of two formats, or none", what, w)
			}
			claimed[what+w] = true
		}
	}
	for _, r := range parts.Of[reader](readers{}) {
		if r.format == Unknown {
			t.Errorf("format %q has the number of none", r.name)
		}
		claim("number ", strconv.Itoa(int(r.format)))
		claim("name ", r.name)
		claim("type ", r.types...)
		claim("extension in use ", r.used...)
		claim("extension ", r.named...)
		claim("root ", r.roots...)
	}
	if len(known.all) < 7 {
		t.Errorf("%d formats", len(known.all))
	}
}

func TestMaySplice(t *testing.T) {
	for _, c := range []struct {
		mime, url, path string
		want            bool
	}{
		{"text/html; charset=x", "http://h/a", "a.html", true},
		{"text/css", "http://h/a", "a.css", true},
		{"image/svg+xml", "http://h/a.svg", "a.svg", true},
		{"application/rss+xml", "http://h/feed", "feed.rss", true},
		{"application/manifest+json", "http://h/a.webmanifest", "a.webmanifest", true},
		{"application/json", "http://h/manifest.json", "manifest.json", true},
		{"application/json", "http://h/data.json", "data.json", false},
		{"text/plain", "http://h/a.css", "a.css", true},
		{"text/plain", "http://h/a.html", "a.html", false},
		{"text/javascript", "http://h/a.js", "a.js", false},
		{"application/octet-stream", "http://h/a.html", "a.html", true},
		{"application/octet-stream", "http://h/a.css", "a.css", true},
		{"application/octet-stream", "http://h/a.bin", "a.bin", false},
		{"", "http://h/", "index.html", true},
		{"", "http://h/a.HTM", "a.HTM", true},
		{"", "http://h/a.png", "a.png", false},
		{"image/png", "http://h/a.html", "a.html.png", false},
		{"text/x-test-list", "http://h/a", "a", true},
	} {
		if got := MaySplice(c.mime, site.Canonical(c.url), c.path); got != c.want {
			t.Errorf("%q %s %s: %v, want %v", c.mime, c.url, c.path, got, c.want)
		}
	}
}

// Files that MaySplice excludes are never spliced: such a file would keep its links when a mirror
// is flattened.
func FuzzMaySplice(f *testing.F) {
	f.Add("application/json", "http://h/x/manifest.json", "<html>")
	f.Add("", "http://h/a", "<?xml version='1.0'?><svg/>")
	f.Add("text/xml", "http://h/a", "<rss/>")
	f.Fuzz(func(t *testing.T, mime, raw, head string) {
		u, _, err := site.Parse(raw)
		if err != nil {
			return
		}
		if got := Detect(mime, u, []byte(head)); got.Spliced() && !MaySplice(mime, u, "a") {
			t.Errorf("%q at %s with %q is %v", mime, u, head, got)
		}
	})
}
