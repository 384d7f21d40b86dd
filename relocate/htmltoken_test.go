// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// xnetTokens renders what golang.org/x/net/html's Tokenizer makes of s: tags with attributes, raw text,
// comments by their end.
func xnetTokens(s []byte) []string {
	z := html.NewTokenizer(bytes.NewReader(s))
	var out []string
	at, raw := 0, ""
	for {
		tt := z.Next()
		start := at
		at += len(z.Raw())
		switch tt {
		case html.ErrorToken:
			return out
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			var b strings.Builder
			fmt.Fprintf(&b, "%d <%s", start, name)
			raw = string(name)
			for more {
				var k, v []byte
				k, v, more = z.TagAttr()
				fmt.Fprintf(&b, " %q=%q", k, v)
			}
			out = append(out, b.String())
			continue
		case html.EndTagToken:
			name, _ := z.TagName()
			out = append(out, fmt.Sprintf("%d </%s", start, name))
		case html.TextToken:
			switch raw {
			case "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "noscript",
				"plaintext":
				out = append(out, fmt.Sprintf("%d raw %d", start, at))
			}
		case html.CommentToken, html.DoctypeToken:
			out = append(out, fmt.Sprintf("%d markup %d", start, at))
		}
		raw = ""
	}
}

// ownTokens renders the same with the primitives of this package.
func ownTokens(s []byte) []string {
	var out []string
	var d Doc
	d.sc.d = &d
	for p := 0; ; {
		i := bytes.IndexByte(s[p:], '<')
		if i < 0 {
			return out
		}
		p += i + 1
		if p >= len(s) {
			return out
		}
		start := p - 1
		switch c := s[p]; {
		case letter(c):
			end, _ := tagName(s, p)
			name := lower(s[p:end])
			var b strings.Builder
			fmt.Fprintf(&b, "%d <%s", start, name)
			seen := map[string]bool{}
			var a rawAttr
			for p = end; ; {
				if p = nextAttr(s, p, &a); p < 0 {
					break
				}
				// The Tokenizer looks for duplicates before it replaces NUL, so names must be compared as written.
				raw := rawLower(s[a.k0:a.k1])
				if a.k0 == a.k1 || seen[raw] {
					continue
				}
				seen[raw] = true
				v := view{s: s[a.v0:a.v1], off: int32(a.v0)}
				t := d.sc.attrText(v, false)
				fmt.Fprintf(&b, " %q=%q", lower(s[a.k0:a.k1]), t.s)
			}
			if p == attrEOF {
				return out
			}
			p = a.end
			out = append(out, b.String())
			switch name {
			case "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "noscript":
				if end := rawEnd(s, p, name); end > p {
					out = append(out, fmt.Sprintf("%d raw %d", p, end))
					p = end
				}
			case "plaintext":
				if p < len(s) {
					out = append(out, fmt.Sprintf("%d raw %d", p, len(s)))
				}
				return out
			}
		case c == '/':
			if p+1 >= len(s) {
				return out
			}
			if letter(s[p+1]) {
				end, _ := tagName(s, p+1)
				name := lower(s[p+1 : end])
				if p = skipTag(s, p+1); p < 0 {
					return out
				}
				out = append(out, fmt.Sprintf("%d </%s", start, name))
				continue
			}
			p = after(s, p+1, '>')
			out = append(out, fmt.Sprintf("%d markup %d", start, p))
		case c == '!':
			p = skipMarkup(s, p+1)
			out = append(out, fmt.Sprintf("%d markup %d", start, p))
		case c == '?':
			p = after(s, p, '>')
			out = append(out, fmt.Sprintf("%d markup %d", start, p))
		}
	}
}

func rawLower(b []byte) string {
	c := bytes.Clone(b)
	for i := range c {
		if 'A' <= c[i] && c[i] <= 'Z' {
			c[i] += 'a' - 'A'
		}
	}
	return string(c)
}

func lower(b []byte) string { return strings.ReplaceAll(rawLower(b), "\x00", "\ufffd") }

func compareTokens(t *testing.T, s []byte) {
	t.Helper()
	got, want := ownTokens(s), xnetTokens(s)
	for i := 0; i < len(got) || i < len(want); i++ {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Fatalf("token %d of %q:\n got %s\nwant %s", i, s, g, w)
		}
	}
}

var tokenSeeds = []string{
	`<a href="x">y</a>`, `<a href=x/ y>`, `<a =b =c>`, `<a/b/c="d"e='f'g=h>`, `<a b=c b=d B=e>`,
	`<a b="&amp;&lt;&notit;&not=&copy&copy;&copyx">`,
	`<A HREF=&#x41;&#65;&#0;&#128;&#xD800;&#x110000;&#x;&#;&fjlig;&semi;&bogus;>`, "<a b='c\r\nd\re\x00f'>",
	`</a b="c>d">`, `</>`, `</ >`, `</1>`,
	`<!-- a -->`, `<!-->`, `<!--->`, `<!---->`, `<!----!>`, `<!--a--!>b-->`, `<!--a--!-->`, `<!--a--!->-->`,
	`<!-`, `<!`, `<!>`, `<!DOCTYPE html>`, `<!doctype`,
	`<![CDATA[x]]>`, `<![CDATA[<a>]]>`, `<?php echo ">" ?>`, `<script>a<b</script>`,
	`<script><!-- <script> </script> --></script>`,
	`<script><!--<script></script></script>`, `<script><!-- </script>`, `<script>x</scrip></script x="y">`,
	`<style></style>`, `<style></STYLE/>`, `<title>&amp;</title>`,
	`<textarea><b></textarea>`, `<xmp><a></xmp>`, `<plaintext><a>`, `<iframe><a></iframe>`,
	`<noscript><a></noscript>`, `<noembed>x</noembed y>`, `<a`, `<a `, `<a b`, `<a b=`, `<a b="`, `<a b="c"`,
	`<script`, `<script>`, `<script><`, `<script><!`, `<script><!--`, `<script><!--<script`,
	`<script><!--<script>`, `<script></script`, "<a\x00b c\x00d=e\x00f>", `a<b<c>`, `<<a>>`, `<a b==c>`,
	`<a "=b>`, `<a b=">"c>`, `<a b = c>`, "<a\fb>",
	`<a b="c"d>`, `<a / >`, `<a b / c>`, `<a b/=c>`, `<script><!-->x</script>`, `<script><!--->x</script>`,
	`<script><!--x--y-->z</script>`,
	`<script><!--<script>x</script >y</script>`, `<script><!--<scripty></script>`,
	"<a b=&#x80;&#13;&#10;&AMP&AMP;&LT>", `<a b=&#x81;&#x8d;&#143;&#x90;&#x9d;&#x9f;>`,
}

func TestHTMLTokens(t *testing.T) {
	for _, s := range tokenSeeds {
		compareTokens(t, []byte(s))
		for i := range s { // cut off anywhere
			compareTokens(t, []byte(s[:i]))
		}
	}
}

// TestPages does the same, and relocates, for whole pages: those of testdata or of RELOCATE_PAGES.
func TestPages(t *testing.T) {
	pages, _ := benchPages(t)
	for _, p := range pages {
		compareTokens(t, p)
		checkRelocation(t, p, Input{URL: benchURL(t), Format: HTML})
	}
}

// FuzzHTMLTokens holds the tokenizer against golang.org/x/net/html's: same tags, attribute names and decoded
// values in order, same ends of raw text, comments and declarations.
func FuzzHTMLTokens(f *testing.F) {
	for _, s := range tokenSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, s []byte) {
		if !EscapedSign.Match(s) {
			compareTokens(t, s)
		}
	})
}

// EscapedSign finds scripts in which a < that begins no tag is behind a <!--. There x/net/html leaves the
// escaped state, which the standard does not (WHATWG HTML, 13.2.5.23).
var EscapedSign = regexp.MustCompile(`(?is)<script.*<!--.*<[^a-z/]`)

// A < that begins no tag does not end what <!-- began in a script, as browsers have it.
func TestScriptEscapedSign(t *testing.T) {
	s := "<script><!--<<script></script>"
	want := fmt.Sprintf("8 raw %d", len(s))
	if got := ownTokens([]byte(s)); len(got) < 2 || got[1] != want {
		t.Errorf("%q: %q, want %s", s, got, want)
	}
}
