// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// wantCut checks that a run has one gap that a limit makes, which is not known.
func wantCut(t *testing.T, s *mirror.Summary, url, limit string) {
	t.Helper()
	n := 0
	for _, g := range s.Gaps.List {
		if g.Limit == "" {
			continue
		}
		if n++; (g.URL != url) || (g.Limit != limit) || (g.Value == "") || (g.Known != "") {
			t.Errorf("gap %+v, want %s cut short by %s", g, url, limit)
		}
	}
	if n != 1 {
		t.Errorf("%d gaps by limits, want 1:\n%s", n, mirrortest.Text(s))
	}
}

// index is a page with links to so many pages of a name.
func index(name string, n int) mirrortest.Page {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<a href=%s/%s%03d.html>%d</a> ", home, name, i, i)
	}
	return mirrortest.HTML("Index", b.String())
}

// setPages makes so many pages of a name.
func setPages(w *mirrortest.Web, name string, n int) {
	for i := range n {
		u := fmt.Sprintf("%s/%s%03d.html", home, name, i)
		w.Set(u, mirrortest.HTML(u, mirrortest.Words(uint32(i+1), 30)))
	}
}

// What a limit cuts off is not absent: the links that a document had before stay, each run has a gap that is
// neither one of few nor written off, and accept makes it known. When the limit is raised, the rest comes.
func TestCutIsNotAbsent(t *testing.T) {
	pages := map[string]int{"new": 35, "old": 20}
	for _, c := range []struct {
		limit, low, high string
		page             func(names ...string) mirrortest.Page
	}{
		{"limits.max_links", "30", "3000", func(names ...string) mirrortest.Page {
			var b strings.Builder
			for _, name := range names {
				b.WriteString(index(name, pages[name]).Body)
			}
			return mirrortest.HTML("Index", b.String())
		}},
		{"limits.max_document", `"3kB"`, `"3MB"`, func(names ...string) mirrortest.Page {
			var b strings.Builder
			for _, name := range names {
				b.WriteString(index(name, pages[name]).Body + mirrortest.Words(7, 100))
			}
			return mirrortest.HTML("Index", b.String())
		}},
	} {
		t.Run(c.limit, func(t *testing.T) {
			w := mirrortest.Start(t)
			for name, n := range pages {
				setPages(w, name, n)
			}
			w.Set(home+"/", mirrortest.HTML("Home", "<a href=/index.html>all</a>"))
			w.Set(home+"/index.html", c.page("old"))
			m := mirrortest.New(t, w, job(c.limit+" = "+c.low))
			wantVerdict(t, m.Run(), mirror.Complete, true)
			before := m.Paths()
			w.Set(home+"/index.html", c.page("new", "old"))
			for range 5 {
				s := m.Run()
				if s.Verdict != mirror.Gaps {
					t.Errorf("verdict %v, want gaps", s.Verdict)
				}
				wantCut(t, s, home+"/index.html", c.limit)
				for _, p := range before {
					if !slices.Contains(m.Paths(), p) {
						t.Errorf("%s has left the mirror", p)
					}
				}
			}
			wantVerdict(t, m.Accept(), mirror.Complete, false)
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, false)
			if s.Gaps.Known != 1 {
				t.Errorf("%d known gaps, want 1", s.Gaps.Known)
			}
			m.Set(c.limit, c.high)
			s = m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			if (s.Gaps.Count != 0) || (len(m.Paths()) != 57) {
				t.Errorf("%d gaps and %d files, want none and 57", s.Gaps.Count, len(m.Paths()))
			}
			w.Set(home+"/index.html", c.page("new")) // and what a whole document does not link to leaves
			s = m.Run()
			for range 3 {
				if s.Verdict == mirror.Suspicious {
					m.Accept()
				}
				s = m.Run()
			}
			if n := len(m.Paths()); n != 37 {
				t.Errorf("%d files, want 37", n)
			}
		})
	}
}

// Links that the scope excludes do not count towards limits.max_links.
func TestExcludedLinksDoNotCount(t *testing.T) {
	w := mirrortest.Start(t)
	setPages(w, "wanted", 20)
	w.Set(home+"/", mirrortest.HTML("Home", index("skip", 200).Body+index("wanted", 20).Body))
	m := mirrortest.New(t, w, job("limits.max_links = 30"))
	m.Set("scope.exclude", `["/skip*"]`)
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if n := len(m.Paths()); n != 21 {
		t.Errorf("%d files, want 21:\n%s", n, mirrortest.Text(s))
	}
}

// A run that is cut off and resumes has the gap as well: the record says so.
func TestCutOutlivesARun(t *testing.T) {
	w := mirrortest.Start(t)
	setPages(w, "page", 40)
	w.Set(home+"/", index("page", 40))
	m := mirrortest.New(t, w, job("limits.max_links = 30", "limits.max_requests = 10"))
	s := m.Run()
	for i := 0; (s.Verdict == mirror.Partial) && (i < 10); i++ {
		s = m.Run()
	}
	wantCut(t, s, home+"/", "limits.max_links")
	if s.Verdict != mirror.Gaps {
		t.Errorf("verdict %v, want gaps", s.Verdict)
	}
}

// An entry point that tells robots nofollow is a gap, not a complete mirror of one page; what it linked to
// before stays. Other pages that do are noted.
func TestNofollowOfTheEntryPoint(t *testing.T) {
	const says = `<meta name=robots content="index, nofollow">`
	w := mirrortest.Start(t)
	setPages(w, "page", 10)
	w.Set(home+"/", mirrortest.HTML("Home", says+index("page", 10).Body))
	m := mirrortest.New(t, w, job())
	s := m.Run()
	wantVerdict(t, s, mirror.Gaps, true)
	wantCut(t, s, home+"/", "robots")
	wantText(t, s, "tells robots not to follow its links")
	x := explanation(t, m, home+"/page003.html")
	if !strings.Contains(x.Answer, home+"/ tells robots not to follow its links (nofollow)") {
		t.Errorf("explain answers %q", x.Answer)
	}
	wantVerdict(t, m.Accept(), mirror.Complete, false)
	wantVerdict(t, m.Run(), mirror.Complete, false)

	w.Set(home+"/", index("page", 10))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	w.Set(home+"/", mirrortest.HTML("Home", says+index("page", 10).Body))
	for range 4 {
		s = m.Run()
		wantCut(t, s, home+"/", "robots")
		if n := len(m.Paths()); n != 11 {
			t.Errorf("%d files, want 11", n)
		}
	}
	w.Set(home+"/", index("page", 10))
	w.Set(home+"/page000.html", mirrortest.HTML("0", says+"<a href=/deep.html>deep</a>"))
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "1 page tells robots nofollow, such as "+home+"/page000.html")
}
