// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// codeBrowser shows the files of 30 commits in four views, each page with links to the others and to the same
// page with parameters that do not matter.
type codeBrowser struct {
	url func(view string, file, commit, blob int) string // of a page without such parameters
	of  func(r *http.Request) (view string, file, commit, blob int)
	mu  sync.Mutex

	texts map[string]bool
	asked int
}

const browserCommits = 30

func browserFiles() int { return sized(5, 12) }

var (
	browserViews = []string{"blob", "blame", "raw", "tags"}
	browserIdle  = []string{"", "noscript=1", "from=nav", "order=name", "order=date", "utm_source=feed"}
)

// commitID is a hash that has the number of a commit, as blobID is of a version of a file.
func commitID(n int) string { return fmt.Sprintf("%02dc0ffee%030x", n, n*7919) }

func blobID(file, commit int) string {
	return fmt.Sprintf("%02db10b%02d%032x", file, commit, file*104729+commit)
}

func numberIn(s string, at int) int {
	n, _ := strconv.Atoi(s[at : at+2])
	return n
}

// blobOf is the commit that a file is from: one of some four that changed it.
func blobOf(file, commit int) int {
	last := 0
	for c := range commit + 1 {
		if (c*5+file)%7 == 3 {
			last = c
		}
	}
	return last
}

func (b *codeBrowser) links(rw http.ResponseWriter, file, commit int) {
	for _, view := range browserViews {
		for _, idle := range browserIdle {
			to := b.url(view, file, commit, blobOf(file, commit))
			if sep := "?"; idle != "" {
				if strings.Contains(to, "?") {
					sep = "&"
				}
				to += sep + idle
			}
			fmt.Fprintf(rw, "<p><a href=%q>%s</a>", to, view)
		}
	}
}

func (b *codeBrowser) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "text/html")
	b.mu.Lock()
	b.asked++
	b.mu.Unlock()
	said := func(view string, file, n int) []string {
		b.mu.Lock()
		b.texts[fmt.Sprint(view, file, n)] = true
		b.mu.Unlock()
		return strings.Fields(mirrortest.Words(uint32(len(view)*7919+int(view[0])*31+file*1009+n*13), 60))
	}
	if r.URL.Path == "/" && r.URL.RawQuery == "" {
		fmt.Fprintf(rw, "<title>repo</title>%s", said("home", 0, 0))
		for c := range browserCommits {
			fmt.Fprintf(rw, "<p><a href='/commit?id=%s'>commit</a>", commitID(c))
		}
		return
	}
	if r.URL.Path == "/commit" {
		c := numberIn(r.URL.Query().Get("id"), 0)
		fmt.Fprintf(rw, "<title>commit</title>%s <p>%s", said("commit", 0, c), commitID(c))
		for f := range browserFiles() {
			b.links(rw, f, c)
		}
		return
	}
	view, file, commit, blob := b.of(r)
	words := said(view, file, blob)
	switch r.URL.Query().Get("order") {
	case "name":
		slices.Sort(words)
	case "date":
		slices.Reverse(words)
	}
	fmt.Fprintf(rw, "<title>%s of file %d</title>at commit %s <p>%s", view, file, commitID(commit)[:12],
		strings.Join(words, " "))
	b.links(rw, file, commit)
	fmt.Fprintf(rw, "<p><a href='/commit?id=%s'>commit</a>", commitID(commit))
}

// A code browser has 3 600 addresses (8 700 with MIRRORD_LONG) and far fewer texts: a mirror has each text
// once, for at most three requests each.
func TestCodeBrowserEndsInBulk(t *testing.T) {
	for name, b := range map[string]*codeBrowser{
		"query": {
			url: func(view string, file, commit, blob int) string {
				const form = "/?a=%s&f=f%02d.go&h=%s&hb=%s"
				return fmt.Sprintf(form, view, file, blobID(file, blob), commitID(commit))
			},
			of: func(r *http.Request) (view string, file, commit, blob int) {
				q := r.URL.Query()
				return q.Get("a"), numberIn(q.Get("f"), 1), numberIn(q.Get("hb"), 0), numberIn(q.Get("h"), 6)
			},
		},
		"path": {
			url: func(view string, file, commit, blob int) string {
				return fmt.Sprintf("/repo/%s/f%02d.go?h=%s&id=%s", view, file, blobID(file, blob), commitID(commit))
			},
			of: func(r *http.Request) (view string, file, commit, blob int) {
				q, p := r.URL.Query(), strings.Split(r.URL.Path, "/")
				return p[2], numberIn(p[3], 1), numberIn(q.Get("id"), 0), numberIn(q.Get("h"), 6)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			b.texts = map[string]bool{}
			w.Set(home+"/robots.txt", mirrortest.Status(404))
			w.Set(home+"/favicon.ico", mirrortest.Status(404))
			w.Set("*", mirrortest.Page{Handle: b.ServeHTTP})
			m := mirrortest.New(t, w, job())
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			texts := len(b.texts)
			all := 1 + browserCommits
			for _, view := range browserViews {
				for f := range browserFiles() {
					for c := range browserCommits {
						if b.texts[fmt.Sprint(view, f, c)] {
							all++
						}
					}
				}
			}
			if texts < 15*browserFiles() || texts != all || int(s.Files) != texts || b.asked > 3*texts {
				t.Errorf("%d requests and %d files for %d texts:\n%s", b.asked, s.Files, texts, mirrortest.Text(s))
			}
			wantText(t, s, "differ only in what does not matter")
			for range 2 {
				before := b.asked
				if s = m.Run(); s.Published || b.asked-before > texts+texts/20+3 {
					t.Errorf("%d requests in a quiet run:\n%s", b.asked-before, mirrortest.Text(s))
				}
			}
		})
	}
}

// A page that repeats others and waits is requested all the same when a page that comes later shows it.
func TestShownStates(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/robots.txt", mirrortest.Status(404))
	w.Set(home+"/favicon.ico", mirrortest.Status(404))
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		switch view, _, _ := strings.Cut(r.URL.Path[1:], "/"); view {
		case "":
			for c := range browserCommits {
				fmt.Fprintf(rw, "<p><a href=/blame/%[1]s/a>a</a> <a href=/raw/%[1]s/a>b</a>", commitID(c))
			}
			fmt.Fprint(rw, "<a href=/show>show</a>")
		case "show":
			fmt.Fprintf(rw, "<img src=/raw/%s/a>", commitID(20))
		case "raw":
			rw.Header().Set("Content-Type", "image/png")
			fmt.Fprint(rw, "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
		default:
			fmt.Fprint(rw, mirrortest.Words(uint32(len(view)), 60))
		}
	}})
	m := mirrortest.New(t, w, job("polite.connections = 1"))
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "mostly repeat what other states say")
	if page := m.Tree()["show.html"]; strings.Contains(page, home) {
		t.Errorf("it does not have what it shows:\n%s", page)
	}
}

// idleSite serves pages p0 to p39, each also with ?view=a and ?view=b, of which says decides what they say.
func idleSite(w *mirrortest.Web, says func(page int, view string) string) *atomic.Int64 {
	var asked atomic.Int64
	w.Set(home+"/robots.txt", mirrortest.Status(404))
	w.Set(home+"/favicon.ico", mirrortest.Status(404))
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		rw.Header().Set("Content-Type", "text/html")
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/p"))
		if err == nil {
			fmt.Fprintf(rw, "<title>page</title><p>%s", says(n, r.URL.Query().Get("view")))
			return
		}
		for i := range 40 {
			fmt.Fprintf(rw, "<p><a href='/p%d'>a</a>", i)
			fmt.Fprintf(rw, "<p><a href='/p%d?view=a'>b</a> <a href='/p%d?view=b'>c</a>", i, i)
		}
	}})
	return &asked
}

// What must not be folded: pages that differ, pages that all say one thing, numbers alone, empty pages, and
// parts of which one pair differs, however many do not.
func TestPartsThatMatter(t *testing.T) {
	words := func(n int) string { return mirrortest.Words(uint32(n*7+1), 30) }
	for name, says := range map[string]func(page int, view string) string{
		"differ": func(page int, view string) string { return words(page*3 + int(view0(view))) },
		"login":  func(_ int, view string) string { return "please log in to see this page" },
		"numbers": func(page int, view string) string {
			return words(page) + fmt.Sprint(" ", int(view0(view))*page+7)
		},
		"empty": func(page int, _ string) string { return fmt.Sprint("no ", page) },
		"one pair": func(page int, view string) string {
			if page == 2 && view == "b" {
				return words(1000)
			}
			return words(page)
		},
		"summary": func(page int, view string) string {
			return words(page) + menu[view] + own(words(page+500), view)
		},
		"one frame": func(page int, view string) string {
			return words(page) + menu[view] + lateMenu(page, view)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			idleSite(w, says)
			m := mirrortest.New(t, w, job("polite.connections = 1")) // answers come in the order of the page
			if s := m.Run(); s.Files != 121 {
				t.Errorf("%d files:\n%s", s.Files, mirrortest.Text(s))
			}
		})
	}
}

// menu is what only the page without a parameter has, the same on each; own and lateMenu are more than that.
var menu = map[string]string{"": " menu of the site: search, history, log in"}

func own(more, view string) string {
	if view == "" {
		return " " + more
	}
	return ""
}

func lateMenu(page int, view string) string {
	if page == 5 && view == "" {
		return " and a notice of its own here"
	}
	return ""
}

// A print version says what its page says but for the menu of the site, and has a style sheet of its own: it
// is no page beside it. An edit ends that only where the two differ in more.
func TestPrintVersions(t *testing.T) {
	edited := ""
	w := mirrortest.Start(t)
	asked := idleSite(w, func(page int, view string) string {
		said := fmt.Sprintf("<h1>Page p%d</h1>%s%s", page, mirrortest.Words(uint32(page*7+1), 30), edited)
		if view == "" {
			return said + menu[""] + fmt.Sprintf(" edit p%d<link rel=stylesheet href=/screen.css>", page)
		}
		return said + "<link rel=stylesheet href=/print.css>"
	})
	m := mirrortest.New(t, w, job())
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Files > 41+2 || asked.Load() > 41+65 { // with its style sheets
		t.Errorf("%d files, %d requests:\n%s", s.Files, asked.Load(), mirrortest.Text(s))
	}
	files := m.Run().Files // without the style sheet of what was requested to learn that
	for _, more := range []string{"", "", " An edit of all.", ""} {
		edited += more
		before := asked.Load()
		if s = m.Run(); s.Files != files || s.Published != (more != "") || asked.Load()-before > 60 {
			t.Errorf("after %q: %d files of %d, %d requests:\n%s", more, s.Files, files, asked.Load()-before,
				mirrortest.Text(s))
		}
	}
}

// A page under the address of its version says what it says without: there is one page.
func TestVersionInThePath(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		n, err := strconv.Atoi(r.URL.Path[strings.LastIndexByte(r.URL.Path, 'p')+1:])
		if err == nil {
			fmt.Fprintf(rw, "<title>page</title><p>%s", mirrortest.Words(uint32(n*7+1), 30))
			return
		}
		for i := range 40 {
			fmt.Fprintf(rw, "<p><a href='/lib/p%d'>a</a> <a href='/lib@v1.2.0/p%[1]d'>b</a>", i)
		}
	}})
	m := mirrortest.New(t, w, job())
	if s := m.Run(); s.Files > 41+2 {
		t.Errorf("%d files:\n%s", s.Files, mirrortest.Text(s))
	}
}

// Pages that say nothing of their own but their name are pages nevertheless.
func TestPagesOfOneName(t *testing.T) {
	w := mirrortest.Start(t)
	idleSite(w, func(page int, _ string) string { return fmt.Sprintf("this is document p%d", page) })
	if s := mirrortest.New(t, w, job()).Run(); s.Files > 41 {
		t.Errorf("%d files:\n%s", s.Files, mirrortest.Text(s))
	}
}

// The page that differs answers late, when the part is learned: what was folded before comes in the next run.
func TestPartThatMattersLate(t *testing.T) {
	w := mirrortest.Start(t)
	var answered atomic.Int64
	learned := make(chan struct{})
	idleSite(w, func(page int, view string) string {
		if page == 2 && view == "b" {
			<-learned
			return mirrortest.Words(1000, 30)
		}
		if answered.Add(1) == 60 {
			close(learned)
		}
		return mirrortest.Words(uint32(page*7+1), 30)
	})
	m := mirrortest.New(t, w, job())
	if s := m.Run(); s.Files == 121 {
		t.Errorf("nothing was folded:\n%s", mirrortest.Text(s))
	}
	if s := m.Run(); s.Files != 121 {
		t.Errorf("%d files after the second run:\n%s", s.Files, mirrortest.Text(s))
	}
}

func view0(view string) byte {
	if view == "" {
		return 0
	}
	return view[0] - 'a' + 1
}

// A part that begins to matter after it was learned is found out by the audit of a run, and all pages come.
func TestPartThatBeginsToMatter(t *testing.T) {
	var matters atomic.Bool
	w := mirrortest.Start(t)
	asked := idleSite(w, func(page int, view string) string {
		if matters.Load() && view != "" {
			return mirrortest.Words(uint32(5000+page*2+int(view0(view))), 30)
		}
		return mirrortest.Words(uint32(page), 30)
	})
	m := mirrortest.New(t, w, job())
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Files != 41 || asked.Load() > 41+60 {
		t.Errorf("%d requests for %d files", asked.Load(), s.Files)
	}
	if s = m.Run(); s.Files != 41 || s.Published {
		t.Errorf("the second run:\n%s", mirrortest.Text(s))
	}
	matters.Store(true)
	for n := 0; n < 4 && s.Files != 121; n++ { // an audit that gets no answer is one of the next run
		s = m.Run()
	}
	if s.Files != 121 {
		t.Errorf("%d files after it matters:\n%s", s.Files, mirrortest.Text(s))
	}
}
