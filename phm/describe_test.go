// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		name, page string
		want       Description
	}{
		{"usual", `<!DOCTYPE html><html lang="en-GB"><head><title> Samba:
			opening   windows </title><meta name="Description" content="A file &amp; print server"><meta name=author content="A"><meta name="author" content=" B "><meta name=author content=A>
			<meta name=copyright content="1992 the Team"></head><body><h1>x</h1>`,
			Description{
				Title:     "Samba: opening windows",
				Abstract:  "A file & print server",
				Authors:   []string{"A", "B"},
				Copyright: "1992 the Team",
				Language:  "en-GB",
			}},
		{"og", `<meta property="og:title" content="T"><meta property="og:description" content="D">`, Description{
			Title:    "T",
			Abstract: "D",
		}},
		{"heading", `<h1>Only <b>this</b></h1>`, Description{Title: "Only this"}},
		{"dublin core", `<meta name="DC.Creator" content="C"><meta name="dcterms.rights" content="R"><meta name="DC.description" content="D">`, Description{
			Authors:   []string{"C"},
			Copyright: "R",
			Abstract:  "D",
		}},
		{"footer", "<title>t</title><body><p>About Copyright law<footer>Contact\n Copyright © 2001 X Ltd " +
			"\nmore</footer>", Description{
			Title:     "t",
			Copyright: "Copyright © 2001 X Ltd",
		}},
		{"no claim", "<title>t</title><p>The history of copyright.</p>", Description{Title: "t"}},
		{"noscript", `<title>t</title><noscript><meta name=description content="seen without scripts"></noscript>`, Description{
			Title:    "t",
			Abstract: "seen without scripts",
		}},
		{"svg title", `<svg><title>icon</title></svg><title>page</title>`, Description{Title: "page"}},
		{"Shift_JIS", "<meta charset=Shift_JIS><title>\x93\xfa\x96\x7b</title>", Description{Title: "日本"}},
		{"windows-1252", "<title>caf\xe9</title>", Description{Title: "café"}},
		{"UTF-16", "\xff\xfe<\x00t\x00i\x00t\x00l\x00e\x00>\x00a\x00", Description{Title: "a"}},
		{"BOM", "\ufeff<title>é</title>", Description{Title: "é"}},
		{"hostile text", "<html lang='\"><script>'><title>a\x00b\u202ec\x1b[31m</title>",
			Description{Title: "abc[31m"}},
		{"empty", "", Description{}},
		{"binary", "\x00\x01\x02\xff\xfe", Description{}},
	} {
		if got := Describe([]byte(c.page)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

// TestDescribeNesting: a page nested too deeply for the parser still has a title.
func TestDescribeNesting(t *testing.T) {
	want := Description{Title: "T Ⱥ", Abstract: "D", Language: "de"}
	for _, body := range []string{"<BODY>", "</head>", ""} {
		page := `<html lang=de><meta charset=utf-8><meta name=description content=D><title>T Ⱥ</title>` + body +
			strings.Repeat("<div>", 100_000) + "x"
		if got := Describe([]byte(page)); !reflect.DeepEqual(got, want) {
			t.Errorf("with %q: got %+v, want %+v", body, got, want)
		}
	}
	if got := Describe([]byte(strings.Repeat("<x-y>", 100_000))); !reflect.DeepEqual(got, Description{}) {
		t.Errorf("got %+v of nothing", got)
	}
}

func checkDescription(t *testing.T, d Description) {
	t.Helper()
	for _, s := range append([]string{d.Title, d.Copyright, d.Abstract, d.Language}, d.Authors...) {
		if !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r\x00\x1b") ||
			utf8.RuneCountInString(s) > maxAbstract {
			t.Fatalf("not a line of text: %q", s)
		}
	}
	if len(d.Authors) > maxAuthors {
		t.Fatalf("%d authors", len(d.Authors))
	}
}

func FuzzDescribe(f *testing.F) {
	for _, s := range []string{
		"<title>a</title>", "<meta name=author content='x\u2028y'>", "<footer>© 1</footer>",
		strings.Repeat("<b>", 600) + "<title>x", "\xff\xfe<\x00", "<meta charset=utf-7><html lang=a>",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		checkDescription(t, Describe(page))
	})
}
