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

// TestSingleSets: of a srcset the best candidate that the mirror has is left, and nothing of one that it has
// not: a browser would show an empty place where it took a candidate that is not in the file.
func TestSingleSets(t *testing.T) {
	tree, files := fstest.MapFS{}, map[string]*phm.File{}
	add := func(p, mime, body string) {
		tree[p] = &fstest.MapFile{Data: []byte(body)}
		files[p] = &phm.File{
			Path: p,
			URL:  "https://h.example/" + p,
			Type: mime,
			Size: int64(len(body)),
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		add(name+".png", "image/png", name)
	}
	// A, B and C stand for the pictures as they are in the file
	show := strings.NewReplacer("A", "data:image/png;base64,YQ==", "B", "data:image/png;base64,Yg==",
		"C", "data:image/png;base64,Yw==")
	for in, want := range map[string]string{
		`<img src="a.png" srcset="a.png 1x, b.png 2x, https://o.example/c.png 3x">`: `<img src="A" srcset="B 2x">`,
		`<img srcset='c.png 900w,b.png 600w' sizes="50vw"><img src="a.png">`: `<img srcset='C 900w' sizes="50vw">` +
			`<img src="A">`,
		`<source srcset="https://o.example/x.webp, none.webp 2x"><img src="a.png">`: `<source srcset=""><img src="A">`,
		`<img srcset=" none.png 3x , a.png , b.png 0.5x " src=b.png alt="1, 2">`: `<img srcset=" A " src=B ` +
			`alt="1, 2">`,
		`<img srcset="a.png"><img srcset="b.png"><p>x`: `<img srcset="A"><img srcset="B"><p>x`,
		`<img srcset=a.png crossorigin src="c.png"><p style="background:url(b.png)">p`: `<img srcset=A  src="C">` +
			`<p style="background:url(B)">p`,
		`<img crossorigin srcset="https://o.example/x 2x" src="c.png">`: `<img  srcset="" src="C">`,
	} {
		want = show.Replace(want)
		add("p.html", "text/html", in)
		got, err := SinglePage(tree, files, "p.html")
		if err != nil {
			t.Fatal(err)
		}
		if _, page, _ := strings.Cut(string(got), onlyInside+`">`); page != want {
			t.Errorf("%s\n is  %s\nnot  %s", in, page, want)
		}
	}
}
