// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/mirror"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// impossible matches the path that cannot exist.
var impossible = regexp.MustCompile(`^` + regexp.QuoteMeta(home) + `/[0-9a-f]{16}\.html$`)

// probes counts the requests for a path that cannot exist since the last call.
func probes(w *mirrortest.Web) (n int) {
	for _, r := range w.Requests() {
		if impossible.MatchString(r.URL) {
			n++
		}
	}
	return n
}

// sorry is an error page that a site answers with status 200; it has a token, so that no two have the same
// bytes.
func sorry() mirrortest.Page {
	var n atomic.Int64
	return mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, "<!DOCTYPE html>\n<title>Sorry</title>\n"+
			"<p>Something went wrong. Incident %08d. <a href=/>Home</a>\n", n.Add(1))
	}}
}

func TestSoft404(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		broken  int // of 40 pages
		everyth bool
		verdict mirror.Verdict
		asked   int
	}{
		{"a few", 2, true, mirror.Complete, 0},
		{"part of the site", 6, true, mirror.Suspicious, 1},
		{"everything", 40, true, mirror.Suspicious, 1},
		{"honest answer", 6, false, mirror.Complete, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := mirrortest.Start(t)
			hub(w, 40)
			m := mirrortest.New(t, w, job("polite.connections = 1"))
			wantVerdict(t, m.Run(), mirror.Complete, true)
			if n := probes(w); n != 0 {
				t.Errorf("a new site was asked %d times for what cannot exist", n)
			}
			wantVerdict(t, m.Run(), mirror.Complete, false)
			if n := probes(w); n != 0 {
				t.Errorf("a quiet run asked %d times for what cannot exist", n)
			}
			before := m.Stamps()
			page := sorry()
			if c.everyth {
				w.Set("*", page)
			}
			for i := range c.broken {
				w.Set(fmt.Sprintf("%s/page%02d.html", home, i), page)
			}
			runs := 1
			if c.verdict == mirror.Suspicious {
				runs = 3 // other bytes each time, and never published
			}
			for i := range runs {
				full := i == 2
				s, err := m.RunWith(t.Context(), func(o *mirror.Options) {
					if full {
						j := *o.Job
						j.AskAll()
						o.Job = &j
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				wantVerdict(t, s, c.verdict, c.verdict == mirror.Complete)
				asked := c.asked
				if (i > 0) && !full { // a look at some pages found the same
					asked = 0
					wantText(t, s, "still held for review")
				}
				if n := probes(w); n != asked {
					t.Errorf("%d requests for what cannot exist, want %d", n, asked)
				}
				if c.verdict == mirror.Suspicious {
					wantText(t, s, fmt.Sprintf("%d of 41 pages, such as %s/page", c.broken, home),
						"a path that cannot exist")
					if !maps.Equal(m.Stamps(), before) {
						t.Fatal("the published tree changed")
					}
				}
			}
			if c.verdict != mirror.Suspicious {
				return
			}
			w.Clear()
			hub(w, 40)
			wantVerdict(t, m.Run(), mirror.Complete, false)
			if !maps.Equal(m.Stamps(), before) {
				t.Error("after recovery the tree is not what it was")
			}
		})
	}
}

// Accept publishes the error pages all the same: the user who accepts has seen the reason.
func TestSoft404Accepted(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 40)
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	w.Set("*", sorry())
	for i := range 6 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i),
			mirrortest.HTML("Sorry", "<p>Something went wrong. <a href=/>Home</a>"))
	}
	wantVerdict(t, m.Run(), mirror.Suspicious, false)
	wantVerdict(t, m.Accept(), mirror.Complete, true)
	if got := m.Tree()["page03.html"]; !strings.Contains(got, "Sorry") {
		t.Errorf("page03.html is %q", got)
	}
	wantVerdict(t, m.Run(), mirror.Complete, false)
}

// Pages that the home page links to no more, and that became error pages in the same run, are subject to two
// rulings: they leave the mirror, and they lose their validators. Neither undoes the other.
func TestErrorPagesThatLeave(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 40)
	m := mirrortest.New(t, w, job("limits.max_delete = 0.5"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	hubPage(w, 30)
	broken := mirrortest.HTML("Sorry", "<p>Something went wrong. <a href=/>Home</a>")
	w.Set("*", sorry())
	for i := 28; i < 40; i++ {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), broken)
	}
	wantVerdict(t, m.Run(), mirror.Suspicious, false)
	seen := 0
	m.Site(func(s *store.Site) {
		err := s.Records.Resources(func(rec *store.Resource) error {
			var n int
			if _, err := fmt.Sscanf(rec.URL.Path(), "/page%d.html", &n); err != nil {
				return nil // the home page
			}
			seen++
			left := !rec.InSet && strings.Contains(rec.Reason, "nothing in the mirror links")
			if (left != (n >= 30)) || ((rec.ETag == "") != (n >= 28)) {
				t.Errorf("page %d: in the mirror %v, reason %q, ETag %q", n, rec.InSet, rec.Reason, rec.ETag)
			}
			return nil
		})
		if (err != nil) || (seen != 40) {
			t.Errorf("%d pages, %v", seen, err)
		}
	})
	wantVerdict(t, m.Accept(), mirror.Complete, true)
	if tree := m.Tree(); (tree["page35.html"] != "") || !strings.Contains(tree["page29.html"], "Sorry") {
		t.Errorf("page35.html is %q, page29.html is %q", tree["page35.html"], tree["page29.html"])
	}
}

// A site that is rewritten from end to end, with a 404 for what it has not, and one that is one program
// behind every path are honest.
func TestHonestSitesAreNotAccused(t *testing.T) {
	t.Run("rewritten", func(t *testing.T) {
		w := mirrortest.Start(t)
		hub(w, 30)
		m := mirrortest.New(t, w, job())
		wantVerdict(t, m.Run(), mirror.Complete, true)
		for i := range 30 {
			w.Set(fmt.Sprintf("%s/page%02d.html", home, i),
				mirrortest.HTML(fmt.Sprint("New ", i),
					"<p>another look <a href=/>home</a> <a href=/page00.html>first</a>"))
		}
		w.Requests()
		wantVerdict(t, m.Run(), mirror.Complete, true)
		if n := probes(w); n != 1 {
			t.Errorf("%d requests for what cannot exist, want 1", n)
		}
	})
	t.Run("forbidden", func(t *testing.T) {
		w := mirrortest.Start(t)
		hub(w, 30)
		w.Set(home+"/robots.txt", mirrortest.Page{Body: "User-agent: *\nDisallow: /\nAllow: /page\nAllow: /$\n"})
		m := mirrortest.New(t, w, job())
		wantVerdict(t, m.Run(), mirror.Complete, true)
		for i := range 30 {
			w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.HTML(fmt.Sprint("New ", i), "<p>another look"))
		}
		w.Requests()
		wantVerdict(t, m.Run(), mirror.Complete, true)
		if n := probes(w); n != 0 {
			t.Errorf("asked %d times although robots.txt forbids it", n)
		}
	})
	t.Run("one program", func(t *testing.T) {
		w := mirrortest.Start(t)
		release := func(v int) {
			shell := mirrortest.HTML("App",
				fmt.Sprintf(
					`<a href="/a">a</a><a href="/b">b</a><a href="/c">c</a><a href="/d">d</a><script src="/app-%d.js"></script>`, v))
			w.Clear()
			w.Set("*", shell)
			w.Set(home+"/robots.txt", mirrortest.Page{Body: "User-agent: *\nAllow: /\n"})
			w.Set(fmt.Sprintf("%s/app-%d.js", home, v), mirrortest.Page{Body: "start()"})
		}
		release(1)
		m := mirrortest.New(t, w, job("limits.max_delete = 0.5"))
		wantVerdict(t, m.Run(), mirror.Complete, true)
		release(2)
		wantVerdict(t, m.Run(), mirror.Complete, true)
	})
}

// A run that was cut off remembers what it saw.
func TestSoft404AfterInterruption(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 40)
	m := mirrortest.New(t, w, job("polite.connections = 1"))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	page := sorry()
	w.Set("*", page)
	for i := range 6 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), page)
	}
	s := interrupted(t, m, w, func(r *http.Request) bool { return r.URL.Path == "/page30.html" })
	wantVerdict(t, s, mirror.Partial, false)
	wantVerdict(t, m.Run(), mirror.Suspicious, false)
}
