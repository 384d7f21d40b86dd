// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"strings"
	"testing"
)

// A file whose origin named no type has that of its extension, or is plain text when its bytes are; nothing
// is treated as a page, and no other program guesses.
func TestUntyped(t *testing.T) {
	const none = "application/octet-stream"
	rows := []struct{ path, mime, body, want string }{
		{"README", "", "Read me.\n", "text/plain"},
		{"Größe", "", "Grüße\n", "text/plain"},
		{"latin", "", "Gr\xfc\xdfe\x1b[0m\n", "text/plain"},
		{"wide", "", "\xff\xfeG\x00r\x00", "text/plain"},
		{"empty", "", "", "text/plain"},
		{"any", "*/*", "Read me.\n", "text/plain"},
		{"data", "application/octet-stream", "Read me.\n", none},
		{"bytes", "", "Read\x00me.\n", none},
		{"late", "", strings.Repeat("text ", 200) + "\x01", none},
		{"page", "", " \n<!DOCTYPE html><script>alert(1)</script>", none},
		{"page.html", "", "<script>alert(1)</script>", none},
		{"words.html", "", "no markup", "text/plain"},
		{"feed", "", "<?xml version='1.0'?><a/>", none},
		{"paper", "", "%PDF-1.4", none},
		{"lib.js", "", "alert(1)", "text/javascript"},
		{"lib.css", "", "p{}", "text/css"},
		{"x.svg", "", "<svg xmlns='http://www.w3.org/2000/svg'/>", "text/plain"},
		{"pic.PNG", "", "\x89PNG\r\n\x1a\n", "image/png"},
	}
	sites := testSites()
	v := sites["one"].versions[2]
	for _, r := range rows {
		v.files = append(v.files, fakeFile{
			url:  "https://one.test/u/" + r.path,
			path: "u/" + r.path,
			mime: r.mime,
			body: r.body,
		})
	}
	s := testServer(t, func(o *Options) { o.Sites = sites })
	for _, r := range rows {
		for _, base := range []string{byHost, byPath} {
			res := ask(t, s, "GET", base+"/u/"+escapePath(r.path))
			got := res.Header.Get("Content-Type")
			if got != r.want || res.Header.Get("X-Content-Type-Options") != "nosniff" || bodyOf(t, res) != r.body {
				t.Errorf("%s: %d %q, want %q", r.path, res.StatusCode, got, r.want)
			}
		}
	}
}
