// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

const (
	hiddenMeta   = `<meta name="robots" content="noindex,nofollow">`
	unlistedMeta = `<meta name="robots" content="noindex">`
)

const textForm = "<form action=/save METHOD='POST'><textarea name=text>%s</textarea></form>"

// formWiki has 40 pages. Each names a form for itself, and a page that is missing, which redirects to a form.
// All begin with a head.
func formWiki(w *mirrortest.Web, head string, form func(page int) string) (asked *atomic.Int64) {
	asked = new(atomic.Int64)
	w.Set(home+"/robots.txt", mirrortest.Status(404))
	w.Set(home+"/favicon.ico", mirrortest.Status(404))
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		rw.Header().Set("Content-Type", "text/html")
		page, n := strings.Trim(r.URL.Path, "/"), 0
		if strings.HasPrefix(page, "picture") {
			rw.Header().Set("Content-Type", "image/png")
		}
		fmt.Fprintf(rw, "%s<h1>%s</h1>a wiki of all that is known", head, page)
		_, err := fmt.Sscanf(page, "page%d", &n)
		switch verb := r.URL.RawQuery; {
		case verb == "edit":
			fmt.Fprintf(rw, "<img src=/picture%d>%s", n, form(n))
		case verb == "create":
			fmt.Fprintf(rw, textForm, "")
		case err == nil:
			fmt.Fprintf(rw, "%s <a href=?edit>edit</a> <a href=/missing%d>missing</a>",
				mirrortest.Words(uint32(n*7+1), 30), n)
		case page == "":
			for i := range 40 {
				fmt.Fprintf(rw, "<p><a href=/page%d>page</a>", i)
			}
		}
	}})
	for i := range 40 {
		w.Set(fmt.Sprint(home, "/missing", i), mirrortest.Redirect("?create"))
	}
	return asked
}

// The forms to write in of a wiki that no profile knows are left to its origin once eight were read, and what
// redirects to one is a dead end. So are pages that robots are neither to list nor to follow. A page with a
// form stays.
func TestFormsToWriteInInBulk(t *testing.T) {
	for name, c := range map[string]struct {
		head string
		form func(page int) string
		kept int // forms
		more int // pages that they lead to
	}{
		"forms": {
			form: func(n int) string { return fmt.Sprintf(textForm, mirrortest.Words(uint32(n), 20)) },
		},
		"pages with a form": {
			form: func(n int) string { return mirrortest.Words(uint32(n), 20) + fmt.Sprintf(textForm, "") },
			kept: 40,
		},
		"some without a form": { // one may come after the eighth form
			form: func(n int) string { return map[bool]string{true: fmt.Sprintf(textForm, "")}[n%2 > 0] },
			kept: 40,
		},
		"hidden": {
			form: func(n int) string { return hiddenMeta + mirrortest.Words(uint32(n), 20) },
		},
		"some that are not hidden": {
			form: func(n int) string {
				return map[bool]string{true: hiddenMeta}[n%2 > 0] + mirrortest.Words(uint32(n), 20)
			},
			kept: 40,
		},
		"to be followed": {
			form: func(n int) string {
				return unlistedMeta + mirrortest.Words(uint32(n), 20)
			},
		},
		"a site that is not to be listed": {
			head: unlistedMeta,
			form: func(n int) string { return mirrortest.Words(uint32(n), 20) },
			kept: 40,
		},
		"the way to others": {
			form: func(n int) string {
				return fmt.Sprintf("%s<a href=/more%d>more</a>", unlistedMeta, n)
			},
			kept: 40,
			more: 40,
		},
		"a search": {
			form: func(int) string { return strings.Replace(fmt.Sprintf(textForm, ""), "POST", "get", 1) },
			kept: 40,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			asked := formWiki(w, c.head, c.form)
			m := mirrortest.New(t, w, job("polite.connections = 1"))
			m.Rests = true
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			if int(s.Files) != 41+2*c.kept+c.more {
				t.Errorf("%d files, want 41 and %d forms with pictures:\n%s", s.Files, c.kept, mirrortest.Text(s))
			}
			if first := asked.Load(); c.kept == 0 && first > 41+3*(8+6) {
				t.Errorf("%d pages requested", first)
			}
			for run := range 3 {
				w.Requests()
				s = m.Run()
				all := len(w.Requests())
				if s.Published || (run > 0 && c.kept == 0 && all > 41+8) {
					t.Errorf("%d requests later:\n%s", all, mirrortest.Text(s))
				}
			}
		})
	}
}

// Forms to log in that lead back to a page, and feeds of single pages, are left to the origin once eight were
// read; the feed of the site stays, and feeds that name what nothing else names.
func TestLoginsAndFeedsOfPages(t *testing.T) {
	for name, c := range map[string]struct {
		feed  string // its path, for each page
		more  string // a page that a feed names, or what it encloses
		login string // the type of the field of a form to which each page leads
		says  bool   // and above which is a text of the page
		files int
	}{
		"parameters":        {feed: "/page%d?feed=rss", files: 42},
		"steps":             {feed: "/page%d/rss/", files: 42},
		"a path in a value": {feed: "/?u=/page%d/rss/", files: 42},
		"one program":       {feed: "/wiki?do=rss&id=page%d", files: 42},
		"they name pages":   {feed: "/page%d/feed/", more: "<link>%s/more%d</link>", files: 42 + 2*40},
		"they enclose": {
			feed:  "/page%d/rss/",
			more:  "<enclosure url='%s/more%d' type='audio/mpeg'/>",
			files: 42 + 2*40,
		},
		"files":            {feed: "/page%d/feed.xml", files: 42 + 40},
		"logins":           {login: "password", files: 42},
		"some say more":    {login: "password", says: true, files: 42 + 40},
		"no field to fill": {login: "text", files: 42 + 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := mirrortest.Start(t)
			w.Set(home+"/robots.txt", mirrortest.Status(404))
			w.Set(home+"/favicon.ico", mirrortest.Status(404))
			w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("Content-Type", "text/html")
				n, is := 0, false
				if c.feed != "" {
					_, err := fmt.Sscanf(r.URL.RequestURI(), c.feed, &n)
					is = err == nil && fmt.Sprintf(c.feed, n) == r.URL.RequestURI()
				}
				switch page := r.URL.Path; {
				case is || r.URL.RawQuery == "feed=rss":
					rw.Header().Set("Content-Type", "application/rss+xml")
					fmt.Fprintf(rw, "<rss version='2.0'><channel><item><link>%s/page%d</link></item>", home, n)
					if c.more != "" {
						fmt.Fprintf(rw, "<item>"+c.more+"</item>", home, n)
					}
					fmt.Fprint(rw, "</channel></rss>")
				case page == "/login":
					fmt.Fprintf(rw, "<h1>Log in</h1>to read all that is known<form><input type='%s'></form>", c.login)
					if c.says {
						q := r.URL.RawQuery
						fmt.Fprint(rw, mirrortest.Words(uint32(q[len(q)-1])+uint32(len(q)), 9))
					}
				case page == "/":
					fmt.Fprint(rw, "<link rel=alternate type=application/rss+xml href='/?feed=rss'>")
					for i := range 40 {
						fmt.Fprintf(rw, "<p><a href=/page%d>page</a>", i)
					}
				default:
					fmt.Sscanf(page, "/page%d", &n)
					fmt.Fprintf(rw, "<h1>%s</h1>%s", page, mirrortest.Words(uint32(n*7+len(page)*1000), 30))
					if c.feed != "" {
						fmt.Fprintf(rw, "<link rel=alternate type=application/rss+xml href='"+c.feed+"'>", n)
					}
					if c.login != "" && !strings.HasPrefix(page, "/more") {
						fmt.Fprintf(rw, "<a href='/login?next=%s'>log in</a>", page)
					}
				}
			}})
			m := mirrortest.New(t, w, job("polite.connections = 1"))
			for run := range 2 {
				s := m.Run()
				wantVerdict(t, s, mirror.Complete, run == 0)
				if int(s.Files) != c.files {
					t.Errorf("%d files, want %d:\n%s", s.Files, c.files, mirrortest.Text(s))
				}
			}
		})
	}
}

// A redirect among pages that are left, such as Special:Random, is left with them, also by a run that
// requests it to see whether it still is one.
func TestRedirectsAmongLeftPages(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/robots.txt", mirrortest.Status(404))
	w.Set(home+"/favicon.ico", mirrortest.Status(404))
	var asked atomic.Int64
	w.Set(home+"/Special:Random", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(rw, r, "/page3", http.StatusFound)
	}})
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		n, page := 0, strings.TrimPrefix(r.URL.Path, "/")
		if strings.HasPrefix(page, "Special:") {
			fmt.Fprintf(rw, "%s<h1>%s</h1>a page of the program", hiddenMeta, page)
			return
		}
		fmt.Sscanf(page, "page%d", &n)
		const form = "<h1>%s</h1>%s <a href=/Special:Random>any</a> <a href=/Special:Links%d>links</a>"
		fmt.Fprintf(rw, form, page, mirrortest.Words(uint32(n*7+len(page)), 30), n)
		if page == "" {
			for i := range 20 {
				fmt.Fprintf(rw, "<p><a href=/page%d>page</a>", i+1)
			}
		}
	}})
	m := mirrortest.New(t, w, "policy = \"full\"\n"+job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	first := asked.Load()
	for range 65 {
		wantVerdict(t, m.Run(), mirror.Complete, false)
	}
	if page := m.Tree()["page4.html"]; !strings.Contains(page, home+"/Special:Random") {
		t.Errorf("page4 has no link to the origin:\n%s", page)
	}
	if asked.Load() == first {
		t.Error("no later run requested it")
	}
}
