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

	"mirrord/testing/mirrortest"
)

// almanac is a site of pages that each change every eighth week in the mean. Its sitemap does not show each
// change of a page.
type almanac struct {
	week  atomic.Int64
	hides int  // the sitemap does not show one change of so many; 0: it shows all
	none  bool // there is no sitemap

	asked atomic.Int64 // pages
	quiet atomic.Int64 // of them, those of which the sitemap shows or would show no change in this week

	mu     sync.Mutex
	served [almanacPages]int64 // by page: the week of the change that was last served
}

const almanacPages = 40

var almanacStart = time.Date(2025, 1, 6, 0, 0, 0, 0, time.UTC)

// changes reports whether a page changes in a week, and whether the sitemap shows it.
func (s *almanac) changes(page int, week int64) (is, shown bool) {
	h := (uint64(page)*1_000_003 + uint64(week)) * 0x9e3779b97f4a7c15
	h ^= h >> 31
	h *= 0xbf58476d1ce4e5b9
	return h>>61 == 0, s.hides == 0 || h>>32%uint64(s.hides) != 0
}

// last is the week of the last change of a page, or the last one that the sitemap shows.
func (s *almanac) last(page int, shown bool) int64 {
	for w := s.week.Load(); w > 0; w-- {
		if is, told := s.changes(page, w); is && (told || !shown) {
			return w
		}
	}
	return 0
}

func (s *almanac) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var b strings.Builder
	page := 0
	switch n, _ := fmt.Sscanf(r.URL.Path, "/p%d.html", &page); {
	case r.URL.Path == "/robots.txt" && !s.none:
		fmt.Fprintf(&b, "Sitemap: http://%s/map.xml\n", r.Host)
	case r.URL.Path == "/map.xml" && !s.none:
		w.Header().Set("Content-Type", "application/xml")
		b.WriteString(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for p := range almanacPages {
			fmt.Fprintf(&b, "<url><loc>http://%s/p%d.html</loc><lastmod>%s</lastmod></url>\n", r.Host, p,
				almanacStart.AddDate(0, 0, 7*int(s.last(p, true))).Format(time.DateOnly))
		}
	case r.URL.Path == "/":
		for p := range almanacPages {
			fmt.Fprintf(&b, "<a href='/p%d.html'>x</a>\n", p)
		}
	case n == 1:
		at := s.last(page, false)
		if s.asked.Add(1); s.last(page, true) < s.week.Load() {
			s.quiet.Add(1)
		}
		s.mu.Lock()
		s.served[page] = at
		s.mu.Unlock()
		fmt.Fprintf(&b, "<!DOCTYPE html><title>%d</title><p>%s", page, strings.Repeat("once more ", int(at)))
	default:
		http.NotFound(w, r)
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/html")
	}
	fmt.Fprint(w, b.String())
}

// found is how many changes of this week were served, of how many, and how many pages have one that was not.
func (s *almanac) found() (found, all, stale int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.week.Load()
	for p, at := range s.served {
		last := s.last(p, false)
		if last == now {
			if all++; at == now {
				found++
			}
		}
		if at != last {
			stale++
		}
	}
	return found, all, stale
}

// A lastmod that did not move is believed as far as it proved right. As long as a sitemap has shown all
// changes, only a few checks are made besides; of one that hid a third, the pages that show nothing are
// requested again, so that most of what it hides is found; one that hides all is worth no more than none.
// Without MIRRORD_LONG only the first of them is tried: TestRecallOfASitemap of package revisit has the rest.
func TestSitemapIsBelievedAsFarAsItProvedRight(t *testing.T) {
	t.Parallel()
	type outcome struct{ asked, quiet, found, changes, stale int }
	by := map[string]outcome{}
	for _, x := range []struct {
		name  string
		hides int
		none  bool
	}{
		{"no sitemap", 0, true},
		{"shows all", 0, false},
		{"hides a third", 3, false},
		{"hides all", 1, false},
	} {
		if x.hides > 0 && !long() {
			continue
		}
		s := &almanac{hides: x.hides, none: x.none}
		srv := httptest.NewServer(s)
		m := mirrortest.New(t, nil,
			fmt.Sprintf("url = %q\npolicy = \"adaptive\"\n[adaptive]\nprice = 0.2\n", srv.URL+"/"))
		now := almanacStart.Add(3 * time.Hour)
		m.Now = func() time.Time { return now }
		const learning, weeks = 8, 10
		var o outcome
		for week := range learning + weeks {
			asked, quiet := s.asked.Load(), s.quiet.Load()
			m.Run()
			if week >= learning {
				found, all, stale := s.found()
				o.asked, o.quiet = o.asked+int(s.asked.Load()-asked), o.quiet+int(s.quiet.Load()-quiet)
				o.found += found
				o.changes, o.stale = o.changes+all, o.stale+stale
			}
			now = now.AddDate(0, 0, 7)
			s.week.Add(1)
		}
		srv.Close()
		by[x.name] = o
		t.Logf("%s: %d requests in %d weeks, %d of them for pages that show nothing, %d of %d changes found at "+
			"once, %d pages stale in the mean", x.name, o.asked, weeks, o.quiet, o.found, o.changes, o.stale/weeks)
	}
	none, all, third, nothing := by["no sitemap"], by["shows all"], by["hides a third"], by["hides all"]
	if all.found*10 < all.changes*9 || all.quiet > none.quiet/2 {
		t.Errorf("a sitemap that shows all: %+v", all)
	}
	if !long() {
		return
	}
	if third.quiet < 2*all.quiet || third.found*4 < third.changes*3 || third.stale > none.stale/2 {
		t.Errorf("a sitemap that hides a third: %+v; without one %+v", third, none)
	}
	more := nothing.asked - none.asked
	if more*5 > none.asked || more*5 < -none.asked || nothing.found*5 < none.found*4 {
		t.Errorf("a sitemap that hides all: %+v; without one %+v", nothing, none)
	}
}
