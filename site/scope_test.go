// SPDX-License-Identifier: Apache-2.0

package site

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// A path that is quoted is matched by itself, and by what lies below it.
func TestQuoteGlob(t *testing.T) {
	for _, path := range []string{"docs", "a[1]", "b*c", "{f}"} {
		g, err := CompileGlob("/" + QuoteGlob(path) + "/**")
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for at, want := range map[string]bool{
			"/" + path + "/x.html": true, "/bxc/x.html": false, "/a1/x.html": false,
		} {
			if u, _, err := Parse("http://h.example" + at); err != nil || g.Match(u) != want {
				t.Errorf("%s, %s: want %v; %v", path, at, want, err)
			}
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		glob, url string
		want      bool
	}{
		{"/a", "http://h/a", true},
		{"/a", "http://h/a/", false},
		{"/a", "http://h/a?q", true},
		{"/a/*", "http://h/a/b", true},
		{"/a/*", "http://h/a/", true},
		{"/a/*", "http://h/a/b/c", false},
		{"/a/**", "http://h/a/b/c", true},
		{"/a/**", "http://h/a/", true},
		{"/a/**", "http://h/a", false},
		{"/a/**", "http://h/b/a/c", false},
		{"/**/c", "http://h/c", true},
		{"/**/c", "http://h/a/b/c", true},
		{"/**/c", "http://h/a/bc", false},
		{"**/c", "http://h/a/c", true},
		{"**c", "http://h/a/bc", true},
		{"/a/**/c", "http://h/a/c", true},
		{"/a/**/c", "http://h/a/b/b/c", true},
		{"/a/**/**/c", "http://h/a/c", true},
		{"/a**c", "http://h/a/b/c", true},
		{"/**/x/**/y", "http://h/x/y", true},
		{"/**/x/**/y", "http://h/a/x/b/y/z", false},
		{"/a?c", "http://h/abc", true},
		{"/a?c", "http://h/a/c", false},
		{"/a?c", "http://h/ac", false},
		{"*.iso", "http://h/a/b.iso", true},
		{"*.iso", "http://h/a.iso/b", false},
		{"*.iso", "http://h/a.iso?x=.y", true},
		{"index.html", "http://h/a/index.html", true},
		{"index.html", "http://h/a/xindex.html", false},
		{"/A/**", "http://h/a/b", false},
		{"/a b/*", "http://h/a%20b/c", true},
		{"/ü*", "http://h/%C3%BCb", true},
		{"/a%20b", "http://h/a%20b", true},
		{`/\*`, "http://h/*", true},
		{`/\*`, "http://h/a", false},
		{`/\[a\]`, "http://h/[a]", true},
		{`/a\?b=*`, "http://h/a?b=c/d", true},
		{`/a\?b=*`, "http://h/a?c", false},
		{`/a\?b=*`, "http://h/a", false},
		{`/**\?*sort=*`, "http://h/a/b?x=1&sort=up", true},
		{`*\?C=?;O=?`, "http://h/pub/?C=M;O=A", true},
		{`/a\?x='y'`, "http://h/a?x=%27y%27", true},
		{"http://h/a/*", "http://h/a/b", true},
		{"http://h/a/*", "https://h/a/b", false},
		{"//h/a/*", "https://h/a/b", true},
		{"//*.example.org/**", "https://www.example.org/b", true},
		{"//*.example.org/**", "https://example.org/b", false},
		{"//*.example.org/**", "https://h/x.example.org/b", false},
		{"//*.example.org", "https://www.example.org/b/c?d", true},
		{"https://WWW.Example.org", "https://www.example.org/", true},
		{"http://[::1]:80*/**", "http://[::1]:8080/a", true},
		{"http://h:*/**", "http://h:8080/a", true},
		{"/" + strings.Repeat("a*", 100), "http://h/" + strings.Repeat("ab", 100), true},
		{"/" + strings.Repeat("*a", 100), "http://h/" + strings.Repeat("ab", 100), false},
		{"/" + strings.Repeat("*a", 400) + "b", "http://h/" + strings.Repeat("a", 2000), false},
	} {
		g, err := CompileGlob(c.glob)
		if err != nil {
			t.Errorf("%.60q: %v", c.glob, err)
			continue
		}
		if got := g.Match(mustParse(t, c.url)); got != c.want {
			t.Errorf("%.60q against %.60s: got %v", c.glob, c.url, got)
		}
	}
}

func TestBadGlobs(t *testing.T) {
	for _, s := range []string{
		"", "a/b", "ftp://h/**", `/a\`, "/a#b", "/[0-9]", "/{a,b}", "http:///a", "//", "//bücher.example/",
		"/" + strings.Repeat("a", 2000),
	} {
		if g, err := CompileGlob(s); !errors.Is(err, ErrBadGlob) || g != nil {
			t.Errorf("%.40q: got %v", s, err)
		}
	}
}

// A match agrees with trying everything.
func TestGlobMatchersAgree(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"a", "b", "/", "*", "**", "?", "/**/", "ab"}
	for range 5000 {
		pattern, text := "/", "/"
		for range rnd.IntN(7) {
			pattern += pieces[rnd.IntN(len(pieces))]
		}
		for range rnd.IntN(9) {
			text += []string{"a", "b", "/"}[rnd.IntN(3)]
		}
		if strings.HasPrefix(pattern, "//") {
			continue
		}
		g, err := CompileGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got, slow := g.match(text), slowGlob(pattern, text, 0); got != slow {
			t.Fatalf("%q against %q: %v, by trying %v", pattern, text, got, slow)
		}
	}
}

// slowGlob matches a path with what follows at in a pattern.
func slowGlob(pattern, s string, at int) bool {
	if at == len(pattern) {
		return s == ""
	}
	stars := 0
	for at+stars < len(pattern) && pattern[at+stars] == '*' {
		stars++
	}
	next := at + stars
	switch c := pattern[at]; {
	case stars > 1 && pattern[at-1] == '/' && next < len(pattern) && pattern[next] == '/':
		for i := range s {
			if s[i] == '/' && slowGlob(pattern, s[i+1:], next+1) {
				return true
			}
		}
		return slowGlob(pattern, s, next+1)
	case stars > 0:
		for i := 0; ; i++ {
			if slowGlob(pattern, s[i:], next) {
				return true
			}
			if i == len(s) || (stars == 1 && s[i] == '/') {
				return false
			}
		}
	case c == '?':
		return s != "" && s[0] != '/' && slowGlob(pattern, s[1:], at+1)
	default:
		return s != "" && s[0] == c && slowGlob(pattern, s[1:], at+1)
	}
}

func FuzzGlob(f *testing.F) {
	for _, s := range []string{"/a/**/b*?", `//h/\?*`, "http://*", "*.x", "**", "/ü \xff", "/***/"} {
		f.Add(s, "http://h/a/b?c")
	}
	escapes := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`)
	f.Fuzz(func(t *testing.T, pattern, url string) {
		u, _, err := Parse(url)
		if err != nil {
			return
		}
		g, err := CompileGlob(pattern)
		if err != nil {
			if !errors.Is(err, ErrBadGlob) {
				t.Errorf("%q: %v", pattern, err)
			}
			return
		}
		g.Match(u)
		uri := u.RequestURI()
		if strings.HasPrefix(uri, "//") || 2*len(uri) > maxGlob {
			return
		}
		if exact, err := CompileGlob(escapes.Replace(uri)); err != nil || !exact.Match(u) {
			t.Errorf("%q is not matched by itself: %v", url, err)
		}
	})
}

func TestScope(t *testing.T) {
	dir := Scope{}
	for _, c := range []struct {
		name   string
		scope  Scope
		seeds  string
		url    string
		want   bool
		reason string
	}{
		{"directory: seed", dir, "https://h/docs/index.html", "https://h/docs/index.html", true,
			"path is under /docs/"},
		{"directory: sibling", dir, "https://h/docs/index.html", "https://h/docs/a/b?c", true,
			"path is under /docs/"},
		{"directory: itself without slash", dir, "https://h/docs/", "https://h/docs", false,
			"path is not under /docs/"},
		{"directory: parent", dir, "https://h/docs/", "https://h/", false, "path is not under /docs/"},
		{"directory: similar name", dir, "https://h/docs/", "https://h/docs2/", false, "path is not under /docs/"},
		{"directory: seed without slash is its parent's", dir, "https://h/docs", "https://h/other", true,
			"host is h"},
		{"directory: other scheme", dir, "https://h/docs/", "http://h/docs/a", true, "path is under /docs/"},
		{"directory: other host", dir, "https://h/docs/", "https://g/docs/a", false, "host g is not the job's"},
		{"directory: other port", dir, "http://h:8080/docs/", "http://h/docs/a", false, "host h is not the job's"},
		{"directory: same port, other scheme", dir, "http://h:8080/docs/", "https://h:8080/docs/a", true,
			"path is under /docs/"},
		{"directory: second seed", dir, "http://h/a/ http://h/b/", "http://h/b/c", true, "path is under /b/"},
		{"directory: query is no directory", dir, "http://h/a/?x=/b/", "http://h/a/c", true, "path is under /a/"},
		{"host", Scope{Kind: ScopeHost}, "https://h/docs/", "http://h/x", true, "host is h"},
		{"host: subdomain", Scope{Kind: ScopeHost}, "https://h.org/", "https://www.h.org/", false,
			"host www.h.org is not the job's"},
		{"domain", Scope{Kind: ScopeDomain}, "https://www.example.co.uk/a/", "http://ftp.example.co.uk:81/x", true,
			"domain is example.co.uk"},
		{"domain: the domain", Scope{Kind: ScopeDomain}, "https://www.example.co.uk/", "https://example.co.uk/",
			true, "domain is example.co.uk"},
		{"domain: other", Scope{Kind: ScopeDomain}, "https://www.example.co.uk/", "https://other.co.uk/", false,
			"host other.co.uk is of another domain"},
		{"domain: name ends alike", Scope{Kind: ScopeDomain}, "https://example.org/", "https://badexample.org/",
			false, "host badexample.org is of another domain"},
		{"domain: private suffix", Scope{Kind: ScopeDomain}, "https://joe.github.io/", "https://jim.github.io/",
			false, "host jim.github.io is of another domain"},
		{"domain: address", Scope{Kind: ScopeDomain}, "http://192.0.2.1/", "http://192.0.2.1/x", true,
			"host is 192.0.2.1"},
		{"domain: other address", Scope{Kind: ScopeDomain}, "http://192.0.2.1/", "http://193.0.2.1/", false,
			"host 193.0.2.1 is of another domain"},
		{"domain: address, other port", Scope{Kind: ScopeDomain}, "http://[::1]:81/", "http://[::1]:82/", false,
			"host [::1]:82 is of another domain"},
		{"domain: single label", Scope{Kind: ScopeDomain}, "http://localhost/", "http://localhost/x", true,
			"host is localhost"},
		{"prefixes", Scope{
			Kind:     ScopePrefixes,
			Prefixes: []string{"https://h/doc", "http://g"},
		}, "https://h/x", "http://h/docs", true, "path is under /doc"},
		{"prefixes: whole host", Scope{
			Kind:     ScopePrefixes,
			Prefixes: []string{"https://h/doc", "http://g"},
		}, "https://h/x", "http://g/y", true, "host is g"},
		{"prefixes: not", Scope{
			Kind:     ScopePrefixes,
			Prefixes: []string{"https://h/doc"},
		}, "https://h/x", "https://h/y", false, "path is not under /doc"},
		{"prefixes: seed", Scope{
			Kind:     ScopePrefixes,
			Prefixes: []string{"https://h/doc"},
		}, "https://h/x", "https://h/x", true, "it is a seed"},
		{"prefixes: query", Scope{
			Kind:     ScopePrefixes,
			Prefixes: []string{"https://h/d?a="},
		}, "https://h/x", "https://h/d?a=1", true, "path is under /d?a="},
		{"include", Scope{Include: []string{"/img/**"}}, "https://h/docs/", "https://h/img/a.png", true,
			`included by "/img/**"`},
		{"include: other host", Scope{Include: []string{"/img/**"}}, "https://h/docs/", "https://g/img/a.png",
			false, "host g is not the job's"},
		{"include: its own host", Scope{Include: []string{"//cdn.example/**"}}, "https://h/docs/",
			"https://cdn.example/a.png", true, `included by "//cdn.example/**"`},
		{"exclude", Scope{
			Kind:    ScopeHost,
			Exclude: []string{"/ftp/**"},
		}, "https://h/", "https://h/ftp/x", false, `excluded by "/ftp/**"`},
		{"exclude beats include", Scope{
			Include: []string{"/a/**"},
			Exclude: []string{"*.iso"},
		}, "https://h/docs/", "https://h/a/b.iso", false, `excluded by "*.iso"`},
		{"exclude beats the seed", Scope{Exclude: []string{"/docs/"}}, "https://h/docs/", "https://h/docs/", false,
			`excluded by "/docs/"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := c.scope.Compile(parseAll(t, c.seeds))
			if err != nil {
				t.Fatal(err)
			}
			u := mustParse(t, c.url)
			if got, reason := r.Admits(u); got != c.want || reason != c.reason || r.Covers(u) != got {
				t.Errorf("got %v, %q; want %v, %q", got, reason, c.want, c.reason)
			}
			if ok, _ := r.Admits(URL{}); ok {
				t.Error("the zero URL is in scope")
			}
		})
	}
}

func TestScopeErrors(t *testing.T) {
	seed := parseAll(t, "http://h/")
	for name, c := range map[string]struct {
		scope Scope
		seeds []URL
		parts []string // of the error
	}{
		"no seeds":         {Scope{}, nil, []string{"no seeds"}},
		"zero seed":        {Scope{}, []URL{{}}, []string{"no URL"}},
		"unknown kind":     {Scope{Kind: 9}, seed, []string{"kind 9"}},
		"prefixes missing": {Scope{Kind: ScopePrefixes}, seed, []string{"needs prefixes"}},
		"prefixes extra":   {Scope{Prefixes: []string{"http://h/"}}, seed, []string{"do not go with"}},
		"bad prefix": {
			Scope{
				Kind:     ScopePrefixes,
				Prefixes: []string{"/docs", "mailto:x"},
			}, seed, []string{`"/docs"`, `"mailto:x"`},
		},
		"prefix fragment": {
			Scope{Kind: ScopePrefixes, Prefixes: []string{"http://h/#a"}}, seed, []string{"fragment"},
		},
		"all at once": {
			Scope{
				Include: []string{"a/b", "/x"},
				Exclude: []string{"/{a}"},
			}, seed, []string{`include: bad pattern "a/b"`, `exclude: bad pattern "/{a}"`},
		},
	} {
		r, err := c.scope.Compile(c.seeds)
		if err == nil || r != nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, p := range c.parts {
			if !strings.Contains(err.Error(), p) {
				t.Errorf("%s: %q is not in %q", name, p, err)
			}
		}
	}
}

func TestScopeKindNames(t *testing.T) {
	for k := ScopeDirectory; k <= ScopePrefixes; k++ {
		if got, err := ParseScopeKind(k.String()); err != nil || got != k {
			t.Errorf("%v: %v, %v", k, got, err)
		}
	}
	if _, err := ParseScopeKind("hosts"); err == nil ||
		!strings.Contains(err.Error(), "directory, host, domain, prefixes") {
		t.Errorf("got %v", err)
	}
}

func TestScopeCoversAllocates(t *testing.T) {
	r, err := Scope{
		Exclude: []string{"/ftp/**", "/a/*/b/**/c", "*.iso"},
		Include: []string{"/img/**"},
	}.Compile(parseAll(t, testBase))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{testBase, "https://example.org/img/a", "https://other.example/"} {
		u := mustParse(t, s)
		if n := testing.AllocsPerRun(100, func() { r.Covers(u) }); n != 0 {
			t.Errorf("%s: %v allocations", s, n)
		}
	}
}

func freed(entry string) Programs { return Programs{Free: []URL{Canonical(entry)}} }

func TestPrograms(t *testing.T) {
	for _, c := range []struct {
		name   string
		rule   Programs
		url    string
		reason string
	}{
		{"cgi", Programs{}, "http://h/a/b.cgi?x", "name ends in .cgi"},
		{"case", Programs{}, "http://h/a/B.CGI", "name ends in .cgi"},
		{"extra path", Programs{}, "http://h/a.pl/b/c", "name ends in .pl"},
		{"directory", Programs{}, "http://h/CGI-Bin/x", "in a program directory /CGI-Bin/"},
		{"directory's own name", Programs{}, "http://h/cgi-bin", ""},
		{"directory deep", Programs{}, "http://h/a/cgi/b/c", "in a program directory /cgi/"},
		{"php is a page", Programs{}, "http://h/a.php?x=1", ""},
		{"similar suffix", Programs{}, "http://h/a.cgix", ""},
		{"similar directory", Programs{}, "http://h/cgi-bins/x", ""},
		{"suffix in the query", Programs{}, "http://h/a?b=c.cgi", ""},
		{"off", Programs{Suffixes: []string{}, Dirs: []string{}}, "http://h/cgi-bin/a.cgi", ""},
		{"own suffix", Programs{Suffixes: []string{".asp"}}, "http://h/a.asp", "name ends in .asp"},
		{"glob", Programs{Globs: []string{"/search/**"}}, "http://h/search/x", `program by "/search/**"`},
		{"root", Programs{}, "http://h/", ""},
		{"program of an entry point", freed("http://h/cgi-bin/viewvc/?root=a"), "http://h/cgi-bin/viewvc/b/c", ""},
		{"itself", freed("http://h/cgi-bin/viewvc/"), "http://h/cgi-bin/viewvc?view=rev", ""},
		{"one beside it", freed("http://h/cgi-bin/viewvc/"), "http://h/cgi-bin/viewvc2/",
			"in a program directory /cgi-bin/"},
		{"by its name", freed("http://h/bin/web.cgi/x/"), "http://h/bin/web.cgi/y.cgi/z", ""},
		{"other host", freed("http://h/bin/web.cgi"), "http://i/bin/web.cgi", "name ends in .cgi"},
		{"whole directory", freed("http://h/cgi/"), "http://h/cgi/a/b", ""},
	} {
		r, err := c.rule.Compile()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if is, reason := r.Is(mustParse(t, c.url)); reason != c.reason || is != (c.reason != "") {
			t.Errorf("%s: got %v, %q; want %q", c.name, is, reason, c.reason)
		}
	}
	for _, p := range []Programs{
		{Suffixes: []string{"cgi"}}, {Suffixes: []string{"."}}, {Suffixes: []string{".a/b"}}, {Dirs: []string{""}},
		{Dirs: []string{"/cgi/"}}, {Globs: []string{"a/b"}},
	} {
		if _, err := p.Compile(); err == nil {
			t.Errorf("%+v: no error", p)
		}
	}
	var none *ProgramRule
	if is, _ := none.Is(mustParse(t, "http://h/cgi-bin/x")); is {
		t.Error("no rule finds a program")
	}
}

func parseAll(t testing.TB, s string) (urls []URL) {
	for _, f := range strings.Fields(s) {
		urls = append(urls, mustParse(t, f))
	}
	return urls
}

func BenchmarkCovers(b *testing.B) {
	r, err := Scope{
		Kind:    ScopeHost,
		Exclude: []string{"/ftp/**", "/a/*/b/**/c", "*.iso"},
	}.Compile(parseAll(b, testBase))
	if err != nil {
		b.Fatal(err)
	}
	u := mustParse(b, testBase)
	b.ReportAllocs()
	for b.Loop() {
		r.Covers(u)
	}
}

func TestScopeReaches(t *testing.T) {
	for _, c := range []struct {
		scope Scope
		seed  string
		dir   string
		want  bool
	}{
		{Scope{}, "http://h/docs/index.html", "http://h/docs/", true},
		{Scope{}, "http://h/docs/index.html", "https://h/docs/v1/", true},
		{Scope{}, "http://h/docs/v1/", "http://h/docs/", true},
		{Scope{}, "http://h/docs/", "http://h/other/", false},
		{Scope{}, "http://h/docs/", "http://h:8080/docs/", false},
		{Scope{Include: []string{"/other/*.html"}}, "http://h/docs/", "http://h/other/", true},
		{Scope{Include: []string{"/other/*.html"}}, "http://h/docs/", "http://g/other/", false},
		{Scope{Include: []string{"//g/**"}}, "http://h/docs/", "http://g/other/", true},
		{Scope{Kind: ScopeHost}, "http://h/docs/", "http://h/other/", true},
		{Scope{Kind: ScopeHost, Exclude: []string{"/other/**"}}, "http://h/docs/", "http://h/other/", false},
		{Scope{Kind: ScopeHost, Exclude: []string{"/other/**"}}, "http://h/docs/", "http://h/", true},
		{Scope{Kind: ScopeHost, Exclude: []string{"*.iso"}}, "http://h/docs/", "http://h/other/", true},
		{Scope{Kind: ScopeDomain}, "http://www.h.example/", "http://ftp.h.example/pub/", true},
		{Scope{Kind: ScopeDomain}, "http://www.h.example/", "http://ftp.g.example/pub/", false},
		{
			Scope{Kind: ScopePrefixes, Prefixes: []string{"http://h/a/b", "http://h/c/"}}, "http://h/c/",
			"http://h/a/", true,
		},
		{
			Scope{Kind: ScopePrefixes, Prefixes: []string{"http://h/a/b", "http://h/c/"}}, "http://h/d/x.html",
			"http://h/d/", true,
		},
		{
			Scope{Kind: ScopePrefixes, Prefixes: []string{"http://h/a/b", "http://h/c/"}}, "http://h/c/",
			"http://h/e/", false,
		},
	} {
		seed, _, err := Parse(c.seed)
		if err != nil {
			t.Fatal(err)
		}
		dir, _, err := Parse(c.dir)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.scope.Compile([]URL{seed})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Reaches(dir); got != c.want {
			t.Errorf("%+v around %s reaches %s: %v", c.scope, seed, dir, got)
		}
		if r.Covers(dir) && !r.Reaches(dir) {
			t.Errorf("%s is in scope and not reached", dir)
		}
	}
}
