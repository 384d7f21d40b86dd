// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	"mirrord/phm"
)

// TestRelink: the links of a published page follow the files that move, lead to the site where a file is
// left out, and stay as they stand otherwise.
func TestRelink(t *testing.T) {
	moved := map[string]string{
		"docs/guide/index.html": "index.html", "docs/a b~1.html": "a b~1.html",
		"img/caf\u00e9.png": "caf\u00e9.png", "css/x.css": "x.css", "js/x.js": "x.js",
		"docs/guide/deep.html": "docs/guide/deep.html",
	}
	to := func(p string) (string, bool) {
		if p == "img/lost.png" {
			return "https://h.example/img/lost.png?v=1&w=2", false
		}
		n, ok := moved[p]
		return n, ok
	}
	page := func(body string) string { return "<!DOCTYPE html><meta charset=utf-8><title>x</title>" + body }
	for name, c := range map[string]struct{ path, mime, in, want string }{
		"html": {"docs/guide/index.html", "text/html",
			page(
				`<a href="../a%20b~1.html#x">1</a><img src="../../img/caf%C3%A9.png" srcset="../../img/caf%C3%A9.png 1x, ../../img/lost.png 2x"><a href="../never.html">n</a><a href=https://o.example/>o</a><a href="#top">t</a><a href="index.html">self</a><form action="https://h.example/f">`),
			page(
				`<a href="a%20b~1.html#x">1</a><img src="caf%C3%A9.png" srcset="caf%C3%A9.png 1x, https://h.example/img/lost.png?v=1&amp;w=2 2x"><a href="../never.html">n</a><a href=https://o.example/>o</a><a href="#top">t</a><a href="index.html">self</a><form action="https://h.example/f">`)},
		"style": {"docs/guide/index.html", "text/html",
			page(
				`<style>a{background:url(../../img/caf%C3%A9.png)}</style><p style="background:url('../../img/lost.png')">`),
			page(
				`<style>a{background:url(caf%C3%A9.png)}</style><p style="background:url('https://h.example/img/lost.png?v=1&amp;w=2')">`)},
		"script": {"docs/guide/index.html", "text/html",
			page(`<script>load("../../js/x.js"); name = "docs/a.html"; up = "../a%20b~1.html"</script>`),
			page(`<script>load("./x.js"); name = "docs/a.html"; up = "./a%20b~1.html"</script>`)},
		"css": {"css/x.css", "text/css", `@import "x.css"; a { background: url("../img/caf%C3%A9.png") }`,
			`@import "x.css"; a { background: url("caf%C3%A9.png") }`},
		"nothing moves": {"docs/guide/deep.html", "text/html",
			page(`<a href="./deep.html">d</a><a href='deep.html'>`),
			page(`<a href="./deep.html">d</a><a href='deep.html'>`)},
		"no document": {"js/x.js", "text/javascript", `import "./y.js"`, `import "./y.js"`},
		"link header": {"docs/guide/deep.html", "text/html", page(`<link rel=icon href="../../img/lost.png">`),
			page(`<link rel=icon href="https://h.example/img/lost.png?v=1&amp;w=2">`)},
		"windows-1252": {"docs/guide/index.html", "text/html",
			"<meta charset=windows-1252><p>\xe9<a href=../a%20b~1.html>",
			"<meta charset=windows-1252><p>\xe9<a href=a%20b~1.html>"},
		"other encoding": {"docs/guide/index.html", "text/html",
			"\xff\xfe<\x00a\x00 " +
				"\x00h\x00r\x00e\x00f\x00=\x00.\x00.\x00/\x00a\x00%" +
				"\x002\x000\x00b\x00~\x001\x00.\x00h\x00t\x00m\x00l\x00>\x00",
			"\xff\xfe<\x00a\x00 \x00h\x00r\x00e\x00f\x00=\x00a\x00%" +
				"\x002\x000\x00b\x00~\x001\x00.\x00h\x00t\x00m\x00l\x00>\x00"},
	} {
		got, err := NewRelink()(&phm.File{
			Path: c.path,
			URL:  "https://h.example/" + "x",
			Type: c.mime,
		}, []byte(c.in), to)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n got %q\nwant %q", name, err, got, c.want)
		}
	}
}
