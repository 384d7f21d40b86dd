// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/fetch"
	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

const home = "http://www.example.org"

// job is a job file for the whole of www.example.org, with more lines.
func job(lines ...string) string {
	return "url = \"" + home + "/\"\n" + strings.Join(lines, "\n") + "\n[scope]\nkind = \"host\"\n"
}

// hub serves an entry page that links to n pages of their own.
func hub(w *mirrortest.Web, n int) {
	var links strings.Builder
	for i := range n {
		p := fmt.Sprintf("/page%02d.html", i)
		fmt.Fprintf(&links, "<a href=%q>%d</a>\n", p, i)
		w.Set(home+p,
			mirrortest.HTML(fmt.Sprintf("Page %d", i), fmt.Sprintf("<p>text of %d <a href=/>home</a>", i)))
	}
	w.Set(home+"/", mirrortest.HTML("Hub", links.String()))
}

func wantVerdict(t *testing.T, s *mirror.Summary, want mirror.Verdict, published bool) {
	t.Helper()
	if s.Verdict != want || s.Published != published {
		t.Fatalf("verdict %v, published %v; want %v, %v\n%s", s.Verdict, s.Published, want, published,
			mirrortest.Text(s))
	}
}

func wantPaths(t *testing.T, m *mirrortest.Mirror, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := m.Paths(); !slices.Equal(got, want) {
		t.Fatalf("files %q\nwant %q", got, want)
	}
}

func wantText(t *testing.T, s *mirror.Summary, parts ...string) {
	t.Helper()
	text := mirrortest.Text(s)
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("the summary does not say %q:\n%s", p, text)
		}
	}
}

func TestNoChangeLeavesEverything(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 20)
	w.Set(home+"/logo.png", mirrortest.Page{Body: "png"})
	w.Set(home+"/page00.html", mirrortest.HTML("Page 0", `<img src="/logo.png"><a href="/never">gone</a>`))
	w.Set(home+"/untagged.html", mirrortest.Page{Body: "no validator", NoTag: true})
	w.Set(home+"/page01.html", mirrortest.HTML("Page 1", `<a href="untagged.html">x</a>`))
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	before := m.Stamps()
	w.Requests()
	for range 3 {
		s := m.Run()
		wantVerdict(t, s, mirror.Complete, false)
		if s.Version != 1 {
			t.Errorf("version %d", s.Version)
		}
		if got := m.Stamps(); !maps.Equal(got, before) {
			t.Errorf("files changed: %v\nwant %v", got, before)
		}
		log := w.Requests()
		if len(log) != 25 { // robots.txt, 24 URLs, nothing twice
			t.Errorf("%d requests", len(log))
		}
		audits := 0
		for _, r := range log {
			if r.Status == http.StatusOK && r.URL != home+"/untagged.html" {
				audits++
			}
		}
		if audits > 2 {
			t.Errorf("%d pages were sent again, want at most 2, which are asked without validators", audits)
		}
	}
}

// A page that is a redirect for a while, gone for a while, and then as it was, keeps its children.
func TestPageComesBackWithItsLinks(t *testing.T) {
	for name, absent := range map[string]mirrortest.Page{
		"redirect": mirrortest.Redirect("/"), "gone": mirrortest.Status(404), "noarchive": {
			Header: map[string]string{"X-Robots-Tag": "noarchive"},
			Body:   "x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 30)
			list := mirrortest.HTML("List", `<a href="child1.html">1</a> <a href="child2.html">2</a>`)
			w.Set(home+"/page05.html", list)
			w.Set(home+"/child1.html", mirrortest.HTML("One", "1"))
			w.Set(home+"/child2.html", mirrortest.HTML("Two", "2"))
			m := mirrortest.New(t, w, job("limits.max_delete = 0.5"))
			wantVerdict(t, m.Run(), mirror.Complete, true)
			all := m.Paths()
			w.Set(home+"/page05.html", absent)
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			if s.Removed != 3 {
				t.Fatalf("the page went, its children are linked from nowhere: %d removed\n%v", s.Removed, m.Paths())
			}
			w.Set(home+"/page05.html", list)
			wantVerdict(t, m.Run(), mirror.Complete, true)
			wantPaths(t, m, all...)
			wantVerdict(t, m.Run(), mirror.Complete, false)
			wantPaths(t, m, all...)
		})
	}
}

func TestScopeNarrowedAndWidened(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 4)
	w.Set(home+"/page00.html",
		mirrortest.HTML("Page 0", `<a href="/old/a.html">a</a> <a href="/old/b.html">b</a>`))
	w.Set(home+"/old/a.html", mirrortest.HTML("A", `<a href="b.html">b</a> <a href="/page01.html">1</a>`))
	w.Set(home+"/old/b.html", mirrortest.HTML("B", `<a href="a.html">a</a> <a href="/page02.html">2</a>`))
	m := mirrortest.New(t, w, job("limits.max_delete = 0.5"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	all := m.Paths()
	for range 2 {
		m.Set("scope.exclude", `["/old/**"]`)
		w.Requests()
		wantVerdict(t, m.Run(), mirror.Complete, true)
		wantPaths(t, m, "index.html", "page00.html", "page01.html", "page02.html", "page03.html")
		for _, r := range w.Requests() {
			if strings.Contains(r.URL, "/old/") {
				t.Errorf("%s is out of scope and was asked", r.URL)
			}
		}
		if page := m.Tree()["page00.html"]; !strings.Contains(page, `"`+home+`/old/a.html"`) {
			t.Errorf("the link out of scope is not absolute: %s", page)
		}
		wantVerdict(t, m.Run(), mirror.Complete, false)
		for _, r := range w.Requests() {
			if strings.Contains(r.URL, "/old/") {
				t.Errorf("%s is out of scope and was asked by the run after", r.URL)
			}
		}
		m.Set("scope.exclude", `[]`)
		wantVerdict(t, m.Run(), mirror.Complete, true)
		wantPaths(t, m, all...)
	}
}

// A site without any entry point is held back, and accept has nothing to publish. Neither keeps the next run
// from looking at the site again.
func TestAcceptWithoutEntryPoint(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 12)
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	before := m.Stamps()
	w.Remove(home + "/")
	for range 2 {
		s := m.Run()
		wantVerdict(t, s, mirror.Suspicious, false)
		wantText(t, s, "the entry point "+home+"/: gone", "no entry point is in the mirror")
		if s.Requests == 0 {
			t.Error("the site was not asked")
		}
		s = m.Accept()
		wantVerdict(t, s, mirror.Suspicious, false)
		wantText(t, s, "no entry point is in the mirror")
	}
	hub(w, 12)
	wantVerdict(t, m.Run(), mirror.Complete, false)
	if got := m.Stamps(); !maps.Equal(got, before) {
		t.Errorf("files %v, want %v", got, before)
	}

	// Of several entry points one is enough.
	m.Set("url", fmt.Sprintf("[%q, %q]", home+"/page03.html", home+"/"))
	m.Run()
	w.Remove(home + "/page03.html")
	s := m.Run()
	wantVerdict(t, s, mirror.Gaps, false)
	wantText(t, s, "missing: "+home+"/page03.html, since ", "status 404")
	s = m.Accept()
	wantVerdict(t, s, mirror.Complete, false)
	wantText(t, s, "complete but for 1 accepted as missing",
		"accepted as missing: "+home+"/page03.html, since ", "accepted")
	wantVerdict(t, m.Run(), mirror.Complete, false)
	if !slices.Contains(m.Paths(), "page03.html") {
		t.Errorf("files %q", m.Paths())
	}
}

// A calendar must stop for good, not grow by its limit with every run.
func TestTrapStopsOverRuns(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", `<a href="/cal/?d=0">calendar</a>`))
	var day atomic.Int64
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		var d int
		if _, err := fmt.Sscanf(r.URL.RawQuery, "d=%d", &d); err != nil || r.URL.Path != "/cal/" {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, `<title>day %d</title><a href="?d=%d">next</a><p>today is %d`, d, d+1, day.Load())
	}})
	m := mirrortest.New(t, w, job("limits.max_variants = 50", `limits.traps = "off"`))
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "trap", "more than 50 URLs of /cal/?d")
	n := len(m.Paths())
	if n != 51 {
		t.Errorf("%d files", n)
	}
	for range 2 {
		day.Add(1)
		if s = m.Run(); len(m.Paths()) != n {
			t.Errorf("a further run grew the calendar to %d files", len(m.Paths()))
		}
		wantText(t, s, "trap")
	}
}

func TestSitemapOutsideOfScopeIsNoFile(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/robots.txt", mirrortest.Page{
		Body:   "Sitemap: /sitemap.xml\n",
		Header: map[string]string{"Content-Type": "text/plain"},
	})
	w.Set(home+"/sitemap.xml",
		mirrortest.Page{Body: `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>` + home + `/docs/hidden.html</loc></url></urlset>`})
	w.Set(home+"/docs/", mirrortest.HTML("Docs", "<p>no links"))
	w.Set(home+"/docs/hidden.html", mirrortest.HTML("Hidden", "found by the sitemap only"))
	m := mirrortest.New(t, w, "url = \""+home+"/docs/\"\n")
	for i := range 3 {
		wantVerdict(t, m.Run(), mirror.Complete, i == 0)
		wantPaths(t, m, "docs/index.html", "docs/hidden.html")
	}
}

func newHosts() *fetch.Hosts { return new(fetch.Hosts) }

func discard() *log.Logger { return log.New(io.Discard, "", 0) }

// A cap bounds the mirror, not each run: resources in it already count.
func TestCapsHoldOverRuns(t *testing.T) {
	for _, c := range []struct{ key, says string }{
		{"limits.max_files = 10", "max_files"}, {`limits.max_size = "1500B"`, "max_size"},
	} {
		w := mirrortest.Start(t)
		hub(w, 40)
		m := mirrortest.New(t, w, job(c.key, "polite.connections = 1"))
		s := m.Run()
		wantText(t, s, c.says+" = ")
		if !m.Published() {
			t.Fatal(mirrortest.Text(s))
		}
		before := m.Paths()
		if len(before) < 3 || len(before) > 12 {
			t.Errorf("%s: %d files", c.key, len(before))
		}
		for range 2 {
			s := m.Run()
			wantText(t, s, c.says+" = ")
			if now := m.Paths(); len(now) != len(before) {
				t.Errorf("%s: %d files became %d", c.key, len(before), len(now))
			}
		}
	}
}
