// SPDX-License-Identifier: Apache-2.0

package charset

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
)

// What browsers do and what the bytes say differ where the document names nothing, or names what cannot be.
func TestRules(t *testing.T) {
	wide := "<\x00p\x00>\x00a\x00b\x00c\x00d\x00e\x00f\x00g\x00"
	pad := "<!--" + strings.Repeat("x", Window) + "-->"
	for _, c := range []struct {
		name, header, body string
		browser            string
		from               From
		content            string
		guess              bool
	}{
		{"nothing", "", "<p>", "windows-1252", FromDefault, "utf-8", true},
		{"UTF-8 mark", "koi8-r", "\xef\xbb\xbf<p>", "utf-8", FromMark, "utf-8", false},
		{"UTF-16 mark", "", "\xff\xfe<\x00", "utf-16le", FromMark, "utf-16le", false},
		{"header", "koi8-r", "<meta charset=big5>", "koi8-r", FromHeader, "koi8-r", false},
		{"meta", "", "<meta charset=Shift_JIS>", "shift_jis", FromDocument, "shift_jis", false},
		{"meta beyond the window of browsers", "", pad + "<meta charset=gbk>", "windows-1252", FromDefault,
			"gbk", false},
		{"Latin-1", "", "<meta charset=latin1>", "windows-1252", FromDocument, "windows-1252", false},
		{"ASCII", "", "<meta charset=us-ascii>", "windows-1252", FromDocument, "utf-8", true},
		{"ASCII in the header", "ascii", "<meta charset=koi8-r>", "windows-1252", FromHeader, "koi8-r", false},
		{"UTF-8 that is to be proved", "utf-8", "<p>", "utf-8", FromHeader, "utf-8", true},
		{"UTF-16 that cannot be", "utf-16be", "<meta charset=koi8-u>", "utf-16be", FromHeader, "koi8-u", false},
		{"UTF-16 in the document", "", "<meta charset=utf-16>", "utf-8", FromDocument, "utf-8", true},
		{"UTF-16 without a mark", "", wide, "windows-1252", FromDefault, "utf-16le", false},
		{"UTF-16 by the header", "utf-16be", "\x30\x42\x00 \x30\x44", "utf-16be", FromHeader, "utf-16be", false},
		{"unknown", "klingon", "<p>", "windows-1252", FromDefault, "utf-8", true},
	} {
		cs, from := Browser([]byte(c.body), HTML, c.header)
		if cs.String() != c.browser || from != c.from {
			t.Errorf("%s: browsers read %s from %d, want %s from %d", c.name, cs, from, c.browser, c.from)
		}
		if got := Content([]byte(c.body), c.header); got.String() != c.content || got.Guess != c.guess {
			t.Errorf("%s: the content is read as %s, guess %v, want %s, %v", c.name, got.Charset, got.Guess,
				c.content, c.guess)
		}
	}
}

func TestLookup(t *testing.T) {
	for label, want := range map[string]string{
		"UTF8": "utf-8", " \"utf-8\" ": "utf-8", "Latin1": "windows-1252", "utf-16": "utf-16le",
		"iso-2022-kr": "windows-1252", "sjis": "shift_jis",
	} {
		if c, ok := Lookup([]byte(label)); !ok || c.String() != want {
			t.Errorf("%q is %s, %v, want %s", label, c, ok, want)
		}
	}
	for _, label := range []string{"", "klingon", strings.Repeat("x", 40)} {
		if c, ok := Lookup([]byte(label)); ok {
			t.Errorf("%q is %s", label, c)
		}
	}
}

func TestIsText(t *testing.T) {
	for body, want := range map[string]bool{
		"": true, "a": true, "a\x00": false, "\xff\xfea\x00": true, strings.Repeat("a\x00", 8): true,
		strings.Repeat("\x00a", 8):              true,
		strings.Repeat("a\x00", 7) + "\x01\x00": false, strings.Repeat("a", textWindow) + "\x00": true,
	} {
		if IsText([]byte(body)) != want {
			t.Errorf("%.20q: %v", body, !want)
		}
	}
}

func TestMostlyUTF8(t *testing.T) {
	for body, want := range map[string]bool{
		"":          false,
		"é":         true,
		"é\xff":     false,
		"éé\xff":    true,
		"\xe9t\xe9": false,
	} {
		if MostlyUTF8([]byte(body)) != want {
			t.Errorf("%q: %v", body, !want)
		}
	}
}

// Of two attributes with one name the first counts, and charset before content.
func TestMetaAttributes(t *testing.T) {
	for body, want := range map[string]string{
		`<meta charset=koi8-r charset=big5>`:                                              "koi8-r",
		`<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=big5">`:              "big5",
		`<meta content="text/html; charset=big5" charset=koi8-r>`:                         "koi8-r",
		`<meta content="text/html; charset=big5"><meta charset=gbk>`:                      "gbk",
		`<meta http-equiv=refresh http-equiv=content-type content="1; charset=big5">`:     "windows-1252",
		`<meta charset=nosuch content="text/html; charset=big5" http-equiv=content-type>`: "windows-1252",
		`<title><meta charset=big5></title>`:                                              "windows-1252",
		`<meta charset=` + strings.Repeat(" ", Window) + `big5>`:                          "windows-1252",
	} {
		if c, _ := Browser([]byte(body), HTML, ""); c.String() != want {
			t.Errorf("%.80s: %s, want %s", body, c, want)
		}
	}
}

// For any body, both rules end, agree on marks, and give an encoding that decodes.
func FuzzRules(f *testing.F) {
	for _, body := range []string{
		"", "\xef\xbb\xbf", "<meta charset=koi8-r>\xc4", "<?xml version='1.0' encoding='gbk'?>",
		"<meta http-equiv=content-type content='text/html; charset=big5'>", "<a b='<meta charset=x",
		"<\x00?\x00x\x00",
	} {
		f.Add([]byte(body), "")
		f.Add([]byte(body), "utf-16")
	}
	f.Fuzz(func(t *testing.T, body []byte, header string) {
		for _, k := range []Syntax{Other, HTML, XML, CSS, JSON} {
			if c, _ := Browser(body, k, header); (c.Encoding == nil) != c.IsUTF8() {
				t.Errorf("%s without an encoding", c)
			}
		}
		c, from := Browser(body, HTML, header)
		r := Content(body, header)
		if (from == FromMark) != (r.Mark > 0) || r.Mark > len(body) {
			t.Errorf("mark of %d bytes, encoding from %d", r.Mark, from)
		}
		if from == FromMark && r.String() != c.String() {
			t.Errorf("%s and %s", c, r.Charset)
		}
		if (r.Encoding == nil) != r.IsUTF8() || (r.Guess && !r.IsUTF8()) || r.Encoding == charmap.ISO8859_1 {
			t.Errorf("%+v", r)
		}
		if len(body) > 0 && body[0] >= 0x80 {
			if n := c.Len(body); n < 1 || n > len(body) {
				t.Errorf("a character of %d bytes", n)
			} else {
				c.Decode(body[:n])
			}
		}
	})
}
