// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
)

// hostile documents, each by a function of a size, whose scan must take time linear in it.
var hostile = map[string]func(n int) (Format, string){
	"nested tags": func(n int) (Format, string) { return HTML, strings.Repeat("<div>", n) },
	"nested templates and svg": func(n int) (Format, string) {
		return HTML, strings.Repeat("<template><svg>", n/2)
	},
	"links": func(n int) (Format, string) {
		return HTML, strings.Repeat(`<a href="x.html">`, n)
	},
	"links under a long base": func(n int) (Format, string) {
		return HTML, `<base href="http://h/` + strings.Repeat("a", 60000) + `/">` + strings.Repeat("<a href=x>", n)
	},
	"different links, long base": func(n int) (Format, string) {
		var b strings.Builder
		b.WriteString(`<base href="http://h/` + strings.Repeat("a", 60000) + `/">`)
		for i := range n {
			fmt.Fprintf(&b, "<a href=%d>", i)
		}
		return HTML, b.String()
	},
	"attributes of one tag": func(n int) (Format, string) {
		return HTML, "<a " + strings.Repeat("href=x style=y fill=url(z) crossorigin=a ", n) + ">"
	},
	"attributes of a link": func(n int) (Format, string) {
		return HTML, "<link " + strings.Repeat("crossorigin fill=url(z) ", n) + "rel=stylesheet href=x>"
	},
	"open comments":     func(n int) (Format, string) { return HTML, strings.Repeat("<!--", n) },
	"comments cut by >": func(n int) (Format, string) { return HTML, strings.Repeat("<!--a>", n) },
	"open tags":         func(n int) (Format, string) { return HTML, strings.Repeat("<a ", n) },
	"open quotes":       func(n int) (Format, string) { return HTML, strings.Repeat(`<a href="`, n) },
	"scripts escaped":   func(n int) (Format, string) { return HTML, strings.Repeat("<script><!--", n) },
	"script ends": func(n int) (Format, string) {
		return HTML, "<script><!--" + strings.Repeat("<script></script", n)
	},
	"raw text ends": func(n int) (Format, string) { return HTML, "<title>" + strings.Repeat("</titl", n) },
	"NUL": func(n int) (Format, string) {
		return HTML, "<a href=" + strings.Repeat("\x00", n*8) + ">"
	},
	"ampersands": func(n int) (Format, string) {
		return HTML, `<a href="` + strings.Repeat("&", n*8) + `">`
	},
	"references": func(n int) (Format, string) {
		return HTML, `<a href="` + strings.Repeat("&ampamp&#x41", n) + `">`
	},
	"long digits": func(n int) (Format, string) {
		return HTML, `<a href="&#` + strings.Repeat("9", n*8) + `">`
	},
	"srcdoc in srcdoc": func(n int) (Format, string) {
		return HTML, strings.Repeat(`<iframe srcdoc='<a href=x>`, n)
	},
	"many srcdocs with bases": func(n int) (Format, string) {
		return HTML, strings.Repeat(`<iframe srcdoc="<base href=/x/><a href=y>"></iframe>`, n/8)
	},
	"srcdocs under a long base": func(n int) (Format, string) {
		return HTML, `<base href="http://h/` + strings.Repeat("a", 60000) + `/">` +
			strings.Repeat(`<iframe srcdoc="<base href=x/><a href=y>"></iframe>`, n/4)
	},
	"feed bases under a long base": func(n int) (Format, string) {
		return Feed, `<feed xml:base="http://h/` + strings.Repeat("a", 60000) + `/">` +
			strings.Repeat(`<entry xml:base="x/"><link href="y"/></entry>`, n/4)
	},
	"bases": func(n int) (Format, string) { return HTML, strings.Repeat(`<base href=/x/><a href=#y>`, n) },
	"srcset commas": func(n int) (Format, string) {
		return HTML, `<img srcset="` + strings.Repeat("a,", n) + strings.Repeat("b ,", n) +
			strings.Repeat("(", n) + `">`
	},
	"ping": func(n int) (Format, string) { return HTML, `<a ping="` + strings.Repeat("a ", n) + `">` },
	"metas": func(n int) (Format, string) {
		return HTML, strings.Repeat(`<meta name=robots content=x><meta charset=koi8-r>`, n/4)
	},
	"meta charset run": func(n int) (Format, string) {
		return HTML, `<meta http-equiv=content-type content="` + strings.Repeat("charset", n) + `">`
	},
	"titles": func(n int) (Format, string) { return HTML, strings.Repeat(`<title></title>`, n) },
	"one long title": func(n int) (Format, string) {
		return HTML, "<title>" + strings.Repeat("a ", n*4)
	},
	"script of slashes in brackets": func(n int) (Format, string) { return Script, strings.Repeat("/[", n) },
	"script of slashes":             func(n int) (Format, string) { return Script, strings.Repeat("/", n) },
	"script of quotes":              func(n int) (Format, string) { return Script, strings.Repeat("'", n) },
	"script of holes":               func(n int) (Format, string) { return Script, strings.Repeat("`${", n) },
	"script of holes in holes":      func(n int) (Format, string) { return Script, strings.Repeat("${`", n) },
	"script of closing braces":      func(n int) (Format, string) { return Script, strings.Repeat("}", n) },
	"script of open comments":       func(n int) (Format, string) { return Script, strings.Repeat("/*", n) },
	"script of comments":            func(n int) (Format, string) { return Script, strings.Repeat("/**/", n) },
	"script of escaped slashes":     func(n int) (Format, string) { return Script, strings.Repeat("/\\", n) },
	"script of escaped quotes":      func(n int) (Format, string) { return Script, strings.Repeat("'\\", n) },
	"script of links": func(n int) (Format, string) {
		return Script, strings.Repeat("f('a.png')/**/ ", n)
	},
	"script of links after a comment": func(n int) (Format, string) {
		return Script, strings.Repeat("/*\n*/'a.png'", n)
	},
	"script of spaces": func(n int) (Format, string) {
		return Script, strings.Repeat("        /", n)
	},
	"script of operators":     func(n int) (Format, string) { return Script, strings.Repeat("x / ", n) },
	"script of HTML comments": func(n int) (Format, string) { return Script, strings.Repeat("<!--", n) },
	"script of modules": func(n int) (Format, string) {
		return Script, strings.Repeat("import'./a.js';", n)
	},
	"CSS open urls":     func(n int) (Format, string) { return CSS, strings.Repeat("url(", n) },
	"CSS open strings":  func(n int) (Format, string) { return CSS, strings.Repeat("\"\n", n) },
	"CSS open comments": func(n int) (Format, string) { return CSS, strings.Repeat("/*", n) },
	"CSS backslashes":   func(n int) (Format, string) { return CSS, strings.Repeat("\\", n*8) },
	"CSS escaped names": func(n int) (Format, string) { return CSS, strings.Repeat("\\75", n*4) },
	"CSS parentheses": func(n int) (Format, string) {
		return CSS, strings.Repeat("image-set((", n)
	},
	"CSS long name": func(n int) (Format, string) {
		return CSS, strings.Repeat("a", n*8) + "("
	},
	"CSS links": func(n int) (Format, string) { return CSS, strings.Repeat("url(a)", n) },
	"CSS namespaces": func(n int) (Format, string) {
		return CSS, strings.Repeat("@namespace(", n)
	},
	"CSS imports":  func(n int) (Format, string) { return CSS, strings.Repeat("@import", n) },
	"XML doctypes": func(n int) (Format, string) { return SVG, strings.Repeat("<!x[>", n) },
	"XML open CDATA": func(n int) (Format, string) {
		return SVG, strings.Repeat("<style><![CDATA[", n)
	},
	"XML CDATA": func(n int) (Format, string) {
		return SVG, "<style>" + strings.Repeat("<![CDATA[url(a)]]>", n)
	},
	"XML instructions": func(n int) (Format, string) {
		return SVG, strings.Repeat("<?xml-stylesheet href='a'>", n) + "?>"
	},
	"XML attributes": func(n int) (Format, string) {
		return SVG, "<a " + strings.Repeat("href='x' ", n) + "/>"
	},
	"feed descriptions": func(n int) (Format, string) {
		return Feed, strings.Repeat("<description>&lt;a href='x'>", n)
	},
	"feed bases": func(n int) (Format, string) {
		return Feed, strings.Repeat("<e xml:base='x/'><link href='y'/>", n)
	},
	"feed bases alternating": func(n int) (Format, string) {
		return Feed,
			strings.Repeat("<e xml:base='x/'><link href='y'/></e><e xml:base='z/'><link href='y'/></e>", n/16)
	},
	"sitemap locs":     func(n int) (Format, string) { return Sitemap, strings.Repeat("<loc>http://a/", n) },
	"manifest strings": func(n int) (Format, string) { return Manifest, `{"src":` + strings.Repeat(`"a"`, n) },
	"manifest keys": func(n int) (Format, string) {
		return Manifest, strings.Repeat(`"src":"a`, n) + strings.Repeat("\\", n)
	},
}

// TestHostile scans and splices each hostile document: nothing panics, spans are sound, and eight times the
// size takes nowhere near 64 times as long. The least time of several counts when it looks bad, for the
// machine may have been busy.
func TestHostile(t *testing.T) {
	const small = 10_000
	for name, f := range hostile {
		t.Run(name, func(t *testing.T) {
			took := [2]float64{math.MaxFloat64, math.MaxFloat64} // seconds of processor time
			for range 8 {
				took[0], took[1] = min(took[0], timeHostile(t, f, small)), min(took[1], timeHostile(t, f, 8*small))
				if took[1] < 1 || took[1] < 40*took[0] {
					return
				}
			}
			t.Errorf("%d took %.3f s, %d took %.3f s", small, took[0], 8*small, took[1])
		})
	}
}

func timeHostile(t *testing.T, f func(int) (Format, string), n int) float64 {
	t.Helper()
	format, doc := f(n)
	raw := []byte(doc)
	var d Doc
	start := cpuSeconds(t)
	if err := d.Scan(raw, Input{URL: mustURL(t, "http://zoo.test/dir/page.html"), Format: format}); err != nil {
		t.Fatal(err)
	}
	out, _ := replaceLinks(nil, raw, d.Charset, d.Links, d.Edits, func(int) ([]byte, bool, bool) {
		return nil, false, false
	})
	took := cpuSeconds(t) - start
	if len(d.Links) < 1000 {
		checkSpans(t, raw, &d)
	}
	if len(d.Edits) == 0 && !bytes.Equal(out, raw) {
		t.Error("a splice that replaces nothing changed the document")
	}
	return took
}

// TestManyBases: the bases of parts of a document are resolved up to a bound; links beyond it are left out
// rather than resolved against another base, and no edit depends on one of them.
func TestManyBases(t *testing.T) {
	const n = 2000
	long := "http://h.test/" + strings.Repeat("a", 60000) + "/"
	for _, c := range []struct {
		f          Format
		head, part string
	}{
		{HTML, `<base href="` + long + `">`,
			`<iframe srcdoc="<base href=x/><script src=y integrity=z crossorigin></script><a href=/y>"></iframe>`},
		{Feed, `<feed xml:base="` + long + `">`, `<entry xml:base="x/"><link href="y"/></entry>`},
	} {
		raw := []byte(c.head + strings.Repeat(c.part, n))
		var d Doc
		if err := d.Scan(raw, Input{URL: mustURL(t, "http://zoo.test/x"), Format: c.f}); err != nil {
			t.Fatal(err)
		}
		checkSpans(t, raw, &d)
		if d.Truncated != BoundURLs || len(d.Links) == 0 || len(d.Links) >= n {
			t.Errorf("%v: %d links, truncated %v", c.f, len(d.Links), d.Truncated)
		}
		for _, l := range d.Links {
			if !bytes.HasPrefix(l.URL, []byte("http://h.test/")) {
				t.Fatalf("%v: a link was resolved to %.100q", c.f, l.URL)
			}
		}
	}
}

func TestMaxLinks(t *testing.T) {
	raw := []byte(strings.Repeat("<a href=x>", 100_001))
	var d Doc
	for _, c := range []struct {
		max, want int
		truncated Bound
	}{{0, 100_000, BoundLinks}, {5, 5, BoundLinks}, {200_000, 100_001, 0}} {
		if err := d.Scan(raw, Input{
			URL:      mustURL(t, "http://zoo.test/"),
			Format:   HTML,
			MaxLinks: c.max,
		}); err != nil {
			t.Fatal(err)
		}
		if len(d.Links) != c.want || d.Truncated != c.truncated {
			t.Errorf("max %d: %d links, truncated %v", c.max, len(d.Links), d.Truncated)
		}
	}
}

func TestBadInput(t *testing.T) {
	var d Doc
	if err := d.Scan([]byte("<a href=x>"), Input{Format: HTML}); err == nil ||
		!strings.Contains(err.Error(), "without URL") {
		t.Errorf("a document without URL: %v", err)
	}
	// Spans from a corrupt store must not hurt.
	out, _ := replaceLinks(nil, []byte("abc"), "utf-8", []Link{
		{Start: 2, End: 1}, {Start: -1, End: 2}, {Start: 1, End: 9}, {Start: 1, End: 2}, {Start: 0, End: 1},
	},
		[]Edit{{
			Start: 7,
			End:   9,
			New:   "x",
			Link:  -1,
		}, {
			Start: 0,
			End:   0,
			New:   "y",
			Link:  99,
		}}, func(int) ([]byte, bool, bool) { return []byte("N"), true, true })
	if string(out) != "aNc" {
		t.Errorf("spliced %q", out)
	}
}

// TestSteadyState: a Doc that is used again hardly allocates for HTML.
func TestSteadyState(t *testing.T) {
	pages, _ := benchPages(t)
	var d Doc
	var out []byte
	for _, p := range pages {
		in := Input{URL: benchURL(t), Format: HTML, HeaderCharset: "utf-8"}
		ref := []byte("../x/y.html")
		target := func(int) ([]byte, bool, bool) { return ref, true, true }
		n := testing.AllocsPerRun(20, func() {
			if err := d.Scan(p, in); err != nil {
				t.Fatal(err)
			}
			out, _ = replaceLinks(out[:0], p, d.Charset, d.Links, d.Edits, target)
		})
		if n > 48 { // texts and spans of edits, the answers kept for them, the title, words, the charset
			t.Errorf("%d bytes: %g allocations", len(p), n)
		}
	}
}
