// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// What the tools that people use today get wrong, each as a test. The numbers are those of the list of asks.
//
//	deep change, no-change bytes   TestLessonDeepChangeIsPickedUp, TestNoChangeLeavesEverything,
//	                               TestNginxAnswersNotModified
//	page deleted upstream          testdata/gone.txt
//	kill -9 and SIGTERM (1, 11)    TestCrashKillAnywhere, TestCrashTerminate; cancel:
//	                               TestLesson11CancelAndResume
//	hub drops its connection (1)   TestLesson01HubFailureKeepsChildren
//	Crawl-delay (16)               testdata/crawl-delay.txt, fetch TestHosts*
//	X-Robots-Tag, rel=nofollow     testdata/robots-meta.txt
//	calendar and loop traps (14)   TestTrapStopsOverRuns, TestLesson14Traps, site TestTrap*
//	sitemap-only, feed-only        testdata/discovery.txt, TestSitemapPacked
//	link kinds (19)                testdata/discovery.txt, testdata/scripts.txt, TestBrowserScripts, relocate
//	                               TestLinkZoo
//	success that is not (2, 6)     TestLesson02*, TestLesson06*, verdict TestSameShape*
//	silent staleness (3)           TestLesson03NotModifiedDoesNotStopRecursion
//	half-written files (4)         TestLesson04TruncatedUpdate, TestBadAnswersInBulk
//	half-updated tree (5)          TestLesson05ReaderSeesOneVersion
//	disk full (12)                 TestCrashDiskFull, TestLargeFileLeavesMinFree, crawl TestDiskRoom
//	retries (13)                   TestBrokenAnswerIsAskedForOnceMore, process TestFailures, fetch TestRetry*
//	limits at size (15)            TestMemoryPerURLInBulk, TestHugeDocumentsInBulk
//	banned by name (18)            TestLesson18Banned
//	scope surprises (20)           testdata/scope-*.txt, testdata/requisites-any.txt,
//	                               TestScopeNarrowedAndWidened
//	one site, many names (21)      testdata/scope-domain.txt
//	mirrored pages that script (31) web TestLesson31Isolation, TestBrowser

func TestLesson01HubFailureKeepsChildren(t *testing.T) {
	for name, fail := range map[string]http.HandlerFunc{
		"reset": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"500":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5000")
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte("<title>half</title>"))
		},
		"403": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) },
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 3)
			var list strings.Builder
			for i := range 15 {
				fmt.Fprintf(&list, "<a href=child%02d.html>%d</a>", i, i)
				w.Set(fmt.Sprintf("%s/child%02d.html", home, i), mirrortest.HTML(fmt.Sprint("Child ", i), ""))
			}
			good := mirrortest.HTML("List", list.String())
			w.Set(home+"/page01.html", good)
			m := mirrortest.New(t, w, job())
			wantVerdict(t, m.Run(), mirror.Complete, true)
			before := m.Stamps()
			w.Set(home+"/page01.html", mirrortest.Page{Handle: fail})
			for range 4 {
				s := m.Run()
				if s.Published || s.Removed > 0 {
					t.Fatal(mirrortest.Text(s))
				}
				wantText(t, s, "page01.html")
				if !maps.Equal(m.Stamps(), before) {
					t.Fatal("the mirror changed because a page failed")
				}
			}
			w.Set(home+"/page01.html", good)
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, false)
			if !maps.Equal(m.Stamps(), before) {
				t.Error("the mirror changed after recovery")
			}
		})
	}
}

func TestLesson02EmptyIsNoSuccess(t *testing.T) {
	for name, entry := range map[string]mirrortest.Page{
		"gone": mirrortest.Status(404), "forbidden": mirrortest.Status(403), "down": mirrortest.Status(503),
		"loop":      mirrortest.Redirect("/"),
		"elsewhere": mirrortest.Redirect("http://www.example.net/login"),
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			w.Set(home+"/", entry)
			m := mirrortest.New(t, w, job())
			s := m.Run()
			wantVerdict(t, s, mirror.Partial, false)
			wantText(t, s, "nothing published yet", "entry point", home+"/")
			if m.Published() {
				t.Error("something is published")
			}
			hub(w, 2)
			wantVerdict(t, m.Run(), mirror.Complete, true)
		})
	}
}

func TestLesson03NotModifiedDoesNotStopRecursion(t *testing.T) {
	w := mirrortest.Start(t)
	old := map[string]string{"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT", "Content-Type": "text/html"}
	w.Set(home+"/", mirrortest.Page{NoTag: true, Header: old, Body: "<a href=a/>a</a>"})
	w.Set(home+"/a/", mirrortest.Page{NoTag: true, Header: old, Body: "<a href=b/>b</a>"})
	w.Set(home+"/a/b/", mirrortest.HTML("B", "one"))
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	w.Set(home+"/a/b/", mirrortest.HTML("B", "two <a href=c>c</a>"))
	w.Set(home+"/a/b/c", mirrortest.HTML("C", "new"))
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Unchanged != 2 || s.Added != 1 || s.Changed != 1 {
		t.Error(mirrortest.Text(s))
	}
	wantPaths(t, m, "index.html", "a/index.html", "a/b/index.html", "a/b/c.html")
}

func TestLessonDeepChangeIsPickedUp(t *testing.T) {
	w := mirrortest.Start(t)
	const deep = 12
	path := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "/dir%c", 'a'+i)
		}
		return b.String() + "/"
	}
	for i := range deep {
		w.Set(home+path(i), mirrortest.HTML(fmt.Sprint(i), fmt.Sprintf("<a href=%s>%d</a>", path(i+1), i+1)))
	}
	w.Set(home+path(deep), mirrortest.HTML("Last", "one"))
	m := mirrortest.New(t, w, job())
	s := m.Run()
	if s.Files != deep+1 {
		t.Fatal(mirrortest.Text(s))
	}
	w.Set(home+path(deep), mirrortest.HTML("Last", "two"))
	s = m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Changed != 1 || !strings.Contains(m.Tree()[path(deep)[1:]+"index.html"], "two") {
		t.Error(mirrortest.Text(s))
	}
}

func TestLesson04TruncatedUpdate(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 3)
	// The cut answer has a fresh Last-Modified, which must not make the next request conditional on it.
	fresh := "Fri, 01 May 2026 00:00:00 GMT"
	w.Set(home+"/page00.html", mirrortest.Page{
		NoTag:  true,
		Header: map[string]string{"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"},
		Body:   "<title>old</title>",
	})
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	w.Set(home+"/page00.html", mirrortest.Page{Handle: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Last-Modified", fresh)
		w.Header().Set("Content-Length", "1000")
		w.Write([]byte("<title>new"))
	}})
	if s := m.Run(); s.Published || !strings.Contains(m.Tree()["page00.html"], "old") {
		t.Fatal(mirrortest.Text(s))
	}
	w.Set(home+"/page00.html", mirrortest.Page{
		NoTag:  true,
		Header: map[string]string{"Last-Modified": fresh},
		Body:   "<title>new</title>",
	})
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if got := m.Tree()["page00.html"]; !strings.Contains(got, "new") {
		t.Errorf("the update never came: %q", got)
	}
}

func TestLesson05ReaderSeesOneVersion(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	const pages = 40
	set := func(version int) {
		for i := range pages {
			w.Set(fmt.Sprintf("%s/v%02d.html", home, i),
				mirrortest.HTML(fmt.Sprint("Page ", i), fmt.Sprintf("<p>version %d.", version)))
		}
	}
	var links strings.Builder
	for i := range pages {
		fmt.Fprintf(&links, "<a href=v%02d.html>%d</a>", i, i)
	}
	w.Set(home+"/", mirrortest.HTML("Home", links.String()))
	set(1)
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)

	// The readers open the published tree and read all of it, over and over. A tree is reused two versions
	// later, so a reader that is slower than a whole run may find changed files: it looks at the link and at
	// its links before and after.
	var stop atomic.Bool
	var wg sync.WaitGroup
	var whole atomic.Int64
	current := filepath.Join(m.Dir, "sites/test/current")
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				target, err := os.Readlink(current)
				if err != nil {
					t.Error(err)
					return
				}
				meta, _ := os.ReadFile(filepath.Join(current, "phm.json"))
				seen := map[string]bool{}
				for i := range pages {
					b, err := os.ReadFile(filepath.Join(filepath.Dir(current), target, fmt.Sprintf("v%02d.html", i)))
					if err != nil {
						seen[err.Error()] = true
						continue
					}
					_, version, _ := strings.Cut(string(b), "version ")
					seen[version] = true
				}
				now, _ := os.ReadFile(filepath.Join(current, "phm.json"))
				if after, _ := os.Readlink(current); after != target || !bytes.Equal(now, meta) {
					continue // a run was published meanwhile; the next one may already write here
				}
				if len(seen) != 1 {
					t.Errorf("a reader saw %d versions", len(seen))
					return
				}
				whole.Add(1)
			}
		})
	}
	for v := 2; v < 12; v++ {
		set(v)
		if s := m.Run(); !s.Published || s.Changed != pages {
			t.Error(mirrortest.Text(s))
		}
	}
	stop.Store(true)
	wg.Wait()
	if whole.Load() == 0 {
		t.Error("no reader got through")
	}
}

func TestLesson06UpstreamLooksWrong(t *testing.T) {
	every := func(p mirrortest.Page) func(*mirrortest.Web) {
		return func(w *mirrortest.Web) {
			hub(w, 0)
			for i := range 20 {
				w.Set(fmt.Sprintf("%s/page%02d.html", home, i), p)
			}
			w.Set(home+"/", p)
		}
	}
	for _, c := range []struct {
		name    string
		wrong   func(*mirrortest.Web)
		verdict mirror.Verdict
		says    string
	}{
		{"empty index", func(w *mirrortest.Web) {
			w.Set(home+"/", mirrortest.HTML("Index of /", ""))
		}, mirror.Suspicious, "no longer linked"},
		{"all zero bytes", every(mirrortest.Page{Header: map[string]string{"Content-Type": "text/html"}}),
			mirror.Suspicious, "an empty page"},
		{"all 404", every(mirrortest.Status(404)), mirror.Suspicious, "gone"},
		{"pages 404", func(w *mirrortest.Web) {
			every(mirrortest.Status(404))(w)
			hubPage(w, 20)
		}, mirror.Suspicious, "max_delete"},
		{"all 401", every(mirrortest.Status(401)), mirror.Partial, "status 401"},
		{"all 500", every(mirrortest.Status(500)), mirror.Partial, "status 500"},
		{"all 503", every(mirrortest.Page{
			Status: 503,
			Header: map[string]string{"Retry-After": "86400"},
		}), mirror.Partial, "longer than polite.max_wait"},
		{"login", every(mirrortest.HTML("Log in", "<form action=/login>")), mirror.Suspicious, "same page"},
		{"to login", every(mirrortest.Redirect("/login.html")), mirror.Suspicious, ""},
		{"robots 503", func(w *mirrortest.Web) {
			w.Set(home+"/robots.txt", mirrortest.Status(503))
		}, mirror.Partial, "robots.txt"},
		{"disallowed", func(w *mirrortest.Web) {
			w.Set(home+"/robots.txt", mirrortest.Page{Body: "User-agent: *\nDisallow: /"})
		}, mirror.Suspicious, "disallowed"},
		{"noarchive", every(mirrortest.Page{
			Header: map[string]string{"X-Robots-Tag": "noarchive"},
			Body:   "x",
		}), mirror.Suspicious, "noarchive"},
		{"host gone", func(w *mirrortest.Web) { w.Clear() }, mirror.Partial, "robots.txt cannot be had"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 20)
			w.Set(home+"/login.html", mirrortest.HTML("Log in", "<form action=/login>"))
			m := mirrortest.New(t, w, job())
			wantVerdict(t, m.Run(), mirror.Complete, true)
			before := m.Stamps()
			c.wrong(w)
			for range 3 {
				s := m.Run()
				wantVerdict(t, s, c.verdict, false)
				wantText(t, s, c.says)
				if !maps.Equal(m.Stamps(), before) {
					t.Fatal("the published tree changed")
				}
			}
			w.Clear()
			hub(w, 20)
			w.Set(home+"/login.html", mirrortest.HTML("Log in", "<form action=/login>"))
			m.Now = func() time.Time { return time.Now().Add(25 * time.Hour) } // what asked to wait has waited
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, false)
			if !maps.Equal(m.Stamps(), before) {
				t.Error("after recovery the tree is not what it was")
			}
		})
	}
}

// An entry page of zero bytes never takes the place of a good one, also when nothing would be lost with its
// links, until a user accepts it.
func TestLesson06EmptyEntryPage(t *testing.T) {
	for _, pages := range []int{0, 2, 20} {
		w := mirrortest.Start(t)
		hub(w, pages)
		m := mirrortest.New(t, w, job())
		wantVerdict(t, m.Run(), mirror.Complete, true)
		before := m.Stamps()
		empty := func() {
			w.Set(home+"/", mirrortest.Page{Header: map[string]string{"Content-Type": "text/html"}})
		}
		empty()
		for range 5 {
			s := m.Run()
			wantVerdict(t, s, mirror.Suspicious, false)
			wantText(t, s, "an empty page (0 bytes)")
			if !maps.Equal(m.Stamps(), before) {
				t.Fatal("the published tree changed")
			}
		}
		hubPage(w, pages)
		wantVerdict(t, m.Run(), mirror.Complete, false)
		if !maps.Equal(m.Stamps(), before) {
			t.Error("after recovery the tree is not what it was")
		}
		empty()
		wantVerdict(t, m.Run(), mirror.Suspicious, false)
		wantVerdict(t, m.Accept(), mirror.Complete, true)
	}
}

// A first run whose entry page is empty publishes nothing, and the next one requests it again.
func TestFirstRunOfAnEmptyPage(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.Page{Header: map[string]string{"Content-Type": "text/html"}})
	m := mirrortest.New(t, w, job())
	for range 2 {
		s := m.Run()
		wantVerdict(t, s, mirror.Partial, false)
		wantText(t, s, "the entry point http://www.example.org/: it answers with an empty page")
	}
	hub(w, 3)
	wantVerdict(t, m.Run(), mirror.Complete, true)
}

// hubPage sets the entry page of hub alone.
func hubPage(w *mirrortest.Web, n int) {
	var links strings.Builder
	for i := range n {
		fmt.Fprintf(&links, "<a href=%q>%d</a>\n", fmt.Sprintf("/page%02d.html", i), i)
	}
	w.Set(home+"/", mirrortest.HTML("Hub", links.String()))
}
