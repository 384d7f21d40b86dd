package main

import (
	"slices"
	"testing"

	"mirrord/phm"
)

func TestCheckLinks(t *testing.T) {
	files := []string{"index.html", "a b/c.html", "a b/style.css", "img/x.png", "q@a=1.html"}
	exists := func(p string) bool { return slices.Contains(files, p) }
	for _, tc := range []struct {
		name, path, mime, raw string
		want                  []string
	}{
		{"all kinds that are right", "a b/c.html", "text/html", `<meta charset=utf-8><a href="../index.html#x">a</a><a href="#y">b</a><img src=../img/x.png><a href="https://example.org/z">c</a><a href="mailto:x">d</a><a href="../q@a=1.html">e</a><link rel=stylesheet href=style.css>`, nil},
		{"missing", "a b/c.html", "text/html", `<a href="gone.html">a</a><img src="../../../img/y.png">`, []string{"gone.html leads to no file", "../../../img/y.png leads to no file"}},
		{"not relative", "index.html", "text/html", `<a href="/index.html">a</a>`, []string{"/index.html is not relative: it leads out of the mirror's directory"}},
		{"style sheet", "a b/style.css", "text/css", `@import "c.css"; a { background: url(../img/x.png) }`, []string{"c.css leads to no file"}},
		{"escaped", "index.html", "text/html", `<a href="a%20b/c.html">a</a><a href="a%20b/">b</a>`, []string{"a%20b/ leads to no file"}},
		{"no document", "img/x.png", "image/png", "\x89PNG <a href=gone>", nil},
	} {
		got := checkLinks()(&phm.File{Path: tc.path, URL: "https://example.org/" + "p", Type: tc.mime}, []byte(tc.raw), exists)
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
	if got := checkLinks()(&phm.File{Path: "x", URL: "no URL"}, nil, exists); len(got) != 1 {
		t.Errorf("a file without URL: %q", got)
	}
}
