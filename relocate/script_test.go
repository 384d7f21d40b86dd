// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// scriptLinks returns the references that stand in a script, inline or of its own.
func scriptLinks(t *testing.T, script string, external bool) (got []string) {
	t.Helper()
	in := Input{URL: mustURL(t, "http://zoo.test/dir/page.html"), Format: Script}
	raw, kind := []byte(script), Discovered
	if !external {
		in.Format, kind = HTML, InScript
		raw = []byte("<script>" + script + "</script>")
	}
	var d Doc
	if err := d.Scan(raw, in); err != nil {
		t.Fatal(err)
	}
	for _, l := range d.Links {
		if l.Kind != kind {
			t.Errorf("%q is of kind %v", l.Ref, l.Kind)
		}
		got = append(got, string(l.Ref))
	}
	return got
}

// TestScriptStrings: which strings of an inline script are links, and which are not.
func TestScriptStrings(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         []string
	}{
		{"usual", `f("a/b.png", 'c.html', "d.jpg?x=1#y")`, []string{"a/b.png", "c.html", "d.jpg?x=1"}},
		{"joined", `f("a/" + "b.png"); f("c.png" + x); x += "d.png"; f("e.png".concat(y)); f("/p/q.js"+"?v"+v)`,
			nil},
		{"compared", `if (x == "a.png" || "b.png" === y || z != "c.png") {} switch (x) { case "d.html": }`, nil},
		{"chosen", `f(x ? "a.png" : "b.png")`, []string{"a.png", "b.png"}},
		{"keys", `f({"a/b.js": 1, 'c.png': "d.png", e: "f.png"}); x["g.png"]; ["h.png"]; y(["i.png"][0])`,
			[]string{"d.png", "f.png", "h.png", "i.png"}},
		{"template",
			"f(`a.png`, `b/${x}.png`, `${x ? 'c.png' : \"\"}`, html`d.png`, `${ {a: {}} } ${`e.png`}` + 'f.png', " +
				"`g.png`)", []string{"a.png", "c.png", "e.png", "g.png"}},
		{"comments",
			`// "a.png"` + "\n/* 'b.png' \" */ f(/* don't */ 'c.png' // it's\n, 'd.png') <!-- 'e.png'\n f('f.png')",
			[]string{"c.png", "d.png", "f.png"}},
		{"joined behind comments", "f(x + /* a */ // b\n 'a.png'); f('b.png' /* a */ // b\n + x)", nil},
		{"regular expressions",
			`x = /['"]/; f('a.png'); return /"[/"]\/'/.test('x'); f(y / 2, "b.png", z / 3); !/'/g && f("c.png")`,
			[]string{"a.png", "b.png", "c.png"}},
		{"no regular expression", "x = a / b; y = c\n/ 2; f('a.png')\n+ / 'b.png'\nf('c.png')",
			[]string{"a.png", "c.png"}},
		{"broken strings", "x = 'it\nf('a.png'); y = \"\\\nb.png\"", []string{"a.png", "b.png"}},
		{"placeholders", `f("%s.png", "$1.png", "{x}/y.png", "*.html", "<b>.png", "a b.png", ":id/x.html")`, nil},
		{"no files",
			`f("/api/x", "http://zoo.test/", "http://zoo.test/dir", "https://zoo.test", ".html", "x.", "..", "/", "a//b.png", "1.25", "x.php", "text/css")`, nil},
		{"to be appended to", `f("a.json?x=", "a.json?", "a.json?x&", "a.json#")`, nil},
		{"library names",
			`f("vue.js", "package.json", "style.css"); Search.loadIndex("i.js"); s.src = "stats.js"; fetch("data.json"); new Worker('w.js'); g({src: "x.js", "url": 'y.json', name: "z.js"})`, []string{"i.js", "stats.js", "data.json", "w.js", "x.js", "y.json"}},
		{"functions that look for something", `x.indexOf("a.html"); y.replace("b.png", ""); x.endsWith('c.html'); initNavTree('d0/d1a/d.html','../../')`,
			nil},
		{"service worker",
			`navigator.serviceWorker.register("/sw.js"); navigator.serviceWorker.register('./sw.js')`, nil},
		{"other schemes", `f("ftp://zoo.test/a.png", "file:///a.png", "data:image/a.png", "mailto:x@y.html")`, nil},
		{"unfinished", `f("a.png", "b.png`, []string{"a.png"}},
		{"markup in strings", `document.write("<a href='x.html'>y</a>"); f("<\/script>", "a.png")`,
			[]string{"a.png"}},
	} {
		if got := scriptLinks(t, c.script, false); !slices.Equal(got, c.want) {
			t.Errorf("%s: found %q, want %q in\n%s", c.name, got, c.want, c.script)
		}
	}
}

// TestScriptFile: the strings of a script of its own count only where they do not depend on the page that
// loads it.
func TestScriptFile(t *testing.T) {
	const script = `import x from "./x.js"; import('../y.js'); import "lodash/fp.js"; export {a} from './z.mjs';
f("/a.png", "b/c.png", "./d.png", "d.png", 'https://other.test/e.css', new URL("f.wasm", import.meta.url), {"./src/g.js": 1, "/h.js": 2})`
	want := []string{"./x.js", "../y.js", "./z.mjs", "/a.png", "https://other.test/e.css", "f.wasm"}
	if got := scriptLinks(t, script, true); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestScriptOfData: a script that only names values names pages, such as a menu; one that computes does not.
func TestScriptOfData(t *testing.T) {
	const menu = `/* functions of all kinds */ var menudata={children:[{text:"Functions (all)",url:"functions.html#i"},
{text:"x => y", url:'../sub/files.HTM'},{img:"a.png",json:"b.json","key.html":[0]}]}`
	for script, want := range map[string][]string{
		strings.Replace(menu, "=>", "", 1): {"functions.html", "../sub/files.HTM"},
		menu:                               nil,
		`f("a.html"); function f(x) {}`:    nil,
		`var x = {a: "a.html", b: function () {}}`:          nil,
		`var x = {a: "a.html", b: "function"}; x.y()`:       {"a.html"},
		`var f = async function* name_1 (x) {}, y="a.html"`: nil,
	} {
		if got := scriptLinks(t, script, true); !slices.Equal(got, want) {
			t.Errorf("%s: found %q, want %q", script, got, want)
		}
	}
}

// TestScriptTypes: only scripts are looked into, and only those that a browser runs.
func TestScriptTypes(t *testing.T) {
	for tag, want := range map[string]bool{
		`<script>`: true, `<script type="">`: true, `<SCRIPT TYPE=" Text/JavaScript ">`: true,
		`<script type=module>`:              true,
		`<script language="JavaScript1.2">`: true, `<script language=VBScript>`: false,
		`<script type="application/json">`: false,
		`<script type="text/x-template">`:  false, `<script type="application/ld+json">`: false,
		`<script src="x:y">`:                                false,
		`<script type="` + strings.Repeat("x", 60) + `">`:   false,
		`<script type="text/javascript" language=VBScript>`: true,
	} {
		var d Doc
		if err := d.Scan([]byte(tag+`f("/a.png")</script>`), Input{
			URL:    mustURL(t, "http://zoo.test/dir/page.html"),
			Format: HTML,
		}); err != nil {
			t.Fatal(err)
		}
		if got := len(d.Links) == 1; got != want {
			t.Errorf("%s: looked into: %v", tag, got)
		}
	}
}

// TestScriptEncodings: a trailing byte of a Shift_JIS character is no backslash and no backquote, and spans
// count raw bytes.
func TestScriptEncodings(t *testing.T) {
	raw := []byte("<script>f('\x83\x5c', '/a.png', \"\x83\x60\", 'b.png')</script>")
	in := Input{URL: mustURL(t, "http://zoo.test/dir/page.html"), Format: HTML, HeaderCharset: "shift_jis"}
	var d Doc
	if err := d.Scan(raw, in); err != nil {
		t.Fatal(err)
	}
	out, _ := replaceLinks(nil, raw, d.Charset, d.Links, nil, func(int) ([]byte, bool, bool) {
		return []byte("x/y.png"), true, true
	})
	if want := "<script>f('\x83\x5c', './x/y.png', \"\x83\x60\", './x/y.png')</script>"; string(out) != want {
		t.Errorf("became %q, want %q", out, want)
	}
	checkRelocation(t, raw, in)
}

// FuzzScript: no script makes the scan fail, and each link is a string of the script between two quotes of a
// kind.
func FuzzScript(f *testing.F) {
	for _, s := range []string{
		`f("a/b.png")`, "`${'x.png'}`", `x=/["]/,f('a.html')`, `'\/a.js'`, "/*'*/'a.png'//'\n'b.png'",
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, script []byte, external bool) {
		raw, in := script, Input{URL: mustURL(t, "http://zoo.test/dir/page.html"), Format: Script}
		if !external {
			in.Format = HTML
			raw = fmt.Appendf(nil, "<script>%s</script>", script)
		}
		checkRelocation(t, raw, in)
		var d Doc
		if err := d.Scan(raw, in); err != nil {
			t.Fatal(err)
		}
		for _, l := range d.Links {
			if l.Ctx&CtxJS != 0 && l.Ctx&CtxLevel == 0 && d.Charset == "windows-1252" &&
				bytes.IndexByte([]byte("\"'`"), raw[l.Start-1]) < 0 {
				t.Fatalf("link %q at %d does not stand behind a quote in %q", l.Ref, l.Start, raw)
			}
		}
	})
}
