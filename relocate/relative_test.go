// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"net/url"
	"path"
	"strings"
	"testing"

	"mirrord/site"
)

func TestRelative(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"a.html", "b.html", "b.html"},
		{"a.html", "a.html", "a.html"},
		{"d/a.html", "d/a.html", "a.html"},
		{"d/a.html", "d/b.html", "b.html"},
		{"d/a.html", "b.html", "../b.html"},
		{"a.html", "d/b.html", "d/b.html"},
		{"d/e/f/a.html", "d/x/b.html", "../../x/b.html"},
		{"dir/a.html", "dir2/b.html", "../dir2/b.html"},
		{"d/a.html", "d/a.html/b.html", "a.html/b.html"},
		{"d/a/x.html", "d/a", "../a"},
		{"a.html", "c:d.html", "./c:d.html"},
		{"a.html", "x/c:d.html", "x/c:d.html"},
		{"d/a.html", "c:d.html", "../c:d.html"},
		{"a.html", "a b?c#d%e.html", "a%20b%3Fc%23d%25e.html"},
		{"a.html", `it's("x"),&[y].html`, "it%27s%28%22x%22%29%2C%26%5By%5D.html"},
		{"a.html", "ü.html", "%C3%BC.html"},
		{"a.html", "/b", ".//b"},
		{"a/b", "a/", "./"},
	} {
		if got := string(Relative([]byte("kept"), c.from, c.to)); got != "kept"+c.want {
			t.Errorf("Relative(%q, %q) = %q, want %q", c.from, c.to, got, "kept"+c.want)
		}
	}
}

// FuzzRelative: a browser that resolves the result at from's place arrives at to.
func FuzzRelative(f *testing.F) {
	f.Add("a/b.html", "a/c.html")
	f.Add("a/b/c", "x:y")
	f.Add("a", "ü/'()\"")
	f.Fuzz(func(t *testing.T, from, to string) {
		if !mirrorPath(from) || !mirrorPath(to) {
			return
		}
		esc := func(p string) string { return (&url.URL{Path: "/" + p}).EscapedPath() }
		base, _, err := site.Parse("http://m.test" + esc(from))
		if err != nil {
			return
		}
		ref := string(Relative(nil, from, to))
		got, _, err := base.Resolve(ref)
		if err != nil {
			t.Fatalf("%q from %q: %v", ref, from, err)
		}
		p, err := url.PathUnescape(got.Path())
		if err != nil || p != "/"+to {
			t.Fatalf("Relative(%q, %q) = %q resolves to %q", from, to, ref, p)
		}
		if strings.ContainsAny(ref, "'()\"&, <>\\`") {
			t.Fatalf("Relative(%q, %q) = %q needs an escape somewhere", from, to, ref)
		}
	})
}

func mirrorPath(p string) bool {
	if p == "" || p != path.Clean(p) || p[0] == '/' || p == "." || p == ".." || strings.HasPrefix(p, "../") {
		return false
	}
	// a browser takes %2e for a dot; a layout never yields such a name
	for _, seg := range strings.Split(p, "/") {
		if s := strings.ReplaceAll(strings.ToLower(seg), "%2e", "."); s == "." || s == ".." {
			return false
		}
	}
	return true
}

// TestPlainStaysInside: a reference that goes above the root is not plain: what browsers clamp under http
// leads out of the copy's folder under file://.
func TestPlainStaysInside(t *testing.T) {
	for _, c := range []struct {
		page, ref string
		want      bool
	}{
		{"/", "a.html", true}, {"/", "../a.html", false}, {"/", "..", false}, {"/", "b/../a.html", true},
		{"/", "b/../../a.html", false}, {"/", "./a.html", true},
		{"/d/e.html", "../a.html", true}, {"/d/e.html", "../../a.html", false},
		{"/d/e.html", ".././../a.html", false}, {"/d/e.html", "../..a.html", true},
		{"/d/e/", "../../a.html", true}, {"/d/e/", "../../../a.html", false},
		{"/d/e/", "../../d/../../a.html", false}, {"/d/e/", "x//../../../../a", false},
	} {
		var d Doc
		if err := d.Scan([]byte("<a href="+c.ref+">"), Input{
			URL:    mustURL(t, "http://zoo.test"+c.page),
			Format: HTML,
		}); err != nil {
			t.Fatal(err)
		}
		if l := d.Links[0]; l.Plain != c.want {
			t.Errorf("%s in %s: plain is %t, want %t", c.ref, c.page, l.Plain, c.want)
		}
	}
}

// TestRepeatedReferences scans pages that repeat references: those of the page before, of which the memory is
// used again, and those under another base.
func TestRepeatedReferences(t *testing.T) {
	const framed = `<iframe srcdoc="<base href='/x/'><a href=a.html>1</a><a href=b.html>2</a>` +
		`<a href=a.html>3</a>"></iframe><a href=a.html>4</a><a href=b.html>5</a><a href=a.html>6</a>`
	var d Doc
	raw := make([]byte, len(framed))
	for _, c := range []struct{ page, want string }{
		{"<a href=b.html><a href=a.html>", "/d/b.html /d/a.html"},
		{"<a href=\u00e4.htm><a href=a.html>", "/d/%C3%83%C2%A4.htm /d/a.html"}, // longer as a URL
		{framed, "/x/a.html /x/b.html /x/a.html /d/a.html /d/b.html /d/a.html"},
	} {
		n := copy(raw, c.page)
		if err := d.Scan(raw[:n], Input{URL: mustURL(t, "http://h.test/d/"), Format: HTML}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range d.Links {
			if bytes.Contains(l.URL, []byte(".htm")) {
				got = append(got, strings.TrimPrefix(string(l.URL), "http://h.test"))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", c.page, got, c.want)
		}
	}
}
