// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"strings"
	"testing"
)

// Words that differ are marked in both pages; markup, styles and pictures stay, scripts do not.
func TestMark(t *testing.T) {
	for _, tc := range []struct {
		name, a, b, wantA, wantB string
		words                    [2]int
	}{
		{
			"words", "<p>open from Thursday to Sunday", "<p>open from Wednesday to Sunday",
			"H<p>open from <del>Thursday</del> to Sunday", "H<p>open from <ins>Wednesday</ins> to Sunday",
			[2]int{1, 1},
		},
		{
			"a phrase is one mark", "<p>a b</p>", "<p>a one two b</p>",
			"H<p>a b</p>", "H<p>a <ins>one two</ins> b</p>", [2]int{0, 2},
		},
		{
			"not across tags", "<p>a</p>", "<p>x <b>y</b> z</p>",
			"H<p><del>a</del></p>", "H<p><ins>x</ins> <b><ins>y</ins></b> <ins>z</ins></p>", [2]int{1, 3},
		},
		{
			"references are what they say", "<p>a &amp; b", "<p>a &#38; b",
			"H<p>a &amp; b", "H<p>a &#38; b", [2]int{},
		},
		{
			"head", "<!DOCTYPE html><html><head><title>x</title></head><p>a", "<title>y</title><p>a",
			"<!DOCTYPE html><html><head>H<title>x</title></head><p>a", "H<title>y</title><p>a", [2]int{},
		},
		{
			"what acts is left out", `<script>a()</script><svg><style>b</style><text>c</text></svg><p>d`,
			`<base href=x><meta http-equiv=refresh content="0;x"><meta charset=x><meta name=y><script src=z /><p>d`,
			`H<svg><style>b</style><text>c</text></svg><p><del>d</del>`, `H<meta name=y>`, [2]int{1, 0},
		},
		{
			"characters", "<p>日本", "<p>日中本", "H<p>日本", "H<p>日<ins>中</ins>本", [2]int{0, 1},
		},
		{"nothing", "", "a", "H", "<ins>a</ins>H", [2]int{0, 1}},
	} {
		a, b := Body{[]byte(tc.a), "text/html"}, Body{[]byte(tc.b), "text/html"}
		m, ok := Mark(a, b, "H", Options{})
		if !ok || m.Cut || m.Words != tc.words || string(m.Pages[0]) != tc.wantA || string(m.Pages[1]) != tc.wantB {
			t.Errorf("%s: %v, %v, %v\n%s\n%s", tc.name, ok, m.Cut, m.Words, m.Pages[0], m.Pages[1])
		}
	}
	page := Body{[]byte("<p>a"), "text/html"}
	for _, other := range []Body{
		{[]byte("a"), "text/plain"}, {[]byte("\x89PNG"), "image/png"},
		{[]byte(strings.Repeat("a", MaxBytes+1)), "text/html"},
	} {
		if _, ok := Mark(page, other, "", Options{}); ok {
			t.Errorf("%s is marked", other.Type)
		}
	}
}

// Without its marks and head a page without scripts is what it was.
func FuzzMark(f *testing.F) {
	f.Add("<p>a <b>b</b> c", "<table><td>x<td>y</table>")
	f.Fuzz(func(t *testing.T, a, b string) {
		m, ok := Mark(Body{[]byte(a), "text/html; charset=utf-8"}, Body{[]byte(b), "text/html; charset=utf-8"},
			"", Options{})
		if !ok || m.Cut {
			return
		}
		for _, page := range m.Pages {
			if again, ok := Mark(Body{page, "text/html; charset=utf-8"}, Body{page, "text/html; charset=utf-8"},
				"", Options{}); !ok || again.Words != [2]int{} {
				t.Errorf("%q: differs from itself: %v, %v", page, ok, again.Words)
			}
			if s := strings.ToLower(string(page)); strings.Contains(s, "<script>") && !strings.Contains(s, "<svg") &&
				!strings.Contains(s, "<!--") {
				t.Errorf("a script stays: %q", page)
			}
		}
	})
}

// A page says its title once: a heading that repeats it is enough.
func TestSaid(t *testing.T) {
	for page, want := range map[string]string{
		"<title>Hours</title><p>Menu<h1>Hours</h1><p>From nine.":  "Menu\nHours\nFrom nine.",
		"<title>Hours</title><h1>Opening hours</h1><p>From nine.": "Hours\nOpening hours\nFrom nine.",
	} {
		if got := string(Said(Body{Data: []byte(page), Type: "text/html"}).Data); got != want {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
}
