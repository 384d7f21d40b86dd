// SPDX-License-Identifier: Apache-2.0

package robots

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/temoto/robotstxt"
)

// slowMatch is the obvious matcher: wildcards by trying every length.
func slowMatch(pattern, s string) bool {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '*' {
			for j := 0; j <= len(s); j++ {
				if slowMatch(pattern[i+1:], s[j:]) {
					return true
				}
			}
			return false
		}
		if pattern[i] == '$' && i == len(pattern)-1 {
			return s == ""
		}
		if s == "" || s[0] != pattern[i] {
			return false
		}
		s = s[1:]
	}
	return true
}

func FuzzMatch(f *testing.F) {
	for _, c := range [][2]string{
		{"/a*b$", "/axb"}, {"/*a*b*", "/ab"}, {"*", "/"}, {"/$", "/"}, {"/a*$", "/a"}, {"/*ab*ba$", "/aba"},
		{"/**a", "/ba"}, {"/%7E*%2f", "/~%2F"},
	} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, path, url string) {
		if len(path) > 30 || len(url) > 30 || strings.Count(path, "*") > 5 || path == "" ||
			(path[0] != '/' && path[0] != '*') {
			return
		}
		target := newTarget(nil, url)
		for _, p := range newPatterns(path, Rule{}) {
			text := p.first
			for _, piece := range p.rest {
				text += "*" + piece
			}
			u := target.plain
			if p.queried {
				u = target.queried
			}
			if p.anchored {
				text += "$"
			}
			if got, want := p.match(&target), slowMatch(text, u); got != want {
				t.Errorf("%q (%q) against %q: got %v, want %v", path, text, u, got, want)
			}
		}
		// Normalising is idempotent: normal paths stay.
		if again := newTarget(nil, target.plain); again.plain != target.plain {
			t.Errorf("%q becomes %q, then %q", url, target.plain, again.plain)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nAllow: /a?b=/c\nCrawl-delay: 1.5\nSitemap: x\n"), "/a/b?c")
	f.Add([]byte("\xef\xbb\xbfuser agent mirrord/1\r\nDISALLOW /%7e\rRequest-rate: 1/2m"), "/~")
	f.Add([]byte("\xff\xfeD\x00i\x00s\x00a\x00l\x00l\x00o\x00w\x00:\x00/\x00\n\x00"), "/~")
	f.Add([]byte("Disallow: /\n#\x00\n:\n::\nUser-agent: *\nUser-agent: mirrord\nDisallow: *$"), "")
	f.Fuzz(func(t *testing.T, body []byte, url string) {
		file := Parse(body)
		body, _, _ = transform.Bytes(unicode.BOMOverride(transform.Nop), body)
		r := file.Agent("mirrord")
		ok, rule := r.Allowed(url)
		if (rule.Line == 0 && !ok) || rule.Line < 0 || rule.Line > len(body)+1 ||
			(rule.Line > 0 && rule.Allow != ok) {
			t.Errorf("%q: %v by %+v", url, ok, rule)
		}
		if d, has := r.CrawlDelay(); d < 0 || d > MaxDelay || (!has && d != 0) {
			t.Errorf("delay %v %v", d, has)
		}
		if ok, _ := r.Allowed("/robots.txt"); !ok {
			t.Error("/robots.txt is disallowed")
		}
		// Line ends do not matter, and neither do rules for other robots after it.
		if !strings.ContainsAny(string(body), "\r") && len(body) < MaxBytes/4 {
			dos := strings.ReplaceAll(string(body), "\n", "\r\n")
			if ok2, rule2 := Parse([]byte(dos)).Agent("mirrord").Allowed(url); ok2 != ok || rule2 != rule {
				t.Errorf("with DOS line ends: %v by %+v, else %v by %+v", ok2, rule2, ok, rule)
			}
			more := string(body) + "\nDisallow:\nUser-agent: otherbot\nDisallow: /\n"
			if len(file.groups) > 0 {
				if ok2, _ := Parse([]byte(more)).Agent("mirrord").Allowed(url); ok2 != ok {
					t.Errorf("with another robot's group: %v, else %v", ok2, ok)
				}
			}
		}
	})
}

// A second voter: temoto/robotstxt, on files that avoid its known errors. Those are its known differences:
// wildcards and '$' (unanchored expressions, lengths counted on the expression, "*" alone matching nothing),
// ties of equal length, comments without a space, escapes, agents by prefix, agents with a version, groups
// without rules, a delay between two agents, any odd line (the whole file is an error), and that it lets
// /robots.txt be disallowed.
func TestAgreesWithTemoto(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	agents := []string{"mirrord", "otherbot", "thirdbot", "*"}
	segments := []string{"/", "/a", "/b", "/a/", "/b/", "/a.b", "/c?d=e", "/ab"}
	path := func() string {
		var b strings.Builder
		for range 1 + rnd.IntN(4) {
			b.WriteString(segments[rnd.IntN(len(segments))])
		}
		return b.String()
	}
	for n := range 3000 {
		var b strings.Builder
		used := map[string]bool{}
		for range 1 + rnd.IntN(5) {
			for range 1 + rnd.IntN(2) {
				fmt.Fprintf(&b, "User-agent: %s\n", agents[rnd.IntN(len(agents))])
			}
			for range 1 + rnd.IntN(4) {
				p := path()
				for used[p] { // or there were a tie, or a group without rules
					p = path()
				}
				used[p] = true
				fmt.Fprintf(&b, "%s: %s\n", []string{"Allow", "Disallow", "disallow"}[rnd.IntN(3)], p)
			}
			b.WriteString([]string{"", "\n", "# note\n"}[rnd.IntN(3)])
		}
		file := b.String()
		other, err := robotstxt.FromString(file)
		if err != nil {
			t.Fatalf("temoto: %v\n%s", err, file)
		}
		mine := Parse([]byte(file))
		for range 20 {
			agent, url := agents[rnd.IntN(3)], path()
			got, rule := mine.Agent(agent).Allowed(url)
			if want := other.TestAgent(url, agent); got != want {
				t.Fatalf("file %d, %s %s: got %v by %v, temoto %v\n%s", n, agent, url, got, rule, want, file)
			}
		}
	}
}

func TestHostileFiles(t *testing.T) {
	for name, file := range map[string]string{
		"a*400":        "User-agent: *\nDisallow: /" + strings.Repeat("*a", 400) + "b$\n",
		"stars":        "User-agent: *\nDisallow: /" + strings.Repeat("*", 400_000) + "$\n",
		"many agents":  strings.Repeat("User-agent: a\nCrawl-delay: 1\n", 20_000),
		"many delays":  strings.Repeat("User-agent: a\n", 15_000) + strings.Repeat("Crawl-delay: 1\n", 15_000),
		"many groups":  strings.Repeat("User-agent: *\nDisallow: /x\n", 18_000),
		"many rules":   "User-agent: *\n" + strings.Repeat("Disallow: /*a*b*c\n", 27_000),
		"many maps":    strings.Repeat("Sitemap: a\n", 40_000),
		"one line":     strings.Repeat("a", MaxBytes),
		"line ends":    strings.Repeat("\n", MaxBytes),
		"percents":     "User-agent: *\nDisallow: /" + strings.Repeat("%", 400_000),
		"50 megabytes": strings.Repeat("User-agent: *\nDisallow: /x\n", 2_000_000),
	} {
		r := Parse([]byte(file)).Agent("mirrord")
		url := "/" + strings.Repeat("a", 2000)
		if ok, rule := r.Allowed(url); !ok && name != "stars" {
			t.Errorf("%s: %v", name, rule)
		}
	}
}

func BenchmarkAllowed(b *testing.B) {
	wild := make([]string, 5000)
	for i := range wild {
		wild[i] = fmt.Sprintf("Disallow: /dir%d/*/page*.html$", i)
	}
	plain := make([]string, 5000)
	for i := range plain {
		plain[i] = fmt.Sprintf("Disallow: /dir%d/sub/", i)
	}
	for _, c := range []struct{ name, file, url string }{
		{"wildcards5000", strings.Join(slices.Concat([]string{"User-agent: *"}, wild), "\n"),
			"/docs/guide/chapter/page12.html"},
		{"leadingStar5000", strings.ReplaceAll(strings.Join(slices.Concat([]string{"User-agent: *"}, wild), "\n"),
			" /dir", " /*dir"), "/docs/guide/chapter/page12.html"},
		{"plain5000", strings.Join(slices.Concat([]string{"User-agent: *"}, plain), "\n"),
			"/docs/guide/chapter/page12.html"},
		{"hostile", "User-agent: *\nDisallow: /" + strings.Repeat("*a", 400) + "b\n",
			"/" + strings.Repeat("a", 2000)},
		{"typical",
			"User-agent: *\nDisallow: /cgi-bin/\nDisallow: /*?sort=\nAllow: /cgi-bin/ok\nDisallow: /private/\n",
			"/docs/guide/page.html"},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := Parse([]byte(c.file)).Agent("mirrord")
			b.ReportAllocs()
			for b.Loop() {
				r.Allowed(c.url)
			}
		})
	}
	file := []byte(strings.Join(slices.Concat([]string{"User-agent: *"}, wild), "\n"))
	b.Run("parse5000", func(b *testing.B) {
		b.SetBytes(int64(len(file)))
		b.ReportAllocs()
		for b.Loop() {
			Parse(file).Agent("mirrord")
		}
	})
}
