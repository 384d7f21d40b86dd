// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"mirrord/phm"
)

// TestSinglePage: what a page shows is in it, style sheets that import one another included; links lead to
// the site.
func TestSinglePage(t *testing.T) {
	types := map[string]string{".html": "text/html", ".css": "text/css", ".png": "image/png"}
	tree, files := fstest.MapFS{}, map[string]*phm.File{}
	for p, body := range map[string]string{
		"docs/a.html": "\ufeff<!-- c --><!DOCTYPE html><title>A</title><link rel=stylesheet href=../a.css>" +
			`<img src="../x.png"><img src="https://o.example/y.png"><a href="b.html#f">b</a><a href="a.html#g">a</a>` +
			`<iframe src="b.html"></iframe>`,
		"docs/b.html": `<img src="../x.png"><iframe src="a.html"></iframe>`,
		"a.css":       `@import "a.css"; p { background: url(x.png) }`,
		"x.png":       "PNG",
		"big.png":     "",
	} {
		tree[p] = &fstest.MapFile{Data: []byte(body)}
		files[p] = &phm.File{
			Path: p,
			URL:  "https://h.example/" + p,
			Type: types[p[strings.LastIndexByte(p, '.'):]],
			Size: int64(len(body)),
		}
	}
	got, err := SinglePage(tree, files, "docs/a.html")
	if err != nil {
		t.Fatal(err)
	}
	page := string(got)
	for _, want := range []string{
		`<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src data:`,
		`<img src="data:image/png;base64,UE5H">`,
		`<img src="https://o.example/y.png">`,
		`<a href="https://h.example/docs/b.html#f">`,
		`<a href="#g">`,
		`href=data:text/css;charset=utf-8;base64,`,
		`<iframe src="data:text/html;charset=`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("without %s:\n%s", want, page)
		}
	}
	if strings.Contains(page, "../") {
		t.Errorf("a link into the mirror is left:\n%s", page)
	}
	files["x.png"].Size = maxSingleIn + 1
	for _, p := range []string{"docs/a.html", "none.html", "a.css"} {
		if _, err := SinglePage(tree, files, p); !errors.Is(err, ErrSingle) {
			t.Errorf("%s: %v", p, err)
		}
	}
}
