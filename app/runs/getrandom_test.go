// SPDX-License-Identifier: Apache-2.0

package runs_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mirrord/app/runs"
	"mirrord/testing/apptest"
)

// oddSite is a site made by chance of what makes guesses about links wrong: redirects that lead on, outside,
// nowhere and in circles, dead links, types that names do not say, answers that fail once, two names of one
// page, names that differ in case, encodings of the header only, base elements.
type oddSite struct {
	seed uint64

	mu     sync.Mutex
	failed map[string]bool
}

var oddNames = strings.Fields(`/ /index.html /a.html /A.html /b /b/ /b/index.html /b/c.html /c?d=1 /c?d=2
	/list.php /page.png /text.txt /style.css /d/e/f.html /d/e/ /g.html /g /moved /moved/on /circle /outside
	/nowhere /late.html /h.html /i.html /j.html /k/l.html /k /big.html /latin.html /base.html /x.js
	/only%20space.html /frag`)

// ServeHTTP answers a URL as chance has it, always in the same way but for the first time.
func (s *oddSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	url := r.URL.String()
	rnd := rand.New(rand.NewPCG(s.seed, uint64(len(url))<<32^hashOf(url)))
	some := func() string { return oddNames[rnd.IntN(len(oddNames))] }
	s.mu.Lock()
	again := s.failed[url]
	s.failed[url] = true
	s.mu.Unlock()
	kind := rnd.IntN(12)
	switch {
	case url == "/robots.txt", url == "/nowhere":
		http.NotFound(w, r)
		return
	case url == "/outside":
		http.Redirect(w, r, "http://h.example/", http.StatusFound)
		return
	case url == "/circle":
		http.Redirect(w, r, "/circle", http.StatusFound)
		return
	case url == "/frag":
		http.Redirect(w, r, "/a.html#part", http.StatusMovedPermanently)
		return
	case url == "/" || strings.HasPrefix(url, "/moved"), kind > 3:
	case kind == 0:
		http.Redirect(w, r, some(), http.StatusFound)
		return
	case kind == 1:
		http.NotFound(w, r)
		return
	case kind == 2 && !again:
		http.Error(w, "busy", http.StatusInternalServerError)
		return
	case kind == 3:
		w.Header().Set("Content-Type", "image/png")
		fmt.Fprint(w, "\x89PNG\r\n\x1a\n", url)
		return
	}
	if strings.HasPrefix(url, "/moved") {
		http.Redirect(w, r, some(), http.StatusFound)
		return
	}
	w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
	if url == "/style.css" {
		w.Header().Set("Content-Type", "text/css")
		fmt.Fprintf(w, "a { background: url(%s) } @import '%s';", some(), some())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if url == "/latin.html" {
		w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
		fmt.Fprint(w, "\xe9\xe8 ")
	}
	if url == "/base.html" {
		fmt.Fprint(w, `<base href="/d/e/">`)
	}
	fmt.Fprintf(w, "<title>%s</title>", url)
	if url == "/big.html" {
		fmt.Fprint(w, strings.Repeat("<p class=\"x\">much text", 20_000))
	}
	for range 1 + rnd.IntN(12) {
		link := some()
		if rnd.IntN(3) == 0 {
			link = "." + link
		}
		switch rnd.IntN(6) {
		case 0:
			fmt.Fprintf(w, `<img src="%s">`, link)
		case 1:
			fmt.Fprintf(w, `<a href='http://%s%s#there'>absolute</a>`, r.Host, some())
		case 2:
			fmt.Fprintf(w, `<link rel=stylesheet href=%s>`, link)
		default:
			fmt.Fprintf(w, `<a class="y" href="%s">%d</a>`, link, rnd.IntN(100))
		}
	}
	if url == "/" {
		for _, name := range oddNames {
			fmt.Fprintf(w, "<a href=%q>all</a>\n", name)
		}
	}
}

func hashOf(s string) (h uint64) {
	for _, c := range []byte(s) {
		h = h*1099511628211 ^ uint64(c)
	}
	return h
}

// What get writes through is, file by file, what a mirror that is kept has, on sites where guesses fail.
func TestGetRandomSites(t *testing.T) {
	seeds := uint64(5)
	if os.Getenv("MIRRORD_LONG") != "" {
		seeds = 60
	}
	for seed := range seeds {
		dir := t.TempDir()
		srv := httptest.NewServer(nil)
		t.Cleanup(srv.Close)
		mirror := func(name string, keep bool) map[string]string {
			srv.Config.Handler = &oddSite{seed: seed, failed: map[string]bool{}}
			r := runs.GetRequest{Job: linkedJob(srv.URL + "/"), Out: filepath.Join(dir, name), Keep: keep}
			a := apptest.TestApp("")
			if keep {
				a = apptest.TestApp(filepath.Join(dir, "state"))
			}
			if _, err := runs.Get(t.Context(), a, r); err != nil {
				t.Logf("seed %d, %s: %v", seed, name, err)
			}
			return mirrorAt(t, r.Out)
		}
		once, kept := mirror("once", false), mirror("kept", true)
		if len(once) < 5 || !maps.Equal(once, kept) {
			t.Errorf("seed %d: %d files, want %d", seed, len(once), len(kept))
			for p := range kept {
				if once[p] != kept[p] {
					t.Errorf("%s is %.200q, want %.200q", p, once[p], kept[p])
				}
			}
		}
	}
}
