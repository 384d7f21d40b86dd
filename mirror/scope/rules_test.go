// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"strings"
	"testing"

	"mirrord/job"
	"mirrord/site"
)

func compile(t *testing.T, text string) *URLRules {
	t.Helper()
	j, err := job.Parse("j", "j.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Compile(j)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func parse(t *testing.T, raw string) site.URL {
	t.Helper()
	u, _, err := site.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestAllow(t *testing.T) {
	const entry = "url = \"https://www.example.org/docs/\"\nscope = { kind = \"directory\", exclude = " +
		"[\"**/old/**\"] }\n"
	for _, c := range []struct {
		requisites string
		url        string
		purpose    Purpose
		ok         bool
		reason     string // a part of it
	}{
		{"scope", "https://www.example.org/docs/a.html", Page, true, ""},
		{"scope", "https://www.example.org/docs/old/a.html", Page, false, "old"},
		{"scope", "https://www.example.org/docs/find.cgi", Page, false, "cgi"},
		{"scope", "https://www.example.org/b.html", Page, false, ""},
		{"scope", "https://www.example.org/b.png", Requisite, false, `requisites = "scope"`},
		{"host", "https://www.example.org/b.png", Requisite, true, ""},
		{"host", "https://static.example.org/b.png", Requisite, false, `requisites = "host"`},
		{"host", "https://www.example.org/old/b.png", Requisite, false, ""},
		{"domain", "https://static.example.org/b.png", Requisite, true, ""},
		{"domain", "https://static.example.org/old/b.png", Requisite, false, ""},
		{"domain", "https://cdn.example.net/b.png", Requisite, false, ""},
		{"any", "https://cdn.example.net/b.png", Requisite, true, ""},
		{"any", "https://cdn.example.net/old/b.png", Requisite, false, ""},
		{"any", "https://cdn.example.net/b.html", Page, false, ""},
	} {
		r := compile(t, entry+"requisites = \""+c.requisites+"\"\n")
		ok, reason := r.Allow(parse(t, c.url), c.purpose)
		if ok != c.ok || !strings.Contains(reason, c.reason) || ok != (reason == "") {
			t.Errorf("requisites %s, %s: %v, %q; want %v, %q", c.requisites, c.url, ok, reason, c.ok, c.reason)
		}
	}
}

// The feed of changes of a program may lie beside the scope; a page there may be that of another program.
func TestAllowFeedBeside(t *testing.T) {
	const entry = "url = \"https://www.example.org/w/a/\"\nscope = { kind = \"directory\", exclude = " +
		"[\"**/no/**\"] }\n"
	for _, c := range []struct {
		profile, url string
		ok           bool
	}{
		{"mediawiki", "https://www.example.org/w/api.php?a&action=feedrecentchanges&feedformat=atom", true},
		{"mediawiki", "https://www.example.org/w/no/api.php?a&action=feedrecentchanges&feedformat=atom", false},
		{"mediawiki", "https://other.example/w/api.php?a&action=feedrecentchanges&feedformat=atom", false},
		{"mediawiki", "https://www.example.org/w/api.php?action=query", false},
		{"none", "https://www.example.org/w/api.php?a&action=feedrecentchanges&feedformat=atom", false},
		{"phpbb", "https://www.example.org/index.php", false},
	} {
		r := compile(t, "profile = \""+c.profile+"\"\n"+entry)
		if ok, why := r.Allow(parse(t, c.url), Page); ok != c.ok {
			t.Errorf("profile %s: %s: %v, %s", c.profile, c.url, ok, why)
		}
	}
}

func TestAllowSitemapAndGuess(t *testing.T) {
	r := compile(t, "url = \"https://www.example.org/docs/\"\nrequisites = \"any\"\n")
	page := parse(t, "https://www.example.org/docs/")
	for _, c := range []struct {
		url            string
		sitemap, guess bool
	}{
		{"https://www.example.org/sitemap.xml", true, true},
		{"https://www.example.org/docs/sitemap.xml", true, true},
		{"https://cdn.example.net/sitemap.xml", false, false},
	} {
		u := parse(t, c.url)
		if got := r.AllowSitemap(u); got != c.sitemap {
			t.Errorf("%s as a sitemap: %v", c.url, got)
		}
		if got := r.AllowGuess(u, page); got != c.guess {
			t.Errorf("%s as a guess: %v", c.url, got)
		}
	}
}

// What a profile leaves is not requested because a script names it, either.
func TestProfilesLeaveGuesses(t *testing.T) {
	r := compile(t, "url = \"https://hg.example.org/\"\nprofile = \"hgweb\"\n")
	page := parse(t, "https://hg.example.org/file/tip/a.txt")
	for url, want := range map[string]bool{
		"https://hg.example.org/log/tip/a.txt":         false,
		"https://hg.example.org/static/followlines.js": true,
	} {
		if got := r.AllowGuess(parse(t, url), page); got != want {
			t.Errorf("%s as a guess: %v", url, got)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	if _, err := Compile(new(job.Job)); err == nil || !strings.Contains(err.Error(), "entry point") {
		t.Errorf("a job without entry point: %v", err)
	}
}

// All that changes which links are followed changes the fingerprint, and nothing else does.
func TestFingerprint(t *testing.T) {
	parse := func(text string) *job.Job {
		j, err := job.Parse("j", "j.toml", []byte("url = \"https://e.org/\"\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	plain := Fingerprint(parse(""))
	for _, same := range []string{"limits.max_files = 7\n", "polite.delay = \"3s\"\n"} {
		if Fingerprint(parse(same)) != plain {
			t.Errorf("%q is another fingerprint", same)
		}
	}
	for _, other := range []string{
		"limits.max_links = 7\n", "requisites = \"any\"\n", "scripts = false\n", "obey_robots = false\n",
		"scope.types = \"pdf\"\n", "scope.not_types = \"pdf\"\n",
	} {
		if Fingerprint(parse(other)) == plain {
			t.Errorf("%q is the same fingerprint", other)
		}
	}
}
