// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"fmt"
	"strings"
	"testing"
)

// relocated returns doc with every link that has a URL replaced by "nI", and every target inside the set
// unless it is on other.test.
func relocated(t *testing.T, doc string, in Input) (string, *Doc) {
	t.Helper()
	var d Doc
	if err := d.Scan([]byte(doc), in); err != nil {
		t.Fatal(err)
	}
	out, _ := replaceLinks(nil, []byte(doc), d.Charset, d.Links, d.Edits, func(i int) ([]byte, bool, bool) {
		if l := &d.Links[i]; strings.HasPrefix(string(l.URL), "http://other.test/") {
			return l.URL, false, !l.Absolute
		}
		return fmt.Appendf(nil, "n%d", i), true, d.Links[i].URL != nil
	})
	return string(out), &d
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		name, header string
		format       Format
		doc, want    string
	}{
		{"charset after head", "utf-8", HTML, `<!doctype html><html><head lang=x><title>ü</title>`,
			`<!doctype html><html><head lang=x><meta charset="utf-8"><title>ü</title>`},
		{"charset after html", "utf-8", HTML, `<!doctype html><html lang=en><title>`,
			`<!doctype html><html lang=en><meta charset="utf-8"><title>`},
		{"charset after doctype", "utf-8", HTML, `<!-- c --><!doctype html><title>x</title>`,
			`<!-- c --><!doctype html><meta charset="utf-8"><title>x</title>`},
		{"charset first", "utf-8", HTML, `<p>`, `<meta charset="utf-8"><p>`},
		{"charset declared already", "UTF8", HTML, `<meta charset=utf-8><p>`, `<meta charset=utf-8><p>`},
		{"charset declared otherwise", "koi8-r", HTML, "<html><meta charset=utf-8><head>\xc4",
			"<html><meta charset=\"koi8-r\"><meta charset=utf-8><head>\xc4"},
		{"charset is the default", "iso-8859-1", HTML, `<p>`, `<p>`},
		{"charset of a UTF-16 document", "utf-16le", HTML, "<\x00p\x00>\x00", "\xff\xfe<\x00p\x00>\x00"},
		{"charset with BOM", "utf-8", HTML, "\xef\xbb\xbf<p>", "\xef\xbb\xbf<p>"},
		{"charset in CSS", "shift_jis", CSS, "a{content:'\x95\x5c'}",
			"@charset \"shift_jis\";a{content:'\x95\x5c'}"},
		{"charset in CSS, declared otherwise", "koi8-r", CSS, "@charset \"utf-8\";\xc4{}",
			"@charset \"koi8-r\";\xc4{}"},
		{"charset in CSS of ASCII only", "shift_jis", CSS, "a{}", "a{}"},
		{"charset in XML", "koi8-r", SVG, "<svg>\xc4</svg>",
			"<?xml version=\"1.0\" encoding=\"koi8-r\"?><svg>\xc4</svg>"},
		{"charset in XML declaration", "koi8-r", SVG, "<?xml version='1.0'?><svg>\xc4</svg>",
			"<?xml version='1.0' encoding=\"koi8-r\"?><svg>\xc4</svg>"},
		{"charset in XML declaration with standalone", "koi8-r", SVG,
			"<?xml version='1.0' standalone='yes'?><svg>\xc4</svg>",
			"<?xml version='1.0' encoding=\"koi8-r\" standalone='yes'?><svg>\xc4</svg>"},
		{"charset in XML, other", "koi8-r", SVG, "<?xml version='1.0' encoding='utf-8'?><svg>\xc4</svg>",
			"<?xml version='1.0' encoding='koi8-r'?><svg>\xc4</svg>"},

		{"base with target", "", HTML, `<base href="/b/" target=_top><a href=x>`,
			`<base href="" target=_top><a href=n0>`},
		{"base unquoted", "", HTML, `<base href=/b/ target=_top><a href=x>`,
			`<base href="" target=_top><a href=n0>`},
		{"second base has no effect", "", HTML, `<base href="/b/"><base href="/c/"><a href=x>`,
			`<base href=""><base href="/c/"><a href=n0>`},
		{"base without href does not count", "", HTML, `<base target=x><base href="/c/"><a href=x>`,
			`<base target=x><base href=""><a href=n0>`},
		{"base in a template is inert", "", HTML, `<template><base href="/t/"></template><a href=#x>`,
			`<template><base href="/t/"></template><a href=#x>`},
		{"base in noscript is for those without scripts", "", HTML,
			`<noscript><base href="/n/"></noscript><base href="/b/"><a href="//other.test/">x</a><a href=#x>`,
			`<noscript><base href=""></noscript><base href=""><a href="http://other.test/">x</a><a href=n1#x>`},
		{"base in SVG and MathML does not count", "", HTML,
			`<svg><base href="/s/"/></svg><math><base href="/m/"/></math><a href=#x>`,
			`<svg><base href="/s/"/></svg><math><base href="/m/"/></math><a href=#x>`},
		{"base and fragments", "", HTML,
			`<a href="#a">a</a><base href='/b/'><a href='#b'>b</a><a href=''>c</a><a href=#d>d</a>`,
			`<a href="n0#a">a</a><base href=''><a href='n1#b'>b</a><a href='n2'>c</a><a href=n3#d>d</a>`},
		{"base that is the page itself", "", HTML, `<base href="page.html"><a href="#x">`,
			`<base href=""><a href="#x">`},
		{"base in srcdoc", "", HTML, `<iframe srcdoc="<base href='/b/'><a href='x'><a href='#y'>">`,
			`<iframe srcdoc="<base href=''><a href='n0'><a href='#y'>">`},
		{"no base: fragments stay", "", HTML, `<a href="#a"><a href=""><form action=""><img src="">`,
			`<a href="#a"><a href=""><form action=""><img src="">`},

		{"integrity inside, before and after", "", HTML,
			`<script integrity="sha384-x" src="a.js" crossorigin="anonymous"></script>`,
			`<script integrity="" src="n0" ></script>`},
		{"integrity unquoted", "", HTML, `<link integrity=sha1-x rel=stylesheet href=a.css crossorigin>`,
			`<link integrity="" rel=stylesheet href=n0 >`},
		{"integrity outside", "", HTML, `<script integrity=x crossorigin src=http://other.test/a.js></script>`,
			`<script integrity=x crossorigin src=http://other.test/a.js></script>`},
		{"two crossorigins", "", HTML, `<img crossorigin=a crossorigin=b src=x>`, `<img   src=n0>`},
		{"crossorigin of a video's source", "", HTML, `<video crossorigin><source src=x></video>`,
			`<video ><source src=n0></video>`},
		{"CSP", "", HTML,
			`<meta content="default-src 'self'" http-equiv="Content-Security-Policy"><meta http-equiv=content-security-policy content=x>`, `<meta content="" http-equiv="Content-Security-Policy"><meta http-equiv=content-security-policy content="">`},

		{"scheme-relative becomes absolute", "", HTML, `<a href="//other.test/x?a&b">`,
			`<a href="http://other.test/x?a&amp;b">`},
		{"scheme without slashes", "", HTML, `<a href="http:x">`, `<a href="n0">`},
		{"absolute outside stays as it is spelled", "", HTML, `<a href=" HTTP://OTHER.test:80/x ">`,
			`<a href=" HTTP://OTHER.test:80/x ">`},
		{"other schemes", "", HTML,
			`<a href="javascript:x()"><a href=mailto:a@b><img src="data:x"><a href=" about:blank"><a href="ftp://x/"><a href=tel:1><a href="java` + "\n" + `script:x">`, `<a href="javascript:x()"><a href=mailto:a@b><img src="data:x"><a href=" about:blank"><a href="ftp://x/"><a href=tel:1><a href="java` + "\n" + `script:x">`},
		{"no URL", "", HTML, `<a href="http://[x/">`, `<a href="http://[x/">`},
		{"fragment written as a reference", "", HTML, `<a href="x&#35;y"><a href=z&num;w>`,
			`<a href="n0&#35;y"><a href=n1&num;w>`},
		{"white space as references", "", HTML, "<a href='&#32;&Tab;x&#10; '><a href=' &#32; #y'>",
			"<a href='&#32;&Tab;n0&#10; '><a href=' &#32; #y'>"},
		{"white space stays", "", HTML, "<a href=\" x\n\">", "<a href=\" n0\n\">"},
		{"preconnect is no link", "", HTML, `<link rel=preconnect href=//x><link rel="dns-prefetch" href=//y>`,
			`<link rel=preconnect href=//x><link rel="dns-prefetch" href=//y>`},
		{"attribute without value", "", HTML, `<base href=/b/><a href>`, `<base href=""><a href>`},
		{"first of two attributes", "", HTML, `<a href=x href=y>`, `<a href=n0 href=y>`},
		{"text is not markup", "", HTML,
			`<textarea><a href=x></textarea><!-- <a href=y> --><script>"<a href=z>"</script><title><a href=w></title>`,
			`<textarea><a href=x></textarea><!-- <a href=y> --><script>"<a href=z>"</script><title><a href=w></title>`},
		{"self-closing script in SVG", "", HTML, `<svg><script href="a.js"/><style/><a href=x></a></svg><a href=y>`,
			`<svg><script href="n0"/><style/><a href=n1></a></svg><a href=n2>`},
		{"CDATA in SVG", "", HTML, `<svg><![CDATA[<a href=x>]]></svg><![CDATA[<a href=y>]]>`,
			`<svg><![CDATA[<a href=x>]]></svg><![CDATA[<a href=y>]]>`},
		{"CSS comments and strings", "", CSS, `/* url(x) */ a{content:"url(y)"; b:url(z)}`,
			`/* url(x) */ a{content:"url(y)"; b:url(n0)}`},
		{"CSS bad url", "", CSS, `a{b:url(x y);c:url(z'z);d:url(ok)}`, `a{b:url(x y);c:url(z'z);d:url(n0)}`},
		{"CSS namespace and fragment", "", CSS, `@namespace "http://x/";a{b:url(#f);c:url(data:x)}`,
			`@namespace "http://x/";a{b:url(#f);c:url(data:x)}`},
		{"CSS not url", "", CSS, `a{b:xurl(y);c:my-url(z);d:url (w)}`, `a{b:xurl(y);c:my-url(z);d:url (w)}`},
		{"script in an encoding of the header", "windows-1251", Script, "w(\"\xc4\xee\xec\")", "\ufeffw(\"Дом\")"},
		{"script in ASCII", "windows-1251", Script, `w("a")`, `w("a")`},
		{"guid stays", "", Feed,
			`<rss><item><guid>http://zoo.test/1</guid><link>http://zoo.test/1</link></item></rss>`,
			`<rss><item><guid>http://zoo.test/1</guid><link>n1</link></item></rss>`},
		{"xml:base", "", Feed, `<feed xml:base="http://zoo.test/a/"><link href="x"/></feed>`,
			`<feed xml:base=""><link href="n0"/></feed>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := Input{URL: mustURL(t, "http://zoo.test/dir/page.html"), Format: c.format, HeaderCharset: c.header}
			got, _ := relocated(t, c.doc, in)
			if got != c.want {
				t.Fatalf("got\n%s\nwant\n%s", got, c.want)
			}
			if c.header == "" {
				checkRelocation(t, []byte(c.doc), in)
			}
		})
	}
}

func TestScanFacts(t *testing.T) {
	doc := `<!doctype html><html lang="en-GB"><head><title>
 A &lt;b&gt;   c </title><meta name=robots content="noindex, nofollow"><META NAME="Mirrord" CONTENT=none><title>second</title>
<body><a rel="external NoFollow" href=/a>a</a><a rel="ugc sponsored" href=b?x>b</a><area href="c.html" rel=nofollow><a href="http://x.test/d">d</a><a href="&#101;">e</a><a href=../f/g.html#h>g</a>`
	_, d := relocated(t, doc, Input{
		URL:  mustURL(t, "http://zoo.test/dir/page.html"),
		MIME: "text/html; charset=utf-8",
	})
	if d.Title != "A <b> c" || d.Lang != "en-GB" || d.Format != HTML {
		t.Errorf("title %q, lang %q, format %s", d.Title, d.Lang, d.Format)
	}
	if want := []RobotsMeta{
		{"robots", "noindex, nofollow"}, {"mirrord", "none"},
	}; fmt.Sprint(d.Robots) != fmt.Sprint(want) {
		t.Errorf("robots %v", d.Robots)
	}
	var got []string
	for _, l := range d.Links {
		got = append(got,
			fmt.Sprintf("%s nofollow=%t absolute=%t plain=%t", l.URL, l.NoFollow, l.Absolute, l.Plain))
	}
	want := []string{
		"http://zoo.test/a nofollow=true absolute=false plain=false",
		"http://zoo.test/dir/b?x nofollow=false absolute=false plain=false",
		"http://zoo.test/dir/c.html nofollow=true absolute=false plain=true",
		"http://x.test/d nofollow=false absolute=true plain=false",
		"http://zoo.test/dir/e nofollow=false absolute=false plain=false",
		"http://zoo.test/f/g.html nofollow=false absolute=false plain=true",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestRefs(t *testing.T) {
	for in, want := range map[string]string{
		`<a href="x #f">`:               "x%20|http://zoo.test/dir/x%20",
		`<a href="x&#32;&#35;f">`:       "x%20|http://zoo.test/dir/x%20",
		`<a href=" x ">`:                "x|http://zoo.test/dir/x",
		"<a href='x\ty\n'>":             "x\ty|http://zoo.test/dir/xy",
		"<a href='\x00'>":               "\ufffd|http://zoo.test/dir/%EF%BF%BD",
		`<a href="&amp;&notin;&not;a">`: "&∉¬a|http://zoo.test/dir/&%E2%88%89%C2%ACa",
		`<a href="&#x68;ttp://a/">`:     "http://a/|http://a/",
		`<a href="\\h\p">`:              `\\h\p|http://h/p`,
	} {
		_, d := relocated(t, in, Input{
			URL:           mustURL(t, "http://zoo.test/dir/page.html"),
			Format:        HTML,
			HeaderCharset: "utf-8",
		})
		if len(d.Links) != 1 {
			t.Errorf("%q: %d links", in, len(d.Links))
			continue
		}
		if got := string(d.Links[0].Ref) + "|" + string(d.Links[0].URL); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestRefreshURL(t *testing.T) {
	for in, want := range map[string]string{
		"5; url=x":                 "x",
		" 0.5 ;  URL = 'a b' junk": "a b",
		`1,url="x`:                 `x`,
		"1 x":                      "x",
		"0;x":                      "x",
		"0; urlx":                  "urlx",
		"0; url":                   "url",
		"0;url=":                   "",
		"5":                        "",
		"url=x":                    "",
		"; url=x":                  "",
		"5x; url=y":                "",
		"":                         "",
	} {
		if got := RefreshURL(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
