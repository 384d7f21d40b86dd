// SPDX-License-Identifier: Apache-2.0

package relocate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
)

// oracleURLs returns the arguments of url(), in both forms and with escapes still in them, as tdewolff's
// lexer finds them.
func oracleURLs(s []byte) []string {
	l := css.NewLexer(parse.NewInputBytes(bytes.Clone(s)))
	var out []string
	for {
		tt, data := l.Next()
		switch tt {
		case css.ErrorToken:
			return out
		case css.URLToken:
			i := bytes.IndexByte(data, '(')
			arg := bytes.Trim(bytes.TrimSuffix(data[i+1:], []byte(")")), " \t\r\n\f")
			if len(arg) > 1 && (arg[0] == '"' || arg[0] == '\'') && arg[len(arg)-1] == arg[0] {
				arg = arg[1 : len(arg)-1]
			}
			out = append(out, string(arg))
		}
	}
}

// ownURLs returns what css finds as it is written.
func ownURLs(t *testing.T, s []byte) []string {
	t.Helper()
	var d Doc
	if err := d.Scan(s, Input{
		URL:           mustURL(t, "http://zoo.test/dir/s.css"),
		Format:        CSS,
		HeaderCharset: "utf-8",
	}); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range d.Links {
		out = append(out, string(s[l.Start:l.End]))
	}
	return out
}

var cssSeeds = []string{
	`a{b:url(c)}`, `a{b:url( "c" )}`, `a{b:URL('c\'d')}`, `/*url(a)*/b{c:url(d)}`, `a{b:"url(c)";d:url(e)}`,
	`a{b:url(c d);e:url(f)}`, `a{b:url(c"d);e:url(f)}`,
	`url(a`, `url("a`, `url( a )`, `url(a\)b)`, `url(a\`, `url()`, `url("")`, `xurl(a)`, `-url(a)`, `1url(a)`,
	`@url(a)`, `#url(a)`, `a\url(b)`, `url/**/(a)`, "url(\n\ta\n)",
	"a{b:'c\nd';e:url(f)}", "a{b:'c\\\nd';e:url(f)}", `</style>url(a)`, `<!--url(a)-->`, `a{--x:url(y)}`,
	`@media x{a{b:url(c)}}`, `url(a)url(b)`, `u\72l(a)`, `\75 rl(a)`, `url(a\62 c)`,
	`@supports (background:url(a)){}`, `@document url(a){}`, `a:not([b="url(c)"]){d:url(e)}`, `url(a(b)`,
	"url(a\x00b)", "url(é)", `url("a" format("x"))`, `src("a")`, `url(`, `url`, `"`, `\`, `@import`, `@import "`,
	`/*`, `image-set(`,
}

// TestCSSOracle compares the url()s found with those of an independent lexer.
func TestCSSOracle(t *testing.T) {
	// Where the two differ and why:
	skip := []string{
		`u\72l(a)`, `\75 rl(a)`, // the lexer does not decode escapes in the name
		`@document url(a){}`,                    // a pattern, no link
		`src("a")`,                              // newer than the lexer
		`url("a" format("x"))`,                  // modifiers are newer, too
		`url(a\`, `url("a`, `url(a`, `url( a )`, // ends
		"url(a\x00b)", `a\url(b)`, `url(`, `url("")`, `url()`, "a{b:'c\\\nd';e:url(f)}",
	}
	for _, s := range cssSeeds {
		if slices.Contains(skip, s) {
			ownURLs(t, []byte(s))
			continue
		}
		got, want := ownURLs(t, []byte(s)), oracleURLs([]byte(s))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: found %q, the oracle %q", s, got, want)
		}
	}
}

func TestCSSFound(t *testing.T) {
	for in, want := range map[string]string{
		`u\72l(a)`:              "a",
		`\75 rl("b")`:           "b",
		`a\url(b)`:              "",
		`src("a")src( 'b')`:     "a b",
		`url("a" format("x"))`:  "a",
		`url("a`:                "a",
		`url(a`:                 "a",
		`url( a `:               "a",
		`url(a\)b)`:             `a\)b`,
		`@import"a";@import'b'`: "a b",
		`@import url("a") layer(x) supports(display:grid)`: "a",
		`@import/**/"a"`:                                      "a",
		`@namespace x "http://n/";b{c:url(d)}`:                "d",
		`image-set("a"1x,"b"2x)"c"`:                           "a b",
		`image-set(linear-gradient(red,blue)1x,"b"type("c"))`: "b",
		`a{b:image-set("a"}c{d:"e"}`:                          "a",
		`@document url(a){b{c:url(d)}}`:                       "d",
		`cross-fade(url(a),url("b"),50%)`:                     "a b",
		"@charset \"utf-8\";a{b:url(c)}":                      "c",
		"\xef\xbb\xbfurl(a)":                                  "a",
		"a{b:'c\\\r\nd';e:url(f)}":                            "f",
		"url(a\fb)url(c)":                                     "c",
	} {
		if got := strings.Join(ownURLs(t, []byte(in)), " "); got != want {
			t.Errorf("%q: found %q, want %q", in, got, want)
		}
	}
}
