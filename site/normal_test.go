// SPDX-License-Identifier: Apache-2.0

package site

import "testing"

func TestNormal(t *testing.T) {
	const o = "http://h.example/"
	for _, c := range []struct{ raw, want string }{
		{"~smith/", "~smith/"},
		{"%7Esmith/", "~smith/"},
		{"%7esmith/%41.html", "~smith/A.html"},
		{"caf%c3%a9?q=%2d%2f", "caf%C3%A9?q=-%2F"},
		{"a%2Fb%20c", "a%2Fb%20c"},
		{"a%252e", "a%252e"},       // an escaped escape
		{"100%/%7E", "100%/%7E"},   // what % means here is not known
		{"%%37E", "%%37E"},         // decoded it would be another escape
		{"x%2E%2E%2E/y", "x.../y"}, // no dot segment
	} {
		u := Canonical(o + c.raw)
		if got := u.Normal(); got != Canonical(o+c.want) || got.Normal() != got {
			t.Errorf("%s: %s, want %s", u, got, o+c.want)
		}
		if !u.Same(Canonical(o + c.want)) {
			t.Errorf("%s and %s are not the same", u, c.want)
		}
	}
	if Canonical(o + "a").Same(Canonical(o + "b")) {
		t.Error("a and b are the same")
	}
}

// What a server redirects to is made again from other URLs.
func TestSpelling(t *testing.T) {
	const o = "http://h~x.example/"
	for _, c := range []struct {
		like, url, want string
		whole           bool
	}{
		{"%7Ea/", "~b/%c3?~", "%7Eb/%C3?%7E", true},
		{"~a/%c3", "%7Eb/%C3%A9-", "~b/%c3%a9-", true},
		{"%7Ea/~b", "~", "%7E", false},
	} {
		s, whole := SpellingOf(Canonical(o + c.like))
		if got := s.Spell(Canonical(o + c.url)); got != Canonical(o+c.want) || whole != c.whole {
			t.Errorf("%s like %s: %s, %v; want %s, %v", c.url, c.like, got, whole, c.want, c.whole)
		}
	}
}

func TestRulesTakeAnySpelling(t *testing.T) {
	for _, pattern := range []string{"/%7Esmith/**", "/~smith/**", "http://H.example/%7esmith/**"} {
		g, err := CompileGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"~smith/a", "%7Esmith/a", "%7e%73mith/a"} {
			if !g.Match(Canonical("http://h.example/" + path)) {
				t.Errorf("%s does not match %s", pattern, path)
			}
		}
	}
	r, err := Scope{}.Compile([]URL{Canonical("http://h.example/%7Esmith/")})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Covers(Canonical("http://h.example/~smith/a")) || r.Covers(Canonical("http://h.example/~smythe/a")) {
		t.Error("the directory of an entry point has one spelling")
	}
}
