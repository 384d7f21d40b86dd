// SPDX-License-Identifier: Apache-2.0

package robots

import (
	"strings"
	"testing"
	"time"
)

// A decision is one question to a file.
type decision struct {
	agent, url string
	want       bool
}

func check(t *testing.T, file string, ds []decision) {
	t.Helper()
	f := Parse([]byte(file))
	for _, d := range ds {
		if got, rule := f.Agent(d.agent).Allowed(d.url); got != d.want {
			t.Errorf("%s %q: got %v by %q (line %d), want %v", d.agent, d.url, got, rule.Text, rule.Line, d.want)
		}
	}
}

func yes(agent string, urls ...string) (ds []decision) { return decisions(agent, urls, true) }
func no(agent string, urls ...string) (ds []decision)  { return decisions(agent, urls, false) }

func decisions(agent string, urls []string, want bool) (ds []decision) {
	for _, u := range urls {
		ds = append(ds, decision{agent, u, want})
	}
	return ds
}

func join(dss ...[]decision) (all []decision) {
	for _, ds := range dss {
		all = append(all, ds...)
	}
	return all
}

// The cases of google/robotstxt's robots_test.cc (Apache-2.0), re-worded. Its answers that differ from ours
// are marked.
func TestGoogleCases(t *testing.T) {
	groups := "allow: /foo/bar/\n\nuser-agent: FooBot\ndisallow: /\nallow: /x/\nuser-agent: " +
		"BarBot\ndisallow: /\nallow: /y/\n\n\n" +
		"allow: /w/\nuser-agent: BazBot\n\nuser-agent: FooBot\nallow: /z/\ndisallow: /\n"
	fish := []string{"/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fishheads/yummy.html",
		"/fish.html?id=anything"}
	noFish := []string{"/bar", "/Fish.asp", "/catfish", "/?id=fish"}
	for _, c := range []struct {
		name, file string
		ds         []decision
	}{
		{"empty file", "", yes("FooBot", "/x/y")},
		{"empty agent", "user-agent: FooBot\ndisallow: /\n", yes("", "/x/y")},
		{"empty URL", "user-agent: FooBot\ndisallow: /\n", no("FooBot", "")},
		{"line", "user-agent: FooBot\ndisallow: /\n", no("FooBot", "/x/y")},
		{"unknown lines", "foo: FooBot\nbar: /\n", yes("FooBot", "/x/y")},
		{"no colons", "user-agent FooBot\ndisallow /\n", no("FooBot", "/x/y")},
		{"groups", groups, join(yes("FooBot", "/x/b", "/z/d"), no("FooBot", "/y/c", "/foo/bar/"),
			yes("BarBot", "/y/c", "/w/a"), no("BarBot", "/z/d", "/foo/bar/"), yes("BazBot", "/z/d"),
			no("BazBot", "/foo/bar/"))},
		{"sitemap between agents",
			"User-agent: BarBot\nSitemap: https://foo.bar/sitemap\nUser-agent: *\nDisallow: /\n",
			join(no("FooBot", "/"), no("BarBot", "/"))},
		{"unknown between agents",
			"User-agent: FooBot\nInvalid-Unknown-Line: unknown\nUser-agent: *\nDisallow: /\n",
			join(no("FooBot", "/"), no("BarBot", "/"))},
		{"upper-case names", "USER-AGENT: FooBot\nALLOW: /x/\nDISALLOW: /\n",
			join(yes("FooBot", "/x/y"), no("FooBot", "/a/b"))},
		{"mixed names", "uSeR-aGeNt: FooBot\nAlLoW: /x/\ndIsAlLoW: /\n",
			join(yes("FooBot", "/x/y"), no("FooBot", "/a/b"))},
		{"agent in any case", "USER-AGENT: FOO BAR\nALLOW: /x/\nDISALLOW: /\n",
			join(yes("Foo", "/x/y"), no("Foo", "/a/b"), yes("foo", "/x/y"), no("foo", "/a/b"))},
		{"agent to first space", "USER-AGENT: *\nDISALLOW: /\nUSER-AGENT: Foo Bar\nALLOW: /x/\nDISALLOW: /\n",
			yes("Foo", "/x/y")},
		{"specific group beats global", "user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /\n",
			join(no("FooBot", "/x/y"), yes("BarBot", "/x/y"))},
		{"no group for us",
			"user-agent: FooBot\nallow: /\nuser-agent: BarBot\ndisallow: /\nuser-agent: BazBot\ndisallow: /\n",
			yes("QuxBot", "/x/y")},
		{"path case matters", "user-agent: FooBot\ndisallow: /X/\n", yes("FooBot", "/x/y")},
		{"longer disallow", "user-agent: FooBot\ndisallow: /x/page.html\nallow: /x/\n",
			no("FooBot", "/x/page.html")},
		{"longer allow", "user-agent: FooBot\nallow: /x/page.html\ndisallow: /x/\n",
			join(yes("FooBot", "/x/page.html"), no("FooBot", "/x/"))},
		{"empty patterns", "user-agent: FooBot\ndisallow: \nallow: \n", yes("FooBot", "/x/page.html")},
		{"tie", "user-agent: FooBot\ndisallow: /\nallow: /\n", yes("FooBot", "/x/page.html")},
		{"tie, longer", "user-agent: FooBot\ndisallow: /x/page.html\nallow: /x/page.html\n",
			yes("FooBot", "/x/page.html")},
		{"slash decides", "user-agent: FooBot\ndisallow: /x\nallow: /x/\n",
			join(no("FooBot", "/x"), yes("FooBot", "/x/"))},
		{"wildcard longer", "user-agent: FooBot\nallow: /page\ndisallow: /*.html\n",
			join(no("FooBot", "/page.html"), yes("FooBot", "/page"))},
		{"wildcard shorter", "user-agent: FooBot\nallow: /x/page.\ndisallow: /*.html\n",
			join(yes("FooBot", "/x/page.html"), no("FooBot", "/x/y.html"))},
		{"global does not add", "user-agent: *\ndisallow: /x/\nuser-agent: FooBot\ndisallow: /y/\n",
			join(yes("FooBot", "/x/page"), no("FooBot", "/y/page"))},
		{"URL in a query", "user-agent: FooBot\ndisallow: /\nallow: /foo/bar?qux=taz&baz=http://foo.bar?tar&par\n",
			yes("FooBot", "/foo/bar?qux=taz&baz=http://foo.bar?tar&par")},
		{"plain Unicode rule", "user-agent: FooBot\ndisallow: /\nallow: /foo/bar/ツ\n",
			yes("FooBot", "/foo/bar/%E3%83%84", "/foo/bar/ツ")}, // Google: the second not, callers escape
		{"escaped Unicode rule", "user-agent: FooBot\ndisallow: /\nallow: /foo/bar/%E3%83%84\n",
			yes("FooBot", "/foo/bar/%E3%83%84", "/foo/bar/ツ")}, // the same
		{"escaped ASCII rule", "user-agent: FooBot\ndisallow: /\nallow: /foo/bar/%62%61%7A\n",
			yes("FooBot", "/foo/bar/baz", "/foo/bar/%62%61%7A")}, // Google: the first not, against 2.2.2
		{"index.html", "user-agent: *\nallow: /allowed-slash/index.html\ndisallow: /\n",
			// Google: the second too, a rule of its own
			join(yes("x", "/allowed-slash/index.html"), no("x", "/allowed-slash/"))},
		{"wildcard", "user-agent: FooBot\ndisallow: /foo/bar/quz\nallow: /foo/*/qux\n",
			join(no("FooBot", "/foo/bar/quz"), yes("FooBot", "/foo/quz", "/foo//quz", "/foo/bax/quz"))},
		{"end anchor", "user-agent: FooBot\ndisallow: /foo/bar$\nallow: /foo/bar/qux\n",
			join(no("FooBot", "/foo/bar"), yes("FooBot", "/foo/bar/qux", "/foo/bar/", "/foo/bar/baz"))},
		{"comments", "user-agent: FooBot\n# Disallow: /\nDisallow: /foo/quz#qux\nAllow: /\n",
			join(yes("FooBot", "/foo/bar"), no("FooBot", "/foo/quz"))},
		{"doc /fish", "user-agent: FooBot\ndisallow: /\nallow: /fish\n",
			join(yes("FooBot", fish...), no("FooBot", noFish...))},
		{"doc /fish*", "user-agent: FooBot\ndisallow: /\nallow: /fish*\n",
			join(yes("FooBot", fish...), no("FooBot", noFish...))},
		{"doc /fish/", "user-agent: FooBot\ndisallow: /\nallow: /fish/\n", join(
			yes("FooBot", "/fish/", "/fish/salmon", "/fish/?salmon", "/fish/salmon.html", "/fish/?id=anything"),
			no("FooBot", "/bar", "/fish", "/fish.html", "/Fish/Salmon.html"))},
		{"doc /*.php", "user-agent: FooBot\ndisallow: /\nallow: /*.php\n", join(
			yes("FooBot", "/filename.php", "/folder/filename.php", "/folder/filename.php?parameters",
				"//folder/any.php.file.html", "/filename.php/", "/index?f=filename.php/"),
			no("FooBot", "/bar", "/php/", "/index?php", "/windows.PHP"))},
		{"doc /*.php$", "user-agent: FooBot\ndisallow: /\nallow: /*.php$\n", join(
			yes("FooBot", "/filename.php", "/folder/filename.php"),
			no("FooBot", "/filename.php?parameters", "/filename.php/", "/filename.php5", "/php/", "/filename?php",
				"/aaaphpaaa", "//windows.PHP"))},
		{"doc /fish*.php", "user-agent: FooBot\ndisallow: /\nallow: /fish*.php\n", join(
			yes("FooBot", "/fish.php", "/fishheads/catfish.php?parameters"), no("FooBot", "/bar", "/Fish.PHP"))},
		{"doc order 1", "user-agent: FooBot\nallow: /p\ndisallow: /\n", yes("FooBot", "/page")},
		{"doc order 2", "user-agent: FooBot\nallow: /folder\ndisallow: /folder\n", yes("FooBot", "/folder/page")},
		{"doc order 3", "user-agent: FooBot\nallow: /page\ndisallow: /*.htm\n", no("FooBot", "/page.htm")},
		{"doc order 4", "user-agent: FooBot\nallow: /$\ndisallow: /\n",
			join(yes("FooBot", "/"), no("FooBot", "/page.html"))},
		{"byte order mark", "\xef\xbb\xbfuser-agent: FooBot\ndisallow: /\n", no("FooBot", "/x")},
		{"UTF-16", "\xff\xfe" + strings.ReplaceAll("user-agent: FooBot\ndisallow: /p\n", "", "\x00")[1:],
			join(no("FooBot", "/p"), yes("FooBot", "/x"))},
		{"UTF-16, big end first", "\xfe\xff" + strings.ReplaceAll("user-agent: FooBot\rdisallow: /p\r", "", "\x00"),
			join(no("FooBot", "/p"), yes("FooBot", "/x"))},
		{"half a byte order mark", "\xef\xbbuser-agent: FooBot\ndisallow: /\n", no("FooBot", "/x")},
		{"long line", "user-agent: FooBot\ndisallow: /" + strings.Repeat("a", 20000) + "/qux\n",
			join(no("FooBot", "/"+strings.Repeat("a", 20000)+"/qux"),
				yes("FooBot", "/"+strings.Repeat("a", 20000)+"/fux"))}, // Google cuts the line, so neither
	} {
		t.Run(c.name, func(t *testing.T) { check(t, c.file, c.ds) })
	}
}

// The ways in which parsers in use are wrong, each in a case.
func TestKnownTraps(t *testing.T) {
	for _, c := range []struct {
		name, file string
		ds         []decision
	}{
		{"star alone", "User-agent: *\nDisallow: *\n", no("mirrord", "/", "/a")},
		{"comment without a space", "User-agent: *#all\nDisallow: /p#c\n",
			join(no("mirrord", "/p", "/p/q"), yes("mirrord", "/q"))},
		{"space before colon", "User-agent : *\nDisallow : /p\n", no("mirrord", "/p")},
		{"NBSP around", "User-agent:\u00a0*\u00a0\nDisallow: /p\u00a0\n", no("mirrord", "/p/x")},
		{"version in agent", "User-agent: mirrord/1.0\nDisallow: /\n",
			join(no("mirrord", "/a"), yes("other", "/a"))},
		{"version in our name", "User-agent: mirrord\nDisallow: /\n",
			no("mirrord/2.0 (+https://example.org)", "/a")},
		{"case of hex digits", "User-agent: *\nDisallow: /%e3%83%84\n",
			no("mirrord", "/%E3%83%84", "/%e3%83%84", "/ツ")},
		{"tilde", "User-agent: *\nDisallow: /%7Ejoe/\nDisallow: /~jim/\n",
			no("mirrord", "/~joe/", "/%7ejoe/", "/%7Ejim/", "/~jim/")},
		{"escaped slash is no slash", "User-agent: *\nDisallow: /a/b\n", yes("mirrord", "/a%2Fb", "/a%2fb")},
		{"reserved equals its escape", "User-agent: *\nDisallow: /a:b\nDisallow: /c%3Ad\n",
			no("mirrord", "/a%3ab", "/a:b", "/c:d")},
		{"dollar in the middle", "User-agent: *\nDisallow: /a$b\n",
			join(no("mirrord", "/a$b", "/a%24bc"), yes("mirrord", "/a"))},
		{"escaped star and dollar", "User-agent: *\nDisallow: /a-%2A.html\nDisallow: /b%24\n",
			join(no("mirrord", "/a-*.html", "/b$x", "/b%24"), yes("mirrord", "/a-1.html", "/b"))},
		{"delay between agents", "User-agent: a\nCrawl-delay: 5\nUser-agent: mirrord\nDisallow: /p\n",
			join(no("a", "/p"), no("mirrord", "/p"))},
		{"wildcard is anchored", "User-agent: *\nDisallow: /a*.php\n",
			join(no("mirrord", "/ab.php", "/a/b.php"), yes("mirrord", "/x/a/b.php"))},
		{"tie, disallow first", "User-agent: *\nDisallow: /page\nAllow: /page\n", yes("mirrord", "/page")},
		{"tie, allow first", "User-agent: *\nAllow: /page\nDisallow: /page\n", yes("mirrord", "/page")},
		{"length in octets of the pattern", "User-agent: *\nDisallow: /a.b.c.\nAllow: /a.b.c.d\n",
			yes("mirrord", "/a.b.c.d")},
		{"dots are longer in no language", "User-agent: *\nAllow: /a.b*\nDisallow: /a.b.c\n",
			no("mirrord", "/a.b.c")},
		{"agent is no prefix", "User-agent: mirror\nDisallow: /\n\nUser-agent: *\nDisallow: /p\n",
			join(yes("mirrord", "/a"), no("mirrord", "/p"))},
		{"longer agent is not ours", "User-agent: mirrord-images\nDisallow: /\n", yes("mirrord", "/a")},
		{"space in a path", "User-agent: *\nDisallow: /a b\n",
			join(no("mirrord", "/a%20b"), yes("mirrord", "/a", "/ab"))},
		{"rule before an agent", "Disallow: /\nUser-agent: *\nDisallow: /p\n",
			join(yes("mirrord", "/a"), no("mirrord", "/p"))},
		{"delay with a unit", "User-agent: *\nCrawl-delay: 1s\nDisallow: /p\n", no("mirrord", "/p")},
		{"delay empty", "User-agent: *\nCrawl-delay:\nDisallow: /p\n", no("mirrord", "/p")},
		{"groups merge",
			"User-agent: mirrord\nDisallow: /a\n\nUser-agent: x\nDisallow: /x\n\nUser-agent: Mirrord\nDisallow: /b\n",
			join(no("mirrord", "/a", "/b"), yes("mirrord", "/x"))},
		{"global groups merge",
			"User-agent: *\nDisallow: /a\n\nUser-agent: x\nDisallow: /x\n\nUser-agent: *\nDisallow: /b\n",
			no("mirrord", "/a", "/b")},
		{"empty group still binds", "User-agent: *\nDisallow: /\n\nUser-agent: mirrord\nDisallow:\n",
			yes("mirrord", "/a")},
		{"group without a rule", "User-agent: mirrord\nAllow: /\nUser-agent: *\nDisallow: /\n",
			yes("mirrord", "/a")},
		{"blank lines end no group", "User-agent: mirrord\n\nDisallow: /p\n\nDisallow: /q\n",
			no("mirrord", "/p", "/q")},
		{"old Mac line ends", "User-agent: *\rDisallow: /p\rDisallow: /q", no("mirrord", "/p", "/q")},
		{"DOS line ends", "User-agent: *\r\nDisallow: /p$\r\n", join(no("mirrord", "/p"), yes("mirrord", "/p/"))},
		{"misspelt", "Useragent: *\nDissallow: /p\n", no("mirrord", "/p")},
		{"path without a slash", "User-agent: *\nDisallow: p\n", yes("mirrord", "/p", "/")},
		{"robots.txt itself", "User-agent: *\nDisallow: /\n",
			join(yes("mirrord", "/robots.txt"), no("mirrord", "/robots.txt?x", "/a/robots.txt"))},
		{"fragment does not count", "User-agent: *\nDisallow: /p$\n", no("mirrord", "/p#x")},
		{"query", "User-agent: *\nDisallow: /*?\n",
			join(no("mirrord", "/?", "/a?b"), yes("mirrord", "/a%3Fb", "/a"))},
		{"anchored query", "User-agent: *\nDisallow: /*?$\n", join(no("mirrord", "/a?"), yes("mirrord", "/a?b"))},
		{"escaped URL in a query", "User-agent: *\nDisallow: /foo/bar?baz=https://foo.bar\n",
			no("mirrord", "/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar")},
		{"URL in a query, escaped rule", "User-agent: *\nDisallow: /foo/bar?baz=https%3A%2F%2Ffoo.bar\n",
			no("mirrord", "/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3a%2f%2ffoo.bar")},
		{"slash of a query by wildcard", "User-agent: *\nDisallow: /*/private\n",
			no("mirrord", "/a?x=/private", "/a/private")},
		{"second question mark", "User-agent: *\nDisallow: /a*?b=/c\n", no("mirrord", "/a?z=1?b=/c")},
		{"lone percent", "User-agent: *\nDisallow: /100%\nDisallow: /a%zz\n", no("mirrord", "/100%", "/a%zz")},
		{"many stars", "User-agent: *\nDisallow: /a***b\n",
			join(no("mirrord", "/ab", "/axxb"), yes("mirrord", "/a"))},
		{"star and anchor", "User-agent: *\nDisallow: /a*$\n", no("mirrord", "/a", "/abc")},
		{"anchored piece is the last one", "User-agent: *\nDisallow: /*ab$\n",
			join(no("mirrord", "/abab", "/ab"), yes("mirrord", "/aba"))},
		{"pieces do not overlap", "User-agent: *\nDisallow: /*ab*ba$\n",
			join(yes("mirrord", "/aba"), no("mirrord", "/abba"))},
		{"NUL and garbage", "User-agent: *\x00\nDisallow: /p\n\xff\xfe\x80:\x00\n", no("mirrord", "/p")},
	} {
		t.Run(c.name, func(t *testing.T) { check(t, c.file, c.ds) })
	}
}

// TestLonePercent: a percent sign that begins no escape stands for itself, and makes none with decoded
// text behind it.
func TestLonePercent(t *testing.T) {
	for _, c := range []struct {
		rule, url string
		allowed   bool
	}{
		{"/100%", "/100%25", false}, {"/100%25", "/100%", false}, {"/%%370", "/p", true}, {"/p", "/%%370", true},
		{"/%%370", "/%2570", false}, {"/a%2", "/a%2", false},
	} {
		got, _ := Parse([]byte("User-agent: *\nDisallow: " + c.rule + "\n")).Agent("x").Allowed(c.url)
		if got != c.allowed {
			t.Errorf("Disallow: %s allows %s: %v", c.rule, c.url, got)
		}
	}
}

func TestRuleNamesItsLine(t *testing.T) {
	for _, eol := range []string{"\n", "\r", "\r\n"} {
		f := Parse(
			[]byte(strings.Join([]string{"# head", "", "User-agent: *", "Allow: /a", "  disallow :  /b  # why", ""},
				eol)))
		ok, rule := f.Agent("x").Allowed("/b/c")
		if ok || rule.Line != 5 || rule.Text != "disallow :  /b" ||
			rule.String() != "robots.txt line 5: disallow :  /b" {
			t.Errorf("%q: %v %+v %s", eol, ok, rule, rule)
		}
		if ok, rule = f.Agent("x").Allowed("/c"); !ok || rule.Line != 0 || !rule.Allow {
			t.Errorf("%q: %v %+v", eol, ok, rule)
		}
	}
}

func TestFromStatus(t *testing.T) {
	body := []byte("User-agent: *\nDisallow: /p\n")
	for _, c := range []struct {
		status   int
		a, p     bool // /a and /p are allowed
		reasoned bool
	}{{200, true, false, false}, {206, true, false, false}, {301, true, true, true}, {304, true, true, true},
		{400, true, true, true}, {401, true, true, true}, {403, true, true, true},
		{404, true, true, true}, {410, true, true, true}, {429, false, false, true}, {499, true, true, true},
		{500, false, false, true}, {503, false, false, true},
		{599, false, false, true}, {600, false, false, true}, {0, false, false, true}, {100, false, false, true},
		{-1, false, false, true}} {
		f := FromStatus(c.status, body)
		r := f.Agent("mirrord")
		a, _ := r.Allowed("/a")
		p, rule := r.Allowed("/p")
		own, _ := r.Allowed("/robots.txt")
		if a != c.a || p != c.p || !own || (f.reason != "") != c.reasoned ||
			(c.reasoned && rule.Text != f.reason) {
			t.Errorf("%d: /a %v, /p %v by %v, /robots.txt %v, reason %q", c.status, a, p, rule, own, f.reason)
		}
	}
	if ok, rule := DisallowAll("connection refused").Agent("x").Allowed("/"); ok ||
		rule.String() != "robots.txt: connection refused" {
		t.Errorf("%v %v", ok, rule)
	}
	if ok, _ := AllowAll("").Agent("x").Allowed("/"); !ok {
		t.Error("AllowAll without a reason disallows")
	}
	if ok, _ := DisallowAll("").Agent("x").Allowed("/"); ok {
		t.Error("DisallowAll without a reason allows")
	}
}

func TestCrawlDelay(t *testing.T) {
	for _, c := range []struct {
		name, file string
		want       time.Duration
		ok         bool
	}{
		{"none", "User-agent: *\nDisallow:\n", 0, false},
		{"whole", "User-agent: *\nCrawl-delay: 10\n", 10 * time.Second, true},
		{"zero", "User-agent: *\nCrawl-delay: 0\n", 0, true},
		{"fraction", "User-agent: *\nCrawl-delay: 0.5\n", time.Second / 2, true},
		{"comma", "User-agent: *\nCrawl-delay: 1,5\n", 1500 * time.Millisecond, true},
		{"unit", "User-agent: *\nCrawl-delay: 1s\n", time.Second, true},
		{"milliseconds", "User-agent: *\nCrawl-delay: 500 ms\n", time.Second / 2, true},
		{"minutes", "User-agent: *\nCrawl-delay: 2 min\n", 2 * time.Minute, true},
		{"comment", "User-agent: *\nCrawl-delay: 3#x\n", 3 * time.Second, true},
		{"negative", "User-agent: *\nCrawl-delay: -1\n", 0, false},
		{"word", "User-agent: *\nCrawl-delay: soon\n", 0, false},
		{"dots", "User-agent: *\nCrawl-delay: 1.2.3\n", 0, false},
		{"huge", "User-agent: *\nCrawl-delay: 1" + strings.Repeat("0", 200) + "\n", MaxDelay, true},
		{"beyond float", "User-agent: *\nCrawl-delay: 1" + strings.Repeat("0", 400) + "\n", MaxDelay, true},
		{"ours", "User-agent: *\nCrawl-delay: 10\n\nUser-agent: mirrord\nCrawl-delay: 2\n", 2 * time.Second, true},
		{"ours first", "User-agent: mirrord\nCrawl-delay: 2\nUser-agent: *\nCrawl-delay: 10\nDisallow: /x\n",
			2 * time.Second, true},
		{"two agents", "User-agent: a\nUser-agent: mirrord\nCrawl-delay: 7\n", 7 * time.Second, true},
		{"after the rules", "User-agent: mirrord\nDisallow: /x\nCrawl-delay: 7\nDisallow: /y\nRequest-rate: 1/8\n",
			8 * time.Second, true},
		{"greatest", "User-agent: *\nCrawl-delay: 1\nDisallow: /x\nUser-agent: *\nCrawl-delay: 4\nDisallow: /y\n",
			4 * time.Second, true},
		{"rate", "User-agent: *\nRequest-rate: 1/5\n", 5 * time.Second, true},
		{"rate with unit", "User-agent: *\nRequest-rate: 30/1m 0900-1700\n", 2 * time.Second, true},
		{"slow rate", "User-agent: *\nRequest-rate: 0.000000000001/1\n", MaxDelay, true},
		{"bad rate", "User-agent: *\nRequest-rate: 0/1\n", 0, false},
		{"no group", "Crawl-delay: 10\n", 0, false},
	} {
		if got, ok := Parse([]byte(c.file)).Agent("mirrord").CrawlDelay(); got != c.want || ok != c.ok {
			t.Errorf("%s: got %v %v, want %v %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestSitemaps(t *testing.T) {
	f := Parse(
		[]byte("Sitemap: https://a/1.xml\nUser-agent: x\nsite-map:/2.xml # two\nSITEMAP: " +
			"https://a/1.xml\nSitemap:\n"))
	if got := strings.Join(f.Sitemaps(), " "); got != "https://a/1.xml /2.xml" {
		t.Errorf("got %q", got)
	}
}

func TestSizeLimit(t *testing.T) {
	head := "User-agent: *\nDisallow: /first\n"
	pad := strings.Repeat("#\n", (MaxBytes-len(head)-10)/2)
	// The next line crosses the limit: cut, it would say "Disallow:" or "Disallow: /", and must not count.
	f := Parse([]byte(head + pad + "Disallow: /crossing\nDisallow: /after\n"))
	for url, want := range map[string]bool{"/first": false, "/": true, "/crossing": true, "/after": true} {
		if got, rule := f.Agent("x").Allowed(url); got != want {
			t.Errorf("%s: %v by %v", url, got, rule)
		}
	}
	if !f.Cut() {
		t.Error("the file is not said to be cut")
	}
	// A line that ends exactly at the limit does count.
	last := "Disallow: /last"
	exact := head + strings.Repeat("#", MaxBytes-len(head)-len(last)-1) + "\n" + last
	if len(exact) != MaxBytes {
		t.Fatal(len(exact))
	}
	if ok, _ := Parse([]byte(exact + "\nDisallow: /after")).Agent("x").Allowed("/last"); ok {
		t.Error("the last line of 500 KiB does not count")
	}
	if ok, _ := Parse([]byte(strings.Repeat("x", MaxBytes+1))).Agent("x").Allowed("/"); !ok {
		t.Error("one endless line disallows")
	}
}
