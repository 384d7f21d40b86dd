// SPDX-License-Identifier: Apache-2.0

package kiwix

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"mirrord/phm"
)

// set is the set that the pages of these tests are part of.
func set(path []byte) bool {
	return slices.Contains([]string{"index.html", "docs/page.html", "docs/a b.html", "docs/a&b.html",
		"img/x.png", "docs/é.html"}, string(path))
}

func TestFix(t *testing.T) {
	same := "="
	for name, c := range map[string]struct{ in, want string }{
		"right": {`<a href="page.html#x">1</a><a href='../index.html'>2</a><img src="../img/x.png">` +
			`<a href="https://o.example/?a=1&amp;b">3</a><a href="mailto:a@b">4</a><a href="#top">5</a>` +
			`<img src="data:image/png;base64,AA"><a href="a%20b.html">6</a>`, same},
		"no link":       {`<a name="x">href src</a><p data-src="y">`, same},
		"absolute path": {`<a href="/docs/page.html#x">`, `<a href="page.html#x">`},
		"absolute path to nothing": {`<a href="/none?a&amp;b">`,
			`<a href="https://h.example/none?a&amp;b">`},
		"nothing there": {`<a href="none.html">`, `<a href="https://h.example/docs/none.html">`},
		"climbs":        {`<a href="../../../index.html">`, `<a href="../index.html">`},
		"empty":         {`<a href="">`, `<a href="page.html">`},
		"empty base":    {`<base href="">`, `<base href="page.html">`},
		"reference":     {`<a href="a&amp;b.html">`, `<a href="a%26b.html">`},
		"named letter":  {`<a href="&eacute;.html">`, `<a href="%C3%A9.html">`},
		"blanks":        {`<a href=" page.html ">`, `<a href="page.html">`},
		"a blank":       {`<a href="a b.html">`, same},
		"scheme":        {`<a href="about:blank">`, "<a\thref=\"about:blank\">"},
		"loads from elsewhere": {
			`<img src="https://o.example/x.png" alt="x"><script src='//cdn.example/x.js'></script>`,
			`<img data-src="https://o.example/x.png" alt="x"><script data-src='//cdn.example/x.js'></script>`},
		"empty src":       {`<img src="">`, `<img data-src="">`},
		"loads nothing":   {`<img src="gone.png">`, `<img data-src="gone.png">`},
		"loads by a path": {`<img src="/img/x.png">`, `<img src="../img/x.png">`},
		"script": {`<script>a = '<a href="' + x + '">'</script>`,
			"<script>a = '<a\thref=\"' + x + '\">'</script>"},
		"comment":         {`<!-- <a href="old.html"> -->`, "<!-- <a\thref=\"old.html\"> -->"},
		"example":         {`<pre>&lt;a href="x.html"&gt;</pre>`, `<pre>&lt;a href=&#34;x.html"&gt;</pre>`},
		"example, single": {`<pre>&lt;a href='x.html'&gt;</pre>`, `<pre>&lt;a href=&#39;x.html'&gt;</pre>`},
		"within a value":  {`<p title="a href='x'">`, "<p title=\"a\thref='x'\">"},
		"not closed":      {`<a href="page.html>`, "<a\thref=\"page.html>"},
		"no quotes":       {`<a href=/x>`, same},
		"another one in it": {`<p>&lt;a href="x src='y'" </p>`,
			`<p>&lt;a href=&#34;x src=&#39;y'" </p>`},
	} {
		if c.want == same {
			c.want = c.in
		}
		f := &phm.File{Path: "docs/page.html", URL: "https://h.example/docs/page.html"}
		x := linkFixer{exists: set}
		got, undo := x.fix(f, []byte(c.in))
		if string(got) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
		back, err := restore(got, undo)
		if (undo == nil) != (c.in == c.want) || err != nil || string(back) != c.in {
			t.Errorf("%s: after undoing it is %s, %v", name, back, err)
		}
	}
}

// FuzzFix: of a page that was repaired, zimcheck has nothing to say, and nothing is lost of it but blanks.
func FuzzFix(f *testing.F) {
	for _, s := range []string{`<a href="x">`, `<!-- src='` + "`" + `' --> href = "`, `<img src="a" src='//b'>`,
		`<script> href="</script> src=""`, `<p title=" href='"> href='">`, `<a href="../#../">`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		file := &phm.File{Path: "docs/page.html", URL: "https://h.example/docs/page.html"}
		x := linkFixer{exists: set}
		shown, undo := x.fix(file, []byte(s))
		got := bytes.Clone(shown)
		if back, err := restore(got, undo); err != nil || string(back) != s {
			t.Fatalf("%q becomes %q, and that %q, %v", s, got, back, err)
		}
		for at := 0; ; {
			l, ok := nextFind(got, at)
			if !ok {
				break
			}
			if l.end < 0 || !x.judge(got[l.start:l.end], l.src) {
				t.Fatalf("%q becomes %q, with %q", s, got, got[l.at:])
			}
			at = l.end + 1
		}
		if again, undo := x.fix(file, got); !bytes.Equal(again, got) || undo != nil {
			t.Fatalf("%q becomes %q, and then %q", s, got, again)
		}
	})
}

func TestTitleOf(t *testing.T) {
	for page, want := range map[string]string{
		"<title>Z&uuml;rich</title>":                      "Zürich",
		"<title>" + strings.Repeat("é", 500) + "</title>": strings.Repeat("é", 125),
	} {
		if got := titleOf([]byte(page)); got != want {
			t.Errorf("%.60q: %q, want %q", page, got, want)
		}
	}
}

// What a file says of how its pages come back is not trusted.
func FuzzRestore(f *testing.F) {
	f.Add([]byte("shown"), appendUndo(appendUndo(nil, 1, 2, []byte("raw")), 0, 0, nil))
	f.Add([]byte("shown"), []byte{1, 9})
	f.Fuzz(func(t *testing.T, shown, undo []byte) {
		if raw, err := restore(shown, undo); err == nil && len(raw) > len(shown)+len(undo) {
			t.Errorf("%d bytes of %d and %d", len(raw), len(shown), len(undo))
		}
	})
}
