// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

const (
	copyHost = "http://mirror.example.net"
	copyBase = copyHost + "/pub/"
)

// prose is text of its own for each page, long enough for shingles.
func prose(n int, seed uint32) string { return mirrortest.Words(uint32(n+1)*2654435761+seed, 80) }

// edited is another edition of prose(n, 0).
func edited(n int) string { return prose(n, 0) + " and this was added to the edition since" }

// handbook is a site of an entry page and n pages, by path.
func handbook(n int) map[string]mirrortest.Page {
	pages := map[string]mirrortest.Page{}
	var links strings.Builder
	for i := range n {
		p := fmt.Sprintf("p%02d.html", i)
		fmt.Fprintf(&links, "<a href=%q>%d</a>\n", p, i)
		pages["/"+p] = mirrortest.HTML(fmt.Sprintf("Page %d", i), "<p>"+prose(i, 0)+`<a href="./">home</a>`)
	}
	pages["/"] = mirrortest.HTML("Handbook", "<p>"+prose(-1, 0)+links.String())
	pages["/logo.png"] = mirrortest.Page{Body: "png"}
	pages["/p00.html"] = mirrortest.HTML("Page 0", `<img src="logo.png"><p>`+prose(0, 0))
	return pages
}

// replicate puts pages on the replica.
func replicate(w *mirrortest.Web, pages map[string]mirrortest.Page) {
	for p, page := range pages {
		w.Set(copyBase+p[1:], page)
	}
	w.Set(copyHost+"/robots.txt", mirrortest.Page{Body: "User-agent: *\nDisallow: /secret/\n"})
}

// takeDown makes the origin hang up on everybody.
func takeDown(w *mirrortest.Web, pages map[string]mirrortest.Page) {
	for p := range pages {
		w.Remove(home + p)
	}
	w.Remove(home + "/robots.txt")
}

func withAlternates() string { return job(fmt.Sprintf("alternates = [%q]", copyBase)) }

// replicated starts an origin and a replica with the same pages, and mirrors the origin once. toml stands
// before the rest of the job.
func replicated(
	t *testing.T, pages map[string]mirrortest.Page, toml string,
) (*mirrortest.Web, *mirrortest.Mirror) {
	t.Helper()
	w := mirrortest.Start(t)
	w.SetAll(home, pages)
	replicate(w, pages)
	m := mirrortest.New(t, w, toml+withAlternates())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	return w, m
}

func TestAlternatesWhenHostIsDown(t *testing.T) {
	pages := handbook(24)
	w, m := replicated(t, pages, replacing)
	before := m.Tree()
	if w.Asked(); recordOf(t, m, home+"/p03.html").Source != "" {
		t.Fatal("a page of the origin has a source")
	}

	// The replica has a page that changed, one more than the origin had, and lacks one.
	takeDown(w, pages)
	there := maps.Clone(pages)
	there["/p03.html"] = newer(mirrortest.HTML("Page 3",
		"<p>news "+edited(3)+`<a href="./">home</a><a href="extra.html">x</a><a href="/p04.html">4</a>`))
	there["/extra.html"] = mirrortest.HTML("Extra", "<p>"+prose(99, 0))
	delete(there, "/p05.html")
	replicate(w, there)
	w.Remove(copyBase + "p05.html")
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Alternates[copyBase] < 24 || s.Foreign != 2 || s.Gone != 0 || s.Removed != 0 || s.Added != 1 ||
		s.Changed != 1 {
		t.Errorf("replicas gave %v, %d foreign, %d gone; %d added, %d changed, %d removed\n%s", s.Alternates,
			s.Foreign, s.Gone, s.Added, s.Changed, s.Removed, mirrortest.Text(s))
	}
	wantText(t, s, "answers are of "+copyBase+", because the origin gave none",
		"2 files of the mirror came from replicas")
	rec := recordOf(t, m, home+"/p03.html")
	if rec.Source != copyBase+"p03.html" || rec.ETag != "" || rec.LastModified != "" ||
		!strings.Contains(rec.Reason, "because the origin did not give it") {
		t.Errorf("page from the replica: source %q, validators %q %q, reason %q", rec.Source, rec.ETag,
			rec.LastModified, rec.Reason)
	}
	if f := fileOf(t, m, "p03.html"); string(f.Extra["mirrord.source"]) != `"`+copyBase+`p03.html"` {
		t.Errorf("the file table says %q", f.Extra)
	}
	if f := fileOf(t, m, "p04.html"); len(f.Extra) > 0 {
		t.Errorf("the file table says of a page of the origin %q", f.Extra)
	}
	tree := m.Tree()
	if !strings.Contains(tree["p03.html"], "news") || !strings.Contains(tree["p03.html"], `"p04.html"`) ||
		tree["extra.html"] == "" || tree["p05.html"] != before["p05.html"] {
		t.Errorf("the tree does not have what the replica has over what it lacks: %q", tree["p03.html"])
	}
	same := recordOf(t, m, home+"/p07.html")
	if same.Source != "" || same.ETag == "" || same.Outcome.String() != "unchanged" {
		t.Errorf("page that the replica has as it was: source %q, ETag %q, outcome %v", same.Source, same.ETag,
			same.Outcome)
	}
	for _, r := range w.Requests() {
		if strings.HasPrefix(r.URL, copyHost) && r.Conditional {
			t.Errorf("the origin's validators went to the replica for %s", r.URL)
		}
	}
	x := explanation(t, m, home+"/p03.html")
	if x.Source != copyBase+"p03.html" || !strings.Contains(x.Answer, "from a replica") {
		t.Errorf("explained as %+v", x)
	}

	// The origin comes back as it was.
	w.SetAll(home, pages)
	w.Requests()
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Foreign != 0 || len(s.Alternates) != 0 || s.Removed != 1 {
		t.Errorf("the origin is back: %d foreign, %v, %d removed", s.Foreign, s.Alternates, s.Removed)
	}
	for _, r := range w.Requests() {
		if strings.HasPrefix(r.URL, copyHost) {
			t.Errorf("the replica was asked for %s", r.URL)
		}
		if r.URL == home+"/p03.html" && r.Conditional {
			t.Error("a replica's body was asked for conditionally")
		}
	}
	if !maps.Equal(m.Tree(), before) {
		t.Error("the tree is not what it was")
	}
}

// explainURL explains a URL of a site that is open.
func explainURL(m *mirrortest.Mirror, s *store.Site, url string) (*report.Explanation, error) {
	v, err := report.Load(m.Job, s, time.Now())
	if err != nil {
		return nil, err
	}
	return v.Explain(context.Background(), nil, url)
}

func explanation(t *testing.T, m *mirrortest.Mirror, url string) *report.Explanation {
	t.Helper()
	var x *report.Explanation
	m.Site(func(s *store.Site) {
		var err error
		if x, err = explainURL(m, s, url); err != nil {
			t.Fatal(err)
		}
	})
	return x
}

// shownTo makes the pages of a host that shows another content by who asks.
func shownTo(isOther func(*http.Request) bool) func(int, mirrortest.Page) mirrortest.Page {
	return func(i int, was mirrortest.Page) mirrortest.Page {
		return mirrortest.Page{Handle: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			if isOther(r) {
				fmt.Fprintf(w, "<title>Other</title><p>%s", prose(i, 77))
				return
			}
			fmt.Fprint(w, was.Body)
		}}
	}
}

func TestAlternateThatIsNoReplica(t *testing.T) {
	for name, c := range map[string]struct {
		page       func(i int, was mirrortest.Page) mirrortest.Page
		foreign    int
		failedSome bool
	}{
		"other pages": {func(i int, _ mirrortest.Page) mirrortest.Page {
			return mirrortest.HTML("Other", "<p>"+prose(i, 77))
		}, 0, true},
		"half of the pages": {func(i int, was mirrortest.Page) mirrortest.Page {
			if i%2 == 0 {
				return mirrortest.Status(404)
			}
			return was
		}, 0, true},
		"one page for every path": {func(int, mirrortest.Page) mirrortest.Page {
			return mirrortest.HTML("Parked", "<p>"+prose(5, 5))
		}, 0, true},
		"another page for programs": {shownTo(func(r *http.Request) bool {
			return strings.Contains(r.UserAgent(), "mirrord")
		}), 0, true},
		"another language unless one is wanted": {shownTo(func(r *http.Request) bool {
			return r.Header.Get("Accept-Language") == ""
		}), 0, true},
		"another page for some addresses": {shownTo(func(r *http.Request) bool {
			return strings.HasPrefix(r.RemoteAddr, "127.")
		}), 0, true},
		"noarchive": {func(_ int, was mirrortest.Page) mirrortest.Page {
			was.Header = map[string]string{"Content-Type": "text/html", "X-Robots-Tag": "noarchive"}
			return was
		}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			pages := handbook(20)
			w.SetAll(home, pages)
			m := mirrortest.New(t, w, withAlternates())
			wantVerdict(t, m.Run(), mirror.Complete, true)
			before := m.Tree()
			takeDown(w, pages)
			there := map[string]mirrortest.Page{}
			i := 0
			for p, page := range pages {
				there[p] = c.page(i, page)
				i++
			}
			replicate(w, there)
			if name == "one page for every path" {
				w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
					if r.URL.Host != "mirror.example.net" {
						panic(http.ErrAbortHandler)
					}
					rw.Header().Set("Content-Type", "text/html")
					fmt.Fprintf(rw, "<title>Parked</title><p>%s", prose(5, 5))
				}})
			}
			s := m.Run()
			if s.Verdict != mirror.Partial || s.Published || s.Foreign != c.foreign || s.Gone != 0 {
				t.Errorf("%d foreign, %d gone\n%s", s.Foreign, s.Gone, mirrortest.Text(s))
			}
			if !maps.Equal(m.Tree(), before) {
				t.Error("the tree is another one")
			}
			wantText(t, s, "is not treated as the origin")
		})
	}
}

// The replica's own robots.txt is obeyed, its error page is no page, and nothing of its listings spares a
// request to the origin.
func TestAlternateIsAskedPolitely(t *testing.T) {
	pages := handbook(24)
	pages["/robots.txt"] = mirrortest.Page{Body: "User-agent: *\nDisallow: /private/\n"}
	w, m := replicated(t, pages, replacing)
	takeDown(w, pages)
	delete(pages, "/robots.txt")
	there := maps.Clone(pages)
	there["/p01.html"] = newer(mirrortest.HTML("Page 1",
		`<p>news `+edited(1)+`<a href="no.html">n</a> <a href="missing.html">m</a>`))
	there["/no.html"] = mirrortest.HTML("No", "<p>"+prose(1, 8))
	replicate(w, there)
	w.Set(copyHost+"/robots.txt", mirrortest.Page{Body: "User-agent: *\nDisallow: /pub/no.html\n"})
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "mirror.example.net" {
			panic(http.ErrAbortHandler)
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<title>Sorry</title><p>%s", prose(50, 50))
	}})
	w.Requests()
	s := m.Run()
	if s.Foreign != 1 {
		t.Errorf("%d foreign, want the page that changed\n%s", s.Foreign, mirrortest.Text(s))
	}
	for _, r := range w.Requests() {
		if strings.HasSuffix(r.URL, "/pub/no.html") {
			t.Error("what the replica's robots.txt forbids was asked")
		}
	}
	if tree := m.Tree(); tree["missing.html"] != "" {
		t.Error("the replica's error page is in the mirror")
	}
}

// A replica that was found to be one is believed from the first run on.
func TestAlternateOfFirstRun(t *testing.T) {
	w := mirrortest.Start(t)
	pages := handbook(12)
	replicate(w, pages)
	m := mirrortest.New(t, w, withAlternates())
	s := m.Run()
	if s.Verdict != mirror.Partial || s.Version != 0 {
		t.Fatalf("the replica is not known:\n%s", mirrortest.Text(s))
	}
	st, err := store.OpenState(m.Dir, store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Shared.SavePair(samePair(home+"/", copyBase, time.Now())); err != nil {
		t.Fatal(err)
	}
	st.Close()
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Files != 14 || s.Foreign != 14 {
		t.Errorf("%d files, %d of them foreign, want 14\n%s", s.Files, s.Foreign, mirrortest.Text(s))
	}
}

// A run that is interrupted while replicas answer resumes, and ends as one that was not; so does a planned
// one.
func TestAlternatesOfAResumedRun(t *testing.T) {
	for _, policy := range []string{"full", "adaptive"} {
		t.Run(policy, func(t *testing.T) {
			pages := handbook(40)
			w, m := replicated(t, pages, replacing+"policy = \""+policy+"\"\n")
			wantVerdict(t, m.Run(), mirror.Complete, false)
			takeDown(w, pages)
			there := maps.Clone(pages)
			for i := range 20 { // more than a test would forgive; but the test was made before
				p := fmt.Sprintf("/p%02d.html", 2*i)
				there[p] = newer(mirrortest.HTML("News", fmt.Sprintf("<p>news %d %s", i, edited(2*i))))
			}
			delete(there, "/logo.png")
			w.Remove(copyBase + "logo.png")
			replicate(w, there)
			ctx, stop := context.WithCancel(t.Context())
			var n atomic.Int64
			w.Hook(func(r *http.Request) {
				if r.URL.Host == "mirror.example.net" {
					if n.Add(1) == 12 {
						stop()
					}
				}
			})
			m.Set("polite.connections", "1")
			s, err := m.RunWith(ctx, func(*mirror.Options) {})
			if err != nil || s.Verdict != mirror.Partial || s.Published {
				t.Fatalf("%v\n%s", err, mirrortest.Text(s))
			}
			w.Hook(nil)
			s = m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			if (policy == "full" && s.Foreign != 20) || s.Foreign == 0 || s.Removed != 0 || s.Gone != 0 {
				t.Errorf("%d foreign, %d removed\n%s", s.Foreign, s.Removed, mirrortest.Text(s))
			}
			foreign := s.Foreign
			w.SetAll(home, pages)
			s = m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			if s.Foreign != 0 || s.Changed != foreign || s.Removed != 0 {
				t.Errorf("the origin is back: %d foreign, %d of %d changed, %d removed\n%s", s.Foreign, s.Changed,
					foreign, s.Removed, mirrortest.Text(s))
			}
		})
	}
}

// What the site links to but has no more is taken from the replica, on request; entry points and what the
// replica lacks are not.
func TestRepair(t *testing.T) {
	for _, repair := range []bool{false, true} {
		t.Run(fmt.Sprint(repair), func(t *testing.T) {
			w := mirrortest.Start(t)
			pages := handbook(20)
			pages["/p01.html"] = mirrortest.HTML("Page 1", `<a href="dead.html">d</a> <a href="deader.html">d</a><p>`+
				prose(1, 0))
			w.SetAll(home, pages)
			replicate(w, pages)
			w.Set(copyBase+"dead.html", mirrortest.HTML("Dead", "<p>"+prose(70, 0)))
			m := mirrortest.New(t, w, fmt.Sprintf("repair = %v\n", repair)+withAlternates())
			wantVerdict(t, m.Run(), mirror.Complete, true) // tests the replica at its end
			w.Set(home+"/p04.html", mirrortest.Status(404))
			w.Set(home+"/p05.html", mirrortest.Status(410))
			w.Remove(copyBase + "p05.html")
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			tree := m.Tree()
			if got := tree["dead.html"] != ""; got != repair {
				t.Errorf("the dead link's page is there: %v", got)
			}
			if got := tree["p04.html"] != ""; got != repair {
				t.Errorf("a page that the replica has is there: %v", got)
			}
			if tree["p05.html"] != "" || tree["deader.html"] != "" {
				t.Error("a page that no host has is there")
			}
			if !repair {
				return
			}
			wantText(t, s, "broken links repaired from replicas")
			if !strings.Contains(tree["p01.html"], `"dead.html"`) || s.Foreign != 0 {
				t.Errorf("%d foreign, the page says %.80q", s.Foreign, tree["p01.html"])
			}
			rec := recordOf(t, m, home+"/dead.html")
			if rec.Source != copyBase+"dead.html" || rec.Status != 404 {
				t.Errorf("recorded as from %q, status %d", rec.Source, rec.Status)
			}
			before := m.Stamps()
			wantVerdict(t, m.Run(), mirror.Complete, false)
			if !maps.Equal(before, m.Stamps()) {
				t.Error("a run without changes touched the tree")
			}
			w.Set(home+"/p01.html", mirrortest.HTML("Page 1", `<a href="deader.html">d</a><p>`+prose(1, 0)))
			w.Set(home+"/", mirrortest.Status(404))
			if s = m.Run(); s.Verdict != mirror.Suspicious {
				t.Errorf("the entry point is gone: %v", s.Verdict)
			}
			w.Set(home+"/", pages["/"])
			wantVerdict(t, m.Run(), mirror.Complete, true)
			if tree := m.Tree(); tree["dead.html"] != "" {
				t.Error("an unlinked page is still there")
			}
		})
	}
}
