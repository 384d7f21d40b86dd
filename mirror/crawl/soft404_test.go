// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/testing/processtest"
)

// impossible matches a path that cannot exist.
var impossible = regexp.MustCompile(`^[0-9a-f]{16}\.html$`)

// Where so many pages became others that it matters, the site is asked for a path that cannot exist: once for
// the directory that all are in, and once for each of the sections that have most. An honest answer, and one
// that the rules, robots.txt or the host do not allow, says nothing.
func TestProbeSections(t *testing.T) {
	sorry := &processtest.SiteReply{MIME: "text/html", Body: "<title>Sorry</title><a href=/>home</a>"}
	in := func(dir string, n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprint(dir, "p", i))
		}
		return out
	}
	join := func(lists ...[]string) (out []string) {
		for _, l := range lists {
			out = append(out, l...)
		}
		return out
	}
	for _, c := range []struct {
		name    string
		changed []string // pages that became others
		other   *processtest.SiteReply
		keys    string
		forbids string
		down    bool
		first   bool // nothing is published yet

		requests string // the directories that were asked, below the site
		probes   string // those that answered with status 200
	}{
		{name: "a quiet run", other: sorry},
		{name: "two pages", changed: in("/", 2), other: sorry},
		{name: "a first run", changed: in("/", 9), other: sorry, first: true},
		{name: "three pages", changed: in("/", 3), other: sorry, requests: "/", probes: "/"},
		{name: "an honest site", changed: in("/", 9), requests: "/"},
		{
			name:     "every path redirects",
			changed:  in("/", 9),
			other:    &processtest.SiteReply{Status: 302, To: "/"},
			requests: "/",
		},
		{
			name:     "no page",
			changed:  in("/", 9),
			other:    &processtest.SiteReply{MIME: "image/png", Body: "x"},
			requests: "/",
		},
		{
			name:     "one section",
			changed:  in("/a/b/", 9),
			other:    sorry,
			requests: "/a/b/",
			probes:   "/a/b/",
		},
		{
			name:     "sections, of which one has too few pages",
			changed:  join(in("/a/", 4), in("/b/", 2), in("/c/", 5)),
			other:    sorry,
			requests: "/ /c/ /a/",
			probes:   "/ /c/ /a/",
		},
		{
			name:     "more sections than are asked",
			changed:  join(in("/a/", 4), in("/b/", 4), in("/c/", 4), in("/d/", 4)),
			other:    sorry,
			requests: "/ /a/ /b/ /c/",
			probes:   "/ /a/ /b/ /c/",
		},
		{
			name:     "the section is excluded",
			keys:     "[scope]\nexclude = [\"/a/**\"]\n",
			changed:  in("/a/", 9),
			other:    sorry,
			requests: "/", // beside the entry point
			probes:   "/a/",
		},
		{name: "robots.txt forbids it", changed: in("/", 9), other: sorry, forbids: "Disallow: /\n"},
		{name: "the host is down", changed: in("/", 9), other: sorry, down: true},
	} {
		t.Run(c.name, inBubble(func(t *testing.T) {
			b := bench{processtest.NewRunBench(t, c.keys, nil)}
			b.Other, b.Forbids = c.other, c.forbids
			r := b.begin()
			if _, err := r.dispatcher.LearnRobots(t.Context(), site.Canonical(home+"/"), b.Site); err != nil {
				t.Fatal(err)
			}
			if c.down {
				r.dispatcher.HostErrors.LeaveOrigin(site.Canonical(home+"/"), "it is down")
			}
			run := urls.Run{Number: 2, Version: 2}
			if c.first {
				run.Version = 1
			}
			x := &crawling{planned: &planned{loaded: &loaded{Retrieval: r}}}
			for _, path := range c.changed {
				rec := processtest.Page(home + path)
				rec.Shape, rec.ShapeNew, rec.Changed, rec.Run = 7, true, run.Version, run.Number
				x.shapes.Note(&rec, run)
			}
			x.probeSections(t.Context())
			if got := askedDirs(t, b.Requests()); got != c.requests {
				t.Errorf("asked %q, want %q", got, c.requests)
			}
			var got []string
			for _, p := range x.probes {
				got = append(got, strings.TrimPrefix(p.Below, home))
				if !strings.HasPrefix(p.Said, "Sorry") || p.Shape == 0 || p.Size != int64(len(sorry.Body)) {
					t.Errorf("%+v", p)
				}
			}
			if got := strings.Join(got, " "); got != c.probes {
				t.Errorf("answered for %q, want %q", got, c.probes)
			}
		}))
	}
}

// askedDirs are the directories of requests for paths that cannot exist.
func askedDirs(t *testing.T, requests []string) string {
	t.Helper()
	var out []string
	for _, u := range requests {
		i := strings.LastIndexByte(u, '/') + 1
		if !impossible.MatchString(u[i:]) {
			t.Errorf("requested %s", u)
		}
		out = append(out, strings.TrimPrefix(u[:i], home))
	}
	return strings.Join(out, " ")
}
