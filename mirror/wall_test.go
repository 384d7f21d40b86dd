// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// section serves an entry page that links to n pages below dir; page makes each.
func section(w *mirrortest.Web, dir string, n int, page func(i int) mirrortest.Page) (links string) {
	var b strings.Builder
	for i := range n {
		p := fmt.Sprintf("%snote%02d.html", dir, i)
		fmt.Fprintf(&b, "<a href=%q>%d</a>\n", p, i)
		w.Set(home+p, page(i))
	}
	return b.String()
}

const shortMenu = `<a href="/">Home</a> <a href="/about.html">About</a>`

// longMenu has more words than the notes below it.
func longMenu() string { return shortMenu + "<p>" + mirrortest.Words(77, 300) }

// note is a page of a template.
func note(title, menu, text string) mirrortest.Page {
	return mirrortest.HTML(title, menu+"<p>"+text)
}

// letters are n words of letters that no other seed gives.
func letters(seed, n int) string {
	var b strings.Builder
	for i := range n {
		x := uint32(seed*1000+i)*2654435761 + 12345
		for range 6 {
			b.WriteByte('a' + byte(x>>27)%26)
			x = x*1664525 + 1013904223
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// However honest pages of one template change together, they keep words of their own or get others.
func TestTemplatesAreNoWalls(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after func(i int) mirrortest.Page
	}{
		{"another template",
			func(i int) mirrortest.Page { return note("Note", shortMenu, letters(i, 40)) },
			func(i int) mirrortest.Page { return note("Our notes", longMenu(), letters(i, 40)) }},
		{"a template with more words than text",
			func(i int) mirrortest.Page { return note("Note", longMenu(), letters(i, 10)) },
			func(i int) mirrortest.Page { return note("Our notes", longMenu()+" new menu", letters(i, 10)) }},
		{"every text is another",
			func(i int) mirrortest.Page { return note("Note", longMenu(), letters(i, 10)) },
			func(i int) mirrortest.Page { return note("Our notes", longMenu(), letters(100+i, 10)) }},
		{"pages that said the same before",
			func(i int) mirrortest.Page { return note("Note", shortMenu, "under construction") },
			func(i int) mirrortest.Page { return note("Soon", shortMenu, "this page will come next year") }},
		{"a number is all that each has",
			func(i int) mirrortest.Page { return note("Photo", shortMenu, fmt.Sprintf("photo %d of 36", i)) },
			func(i int) mirrortest.Page { return note("Album", shortMenu, fmt.Sprintf("picture %d of 36", i)) }},
		{"numbers in another template",
			func(i int) mirrortest.Page {
				return note("Station", shortMenu, fmt.Sprintf("%d degrees, %d mm", i, 3*i))
			},
			func(i int) mirrortest.Page {
				return note("Our stations", longMenu()+"<hr><ul><li>new</ul>",
					fmt.Sprintf("<b>%d</b> degrees, %d mm", i+1, i))
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := mirrortest.Start(t)
			w.Set(home+"/about.html", mirrortest.HTML("About", "about"))
			w.Set(home+"/", mirrortest.HTML("Notes", section(w, "/", 36, c.before)))
			m := mirrortest.New(t, w, job())
			m.Durable = true
			wantVerdict(t, m.Run(), mirror.Complete, true)
			section(w, "/", 36, c.after)
			wantVerdict(t, m.Run(), mirror.Complete, true)
		})
	}
}

// A wall that answers pages with status 200 in a later run is found by what it says, whether it looks like
// the site or not.
func TestConsentWall(t *testing.T) {
	const ask = "We and our 812 partners value your privacy. Accept all cookies to read on."
	for name, wall := range map[string]func(r *http.Request, n int) mirrortest.Page{
		"a page of its own": func(*http.Request, int) mirrortest.Page { return mirrortest.HTML("Consent", ask) },
		"with address and token": func(r *http.Request, n int) mirrortest.Page {
			token := fmt.Sprintf("Request %x-%d, 10:%02d:07", n*7919, n, n)
			return mirrortest.HTML("Consent for "+r.URL.Path, ask+" "+token)
		},
		"in the template": func(*http.Request, int) mirrortest.Page { return note("Note", shortMenu, ask) },
		"in a long template, with a token": func(_ *http.Request, n int) mirrortest.Page {
			return note("Note", longMenu(), fmt.Sprintf("%s Request %x", ask, n*7919))
		},
	} {
		t.Run(name, func(t *testing.T) {
			menu := shortMenu
			if strings.Contains(name, "long") {
				menu = longMenu()
			}
			good := func(i int) mirrortest.Page { return note("Note", menu, letters(i, 30)) }
			closed := func(i int) mirrortest.Page { return note("Note", menu, letters(50+i, 30)) }
			for prefix, said := range map[string]string{
				"/":         "of 45 pages",
				"/members/": "6 of 45 pages, such as http://www.example.org/members/",
			} {
				w := mirrortest.Start(t)
				w.Set(home+"/about.html", mirrortest.HTML("About", "about this site"))
				w.Set(home+"/", mirrortest.HTML("Notes",
					section(w, "/notes/", 37, good)+section(w, "/members/", 6, closed)))
				m := mirrortest.New(t, w, job())
				m.Durable = true // digests of pages are kept
				wantVerdict(t, m.Run(), mirror.Complete, true)
				closeOff(w, prefix, wall)
				s := m.Run()
				wantVerdict(t, s, mirror.Suspicious, false)
				wantText(t, s, said)
			}
		})
	}
}

// closeOff makes a wall answer all paths with a prefix, also those that do not exist.
func closeOff(w *mirrortest.Web, prefix string, wall func(*http.Request, int) mirrortest.Page) {
	var requests atomic.Int64
	answer := mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		n := int(requests.Add(1))
		if (r.URL.Path == "/robots.txt") || !strings.HasPrefix(r.URL.Path, prefix) {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, wall(r, n).Body)
	}}
	w.Set("*", answer)
	for _, dir := range []string{"/notes/", "/members/"} {
		for i := range 37 {
			if p := fmt.Sprintf("%snote%02d.html", dir, i); strings.HasPrefix(p, prefix) {
				w.Remove(home + p)
			}
		}
	}
}

// A wall in front of a whole site is found by a few requests and costs nothing; the site is mirrored again
// when it is gone.
func TestWallBeforeTheSite(t *testing.T) {
	challenge := mirrortest.Page{Status: 202, Header: map[string]string{"X-Amzn-Waf-Action": "challenge"}}
	for name, wall := range map[string]mirrortest.Page{
		"status 403": mirrortest.Status(403),
		"status 418": mirrortest.Status(418),
		"status 202, a challenge of its firewall": challenge,
	} {
		for _, only := range []string{"", "the entry page is refused at last"} {
			w := mirrortest.Start(t)
			hub(w, 80)
			m := mirrortest.New(t, w, job())
			wantVerdict(t, m.Run(), mirror.Complete, true)
			m.SetJob(w, job("polite.connections = 2\n"))
			slow := mirrortest.Page{Handle: func(rw http.ResponseWriter, _ *http.Request) {
				time.Sleep(10 * time.Millisecond) // so that a look is answered beside few others
				refuse(rw, wall)
			}}
			for i := range 80 {
				w.Set(fmt.Sprintf("%s/page%02d.html", home, i), slow)
			}
			if only == "" {
				w.Set(home+"/", wall)
			} else {
				closeAfter(w, home+"/", 1, wall)
			}
			for range 2 {
				s := m.Run()
				wantVerdict(t, s, mirror.Partial, false)
				// When the one good answer of the entry page is that to a look, it takes twice as many refusals
				// until the next one: 8 to 10, 16 to 20, and answers in addition to the looks.
				if s.Requests > 60 {
					t.Errorf("%s: %d requests", name, s.Requests)
				}
				wantText(t, s, home+" was left for the next run: it refuses also what it gave before ("+name+")",
					"ask its owner")
			}
			if len(m.Paths()) != 81 {
				t.Errorf("%s: %d files", name, len(m.Paths()))
			}
			hub(w, 80)
			w.Set(home+"/page79.html", mirrortest.HTML("Last", "another edition"))
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			if len(m.Paths()) != 81 || s.Changed != 1 {
				t.Errorf("%s: %d files\n%s", name, len(m.Paths()), mirrortest.Text(s))
			}
		}
	}
}

// closeAfter lets a URL answer as it does n times more.
func closeAfter(w *mirrortest.Web, url string, n int64, wall mirrortest.Page) {
	var requests atomic.Int64
	open := w.Page(url)
	w.Set(url, mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > n {
			refuse(rw, wall)
			return
		}
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(rw, open.Body)
	}})
}

// refuse answers as a wall does.
func refuse(rw http.ResponseWriter, wall mirrortest.Page) {
	for k, v := range wall.Header {
		rw.Header().Set(k, v)
	}
	rw.WriteHeader(wall.Status)
}

// A part of a site that becomes private costs that part alone, and hardly a request more.
func TestPrivatePart(t *testing.T) {
	w := mirrortest.Start(t)
	good := func(i int) mirrortest.Page { return note("Note", shortMenu, letters(i, 30)) }
	w.Set(home+"/about.html", mirrortest.HTML("About", "about this site"))
	w.Set(home+"/", mirrortest.HTML("Notes", section(w, "/notes/", 30, good)+section(w, "/members/", 60, good)))
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	section(w, "/members/", 60, func(int) mirrortest.Page { return mirrortest.Status(403) })
	w.Set(home+"/notes/note29.html", mirrortest.HTML("Last", "another edition"))
	s := m.Run()
	wantVerdict(t, s, mirror.Gaps, true)
	if len(m.Paths()) != 92 || s.Changed != 1 || s.Requests > 92+5 {
		t.Errorf("%d files, %d changed, %d requests", len(m.Paths()), s.Changed, s.Requests)
	}
}
