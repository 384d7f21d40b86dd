// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/store"
	"mirrord/store/record"
	"mirrord/testing/mirrortest"
)

// ruin is a site of many pages that name many more which are not there. Its front page, which names some of
// them, changes in every week.
type ruin struct {
	week  atomic.Int64
	asked atomic.Int64
	dead  atomic.Int64 // of them answered 404

	mu    sync.Mutex
	alive map[string]bool // directories of dead links that are there again
}

const ruinDirs, ruinPages, ruinLinks = 8, 3, 5

func (s *ruin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	s.asked.Add(1)
	var d, p int
	body := "<!DOCTYPE html><title>" + r.URL.Path + "</title>"
	switch n, _ := fmt.Sscanf(r.URL.Path, "/d%d/p%d.html", &d, &p); {
	case r.URL.Path == "/":
		body += fmt.Sprintf("<p>Week %s", strings.Repeat("again and ", int(s.week.Load())))
		for d := range ruinDirs {
			body += fmt.Sprintf("<a href='/d%02d/p0.html'>x</a><a href='/lost%02d/l00.html'>x</a>", d, d)
		}
	case n == 2:
		for p := range ruinPages {
			body += fmt.Sprintf("<a href='/d%02d/p%d.html'>x</a>", d, p)
		}
		for l := range ruinLinks {
			body += fmt.Sprintf("<a href='/lost%02d/l%d%d.html'>x</a>", d, p, l)
		}
	default:
		s.mu.Lock()
		is := s.alive[strings.Split(r.URL.Path, "/")[1]]
		s.mu.Unlock()
		if !is {
			s.dead.Add(1)
			http.NotFound(w, r)
			return
		}
		body += "<p>It is back."
	}
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("ETag", fmt.Sprintf("\"%x\"", len(body)))
	if r.Header.Get("If-None-Match") == w.Header().Get("ETag") {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	fmt.Fprint(w, body)
}

// Dead links are requested by a rate of their own: hardly ever on a site where none was alive again, also
// when the page that names them changes in every run; and when one of a directory is, the others follow.
func TestDeadLinksHaveTheirRateInBulk(t *testing.T) {
	t.Parallel()
	s := &ruin{alive: map[string]bool{}}
	srv := httptest.NewServer(s)
	defer srv.Close()
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\npolicy = \"adaptive\"\n", srv.URL+"/"))
	week := time.Date(2025, 1, 6, 3, 0, 0, 0, time.UTC)
	m.Now = func() time.Time { return week }
	run := func() (asked, dead int64) {
		was, gone := s.asked.Load(), s.dead.Load()
		m.Run()
		week = week.Add(7 * 24 * time.Hour)
		s.week.Add(1)
		return s.asked.Load() - was, s.dead.Load() - gone
	}
	for range 9 {
		asked, dead := run()
		t.Logf("learning: %d requests, %d for dead links", asked, dead)
	}
	const links = ruinDirs * ruinPages * ruinLinks
	total := int64(0)
	const quiet = 8
	for range quiet {
		asked, dead := run()
		t.Logf("quiet: %d requests, %d of %d dead links", asked, dead, links)
		total += dead
	}
	if total > quiet*links/50 {
		t.Errorf("%d requests for %d dead links in %d runs, want at most a fiftieth of them a run", total, links,
			quiet)
	}
	s.mu.Lock()
	s.alive["lost03"] = true
	s.mu.Unlock()
	back := 0
	for range 15 {
		run()
	}
	m.Site(func(site *store.Site) {
		if err := site.Records.Resources(func(rec *record.Resource) error {
			if rec.InSet && strings.HasPrefix(rec.URL.Path(), "/lost03/") {
				back++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
	if back != ruinPages*ruinLinks {
		t.Errorf("%d of %d links of a directory that is back were found in 15 runs", back, ruinPages*ruinLinks)
	}
}

// Dead links are a small share of a quiet run also when they are young: all were found in one run, and would
// be due in the same ones.
func TestDeadLinksAreFewOfAQuietRunInBulk(t *testing.T) {
	t.Parallel()
	s := &ruin{alive: map[string]bool{}}
	srv := httptest.NewServer(s)
	defer srv.Close()
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\npolicy = \"adaptive\"\nfull_runs = 1\n"+
		"adaptive.learn_for = \"0s\"\nadaptive.price = 0.0\n", srv.URL+"/"))
	day := time.Date(2025, 1, 6, 3, 0, 0, 0, time.UTC)
	m.Now = func() time.Time { return day }
	seen := int64(0)
	for run := range 40 {
		was, gone := s.asked.Load(), s.dead.Load()
		sum := m.Run()
		day = day.Add(24 * time.Hour)
		asked, dead := s.asked.Load()-was, s.dead.Load()-gone
		if run == 0 {
			continue
		}
		if seen += dead; dead > max(1, asked/20) {
			t.Errorf("run %d: %d of %d requests were for dead links\n%s", run+1, dead, asked, mirrortest.Text(sum))
		}
	}
	if seen < 5 {
		t.Errorf("%d dead links were looked at in 39 runs", seen)
	}
}
