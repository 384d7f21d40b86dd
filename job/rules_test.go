// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"
	"testing"

	"mirrord/site"
)

func TestRules(t *testing.T) {
	j, err := Parse("j", "j.toml",
		[]byte("url = \"https://e.org/docs/\"\nscope = { exclude = [\"/docs/old/**\"] }\nprograms = { suffixes "+
			"= [], globs = [\"/docs/find*\"] }\nlimits.max_path_depth = 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if j.Programs.Suffixes == nil {
		t.Error("an empty list where the default is not empty became nil, which is the default again")
	}
	scope, err := j.ScopeRule()
	if err != nil {
		t.Fatal(err)
	}
	programs, err := j.ProgramRule()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		url                  string
		in, program, trapped bool
	}{
		{"https://e.org/docs/a", true, false, false},
		{"https://e.org/docs/old/a", false, false, false},
		{"https://e.org/other", false, false, false},
		{"https://e.org/docs/a.cgi", true, false, false}, // no suffixes: none are programs
		{"https://e.org/docs/cgi-bin/a", true, true, false},
		{"https://e.org/docs/find", true, true, false},
		{"https://e.org/docs/a/b/c/d", true, false, true},
	} {
		u, _, err := site.Parse(tc.url)
		if err != nil {
			t.Fatal(err)
		}
		in, _ := scope.Admits(u)
		program, _ := programs.Is(u)
		_, trapped := j.Traps().Check(u)
		if in != tc.in || program != tc.program || trapped != tc.trapped {
			t.Errorf("%s: in scope %v, program %v, trapped %v; want %v, %v, %v", tc.url, in, program, trapped, tc.in,
				tc.program, tc.trapped)
		}
	}
}

// The words are site's; the place and the hint are ours.
func TestBadGlob(t *testing.T) {
	_, err := Parse("j", "j.toml", []byte("url = \"https://e.org/\"\n[programs]\nglobs = [\"/a\", \"/[ab]\"]\n"))
	if err == nil || !strings.HasPrefix(err.Error(), `j.toml:3:1: bad glob "/[ab]"`) ||
		!strings.HasSuffix(err.Error(), "; globs are explained in docs/jobs.md") {
		t.Errorf("got %v", err)
	}
}

func TestRepeats(t *testing.T) {
	for _, c := range []struct {
		limit, path string
		trapped     bool
	}{
		{"", "/a/a/b", false}, {"", "/a/a/a/", true}, {"", "/a/b/a/b/a/b", true},
		{"", "/x/1/x/2/x/3/x/4/x/5/y", false}, {"", "/x/1/x/2/x/3/x/4/x/5/x/", true},
		{"", "/1/1/1/", false}, {"limits.max_repeats = 2", "/b/a/a/", true},
		{"limits.max_repeats = 5", "/a/a/a/a/", false}, {"limits.max_repeats = 5", "/a/a/a/a/a/", true},
		{"limits.max_repeats = 0", "/a/a/a/a/a/a/a/a/a/a/", false},
	} {
		j, err := Parse("j", "j.toml", []byte("url = \"https://e.org/\"\n"+c.limit+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		u, _, err := site.Parse("https://e.org" + c.path)
		if err != nil {
			t.Fatal(err)
		}
		if reason, trapped := j.Traps().Check(u); trapped != c.trapped {
			t.Errorf("%s with %q: trapped %t, %s", c.path, c.limit, trapped, reason)
		}
	}
	_, err := Parse("j", "j.toml", []byte("url = \"https://e.org/\"\nlimits.max_repeats = 1\n"))
	if err == nil || !strings.Contains(err.Error(), "set 0 for no limit") {
		t.Errorf("%v", err)
	}
}
