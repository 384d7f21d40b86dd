// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// spelledSite serves pages that its home page names in three spellings each. wants makes the one spelling
// that it answers of a path; nil: all of them.
func spelledSite(w *mirrortest.Web, pages int, wants func(path string) string) {
	w.Set(home+"/robots.txt", mirrortest.Status(404))
	w.Set(home+"/favicon.ico", mirrortest.Status(404))
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" {
			for i := range pages {
				fmt.Fprintf(rw, "<a href='/~m/caf%%C3%%A9%d'>a</a> <a href='/%%7Em/caf%%c3%%a9%d'>b</a> "+
					"<a href='/%%7e%%6d/caf%%c3%%A9%d'>c</a>", i, i, i)
			}
			return
		}
		asked := r.URL.EscapedPath()
		if to := asked; wants != nil {
			if to = wants(r.URL.Path); to != asked {
				rw.Header().Set("Location", to)
				rw.WriteHeader(http.StatusMovedPermanently)
				return
			}
		}
		fmt.Fprintf(rw, "<title>p</title>%s", mirrortest.Words(uint32(r.URL.Path[len(r.URL.Path)-1]), 30))
	}})
}

// A mirror that has pages in two spellings continues with one of each, and keeps its older version. The
// sample is of commit 485baea3: five pages of /~m/ in two spellings, one as /%7em/only.html alone.
func TestSpellingsOfOldStatesAreFolded(t *testing.T) {
	w := mirrortest.Start(t)
	m := mirrortest.New(t, w, "url = \""+home+"/\"\n")
	if err := os.Rename(unpackState(t, "spelled"), m.Dir); err != nil {
		t.Fatal(err)
	}
	was := m.Tree()
	w.Set(home+"/robots.txt", mirrortest.Status(404))
	w.Set(home+"/favicon.ico", mirrortest.Status(404))
	var mu sync.Mutex
	asked := map[string]int{}
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.EscapedPath()]++
		mu.Unlock()
		name := strings.TrimSuffix(path.Base(r.URL.Path), ".html")
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path != "/" {
			next := (len(r.URL.Path) + int(r.URL.Path[len(r.URL.Path)-6])) % 5
			fmt.Fprintf(rw, "<!DOCTYPE html><title>%s</title><p>page %s says what no other page does: %s "+
				`<a href="/%%7Em/p%d.html">next</a>`, name, name, strings.Repeat(name, 3), next)
			return
		}
		fmt.Fprint(rw, "<!DOCTYPE html><title>Dept</title>")
		for i := range 5 {
			fmt.Fprintf(rw, `<a href="/~m/p%d.html">a</a> <a href="/%%7Em/p%d.html">b</a> `, i, i)
		}
		fmt.Fprint(rw, `<a href="/%7em/only.html">o</a>`)
	}})
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Removed != 5 || s.Added != 0 || s.Files != 7 {
		t.Errorf("the run that folds:\n%s", mirrortest.Text(s))
	}
	now := m.Tree()
	for p := range now {
		if _, had := was[p]; !had {
			t.Errorf("%s is new", p)
		}
	}
	if home := now["index.html"]; strings.Count(home, "~m/p3.html") != 2 {
		t.Errorf("links of the home page: %s", home)
	}
	for range 3 {
		if s = m.Run(); s.Published {
			t.Errorf("a version for nothing:\n%s", mirrortest.Text(s))
		}
	}
	for p, n := range asked {
		if p != "/%7em/only.html" && strings.Contains(strings.ToLower(p), "%7e") {
			t.Errorf("%s: %d requests", p, n)
		}
	}
	if asked["/%7em/only.html"] == 0 {
		t.Error("what the mirror has in one spelling is requested in another one")
	}
}

// Equivalent URLs are one page, in whichever spelling the server wants them.
func TestEquivalentURLsAreOne(t *testing.T) {
	const pages = 12
	plain := func(path string) string { return (&url.URL{Path: path}).EscapedPath() }
	escaped := func(path string) string { return strings.ReplaceAll(plain(path), "~", "%7E") }
	for name, c := range map[string]struct {
		wants func(path string) string
		more  int64 // requests of the first run
	}{
		"any":        {nil, 0},
		"plain":      {plain, 0},
		"tilde":      {escaped, 4}, // of the connections that did not know
		"lower case": {func(path string) string { return strings.ToLower(escaped(path)) }, 4},
		"of the page": {func(path string) string {
			if strings.HasSuffix(path, "1") {
				return escaped(path)
			}
			return plain(path)
		}, pages},
	} {
		t.Run(name, func(t *testing.T) {
			w := mirrortest.Start(t)
			spelledSite(w, pages, c.wants)
			m := mirrortest.New(t, w, job())
			const twice, icon = 4, 1 // pages that are requested twice for noise
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			if s.Files != pages+1 || s.Requests > pages+1+twice+icon+c.more {
				t.Errorf("%d requests for %d files", s.Requests, s.Files)
			}
			for range 3 {
				s = m.Run()
				if s.Published || s.Files != pages+1 || s.Requests > pages+1+2*twice+icon+min(2, c.more) {
					t.Errorf("%d requests:\n%s", s.Requests, mirrortest.Text(s))
				}
			}
			if s.Requests > pages+1+icon+twice/2 {
				t.Errorf("%d requests in the last run", s.Requests)
			}
		})
	}
}
