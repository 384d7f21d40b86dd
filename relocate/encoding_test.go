// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"
)

// encode returns s in the named encoding; UTF-16 without mark.
func encode(t testing.TB, name, s string) []byte {
	t.Helper()
	if name == "utf-16be" || name == "utf-16le" {
		var out []byte
		sp := newSplicer(nil, name, nil, nil)
		for _, r := range s {
			out = sp.appendRune(out, r)
		}
		return out
	}
	enc, err := htmlindex.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := enc.NewEncoder().Bytes([]byte(s))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// TestEncodings scans and splices the same page in many encodings. The text is chosen so that trailing bytes
// collide with ASCII: 表 and ソ end in a backslash in Shift_JIS, 功 in Big5.
func TestEncodings(t *testing.T) {
	japanese :=
		`<html><head><title>表ソ</title></head><body title="表"><a href="表.html?q=表#表">ソ</a><style>a::before{content:"表";background:url("ソ.png")}</style><p style='background:url(表.png)'><img alt="能" src=ソ.gif></body></html>`
	chinese :=
		`<html><title>功</title><a href="功.html?q=功#功">許</a><style>a::before{content:"功";background:url("許.png")}</style><img src=功.gif>`
	korean :=
		`<html><title>한국</title><a href="한국.html?q=한#국">x</a><style>a{content:"한";background:url("국.png")}</style><img src=한.gif>`
	russian :=
		`<html><title>Привет</title><a href="Привет.html?q=Да#Нет">x</a><style>a{content:"Д";background:url("ю.png")}</style><img src=я.gif>`
	for _, c := range []struct {
		name, text, path, query string // of the first link
	}{
		{"utf-8", japanese, "/dir/%E8%A1%A8.html", "q=%E8%A1%A8"},
		{"utf-16le", japanese, "/dir/%E8%A1%A8.html", "q=%E8%A1%A8"},
		{"utf-16be", japanese, "/dir/%E8%A1%A8.html", "q=%E8%A1%A8"},
		{"shift_jis", japanese, "/dir/%E8%A1%A8.html", "q=%95\\"},
		{"euc-jp", japanese, "/dir/%E8%A1%A8.html", "q=%C9%BD"},
		{"iso-2022-jp", japanese, "/dir/%E8%A1%A8.html", "q=%1B$BI=%1B(B"},
		{"big5", chinese, "/dir/%E5%8A%9F.html", "q=%A5\\"},
		{"gbk", chinese, "/dir/%E5%8A%9F.html", "q=%B9%A6"},
		{"gb18030", chinese, "/dir/%E5%8A%9F.html", "q=%B9%A6"},
		{"euc-kr", korean, "/dir/%ED%95%9C%EA%B5%AD.html", "q=%C7%D1"},
		{"windows-1251", russian, "/dir/%D0%9F%D1%80%D0%B8%D0%B2%D0%B5%D1%82.html", "q=%C4%E0"},
		{"koi8-r", russian, "/dir/%D0%9F%D1%80%D0%B8%D0%B2%D0%B5%D1%82.html", "q=%E4%C1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := encode(t, c.name, c.text)
			in := Input{URL: mustURL(t, "http://zoo.test/dir/page.html"), Format: HTML, HeaderCharset: c.name}
			checkRelocation(t, raw, in)
			var d Doc
			if err := d.Scan(raw, in); err != nil {
				t.Fatal(err)
			}
			if d.Charset != c.name {
				t.Errorf("charset %s, want %s", d.Charset, c.name)
			}
			if got, want := string(d.Links[0].URL), "http://zoo.test"+c.path+"?"+c.query; got != want {
				t.Errorf("first link %s, want %s", got, want)
			}
			if n := strings.Count(c.text, "href=") + strings.Count(c.text, "src=") +
				strings.Count(c.text, "url("); len(d.Links) != n {
				t.Errorf("%d links, want %d: %+v", len(d.Links), n, d.Links)
			}
			want := c.text[strings.Index(c.text, "<title>")+7 : strings.Index(c.text, "</title>")]
			if d.Title != want {
				t.Errorf("title %q, want %q", d.Title, want)
			}
			out, _ := replaceLinks(nil, raw, d.Charset, d.Links, nil, func(int) ([]byte, bool, bool) {
				return []byte("n.html"), true, true
			})
			want = c.text
			for _, old := range []string{
				"表.html?q=表", "ソ.png", "表.png", "ソ.gif", "功.html?q=功", "許.png", "功.gif", "한국.html?q=한", "국.png", "한.gif",
				"Привет.html?q=Да", "ю.png", "я.gif",
			} {
				want = strings.ReplaceAll(want, old, "n.html")
			}
			dec := decodeAll(t, c.name, out)
			if dec != want {
				t.Errorf("spliced\n%s\nwant\n%s", dec, want)
			}
		})
	}
}

func decodeAll(t *testing.T, name string, b []byte) string {
	t.Helper()
	enc, err := htmlindex.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := enc.NewDecoder().Bytes(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestSniff(t *testing.T) {
	pad := "<!--" + strings.Repeat("x", 1100) + "-->"
	for _, c := range []struct {
		name, header, doc string
		format            Format
		want              string
		from              CharsetFrom
	}{
		{"nothing", "", "<p>", HTML, "windows-1252", FromDefault},
		{"latin1 means windows-1252", "", "<meta charset=iso-8859-1>", HTML, "windows-1252", FromDocument},
		{"BOM beats header", "windows-1251", "\xef\xbb\xbf<p>", HTML, "utf-8", FromBOM},
		{"UTF-16 BOM", "utf-8", "\xfe\xff\x00<", HTML, "utf-16be", FromBOM},
		{"header beats meta", "koi8-r", "<meta charset=utf-8>", HTML, "koi8-r", FromHeader},
		{"unknown header", "klingon", "<meta charset=koi8-r>", HTML, "koi8-r", FromDocument},
		{"meta charset", "", `<html><meta charset="UTF8">`, HTML, "utf-8", FromDocument},
		{"meta http-equiv", "", `<META content="text/html; charset=Shift_JIS" http-equiv='Content-Type'>`, HTML,
			"shift_jis", FromDocument},
		{"content without http-equiv", "", `<meta content="text/html; charset=big5">`, HTML, "windows-1252",
			FromDefault},
		{"meta says UTF-16", "", `<meta charset=utf-16>`, HTML, "utf-8", FromDocument},
		{"meta says x-user-defined", "", `<meta charset=x-user-defined>`, HTML, "windows-1252", FromDocument},
		{"meta in a comment", "", `<!-- <meta charset=big5> --><meta charset=gbk>`, HTML, "gbk", FromDocument},
		{"comment of two dashes", "", `<!--><meta charset=gbk>-->`, HTML, "gbk", FromDocument},
		{"meta in an attribute", "", `<a b="<meta charset=big5>"><meta charset=gbk>`, HTML, "gbk", FromDocument},
		{"meta in a processing instruction", "", `<?x <meta charset=big5> ?><meta charset=gbk>`, HTML, "gbk",
			FromDocument},
		{"first meta counts", "", `<meta charset=gbk><meta charset=big5>`, HTML, "gbk", FromDocument},
		{"bad label, then good", "", `<meta charset=klingon><meta charset=big5>`, HTML, "big5", FromDocument},
		{"meta beyond the prescan", "", pad + "<meta charset=koi8-r>\xc4", HTML, "koi8-r", FromDocument},
		{"XML declaration in HTML", "", `<?xml version="1.0" encoding="koi8-r"?><html>`, HTML, "koi8-r",
			FromDocument},
		{"XML default", "", `<svg/>`, SVG, "utf-8", FromDefault},
		{"XML declaration", "", `<?xml version='1.0' encoding='windows-1251'?><svg/>`, SVG, "windows-1251",
			FromDocument},
		{"CSS default", "", `a{}`, CSS, "utf-8", FromDefault},
		{"CSS @charset", "", `@charset "shift_jis";`, CSS, "shift_jis", FromDocument},
		{"CSS @charset spelled otherwise", "", `@charset 'shift_jis';`, CSS, "utf-8", FromDefault},
		{"manifest is UTF-8", "koi8-r", `{}`, Manifest, "utf-8", FromDefault},
		{"replacement", "iso-2022-kr", `<a href=x>`, HTML, "windows-1252", FromHeader},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d Doc
			if err := d.Scan([]byte(c.doc), Input{
				URL:           mustURL(t, "http://zoo.test/"),
				Format:        c.format,
				HeaderCharset: c.header,
			}); err != nil {
				t.Fatal(err)
			}
			if d.Charset != c.want || d.CharsetFrom != c.from {
				t.Errorf("%s from %d, want %s from %d", d.Charset, d.CharsetFrom, c.want, c.from)
			}
		})
	}
}
