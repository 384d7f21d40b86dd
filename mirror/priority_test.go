// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mirrord/testing/mirrortest"
)

// Over ten weeks the news are requested in every run, and another directory in one run of three at least,
// while the policy skips the rest.
func TestPriorityIsNeverOld(t *testing.T) {
	t.Parallel()
	f := newFolders(t, map[string]int{"old": 100, "news": 10, "notes": 10})
	m := learned(t, f, 6, skipping, "limits.max_skip = 0", `limits.max_skip_time = "0"`,
		`priority = [{ match = "/news/**" }, { match = ["/notes/*.html"], every = 3 }]`)
	next := weekly(m)
	f.w.Requests()
	age := map[string]int{}                  // in runs
	old, overtook, skipped := 0, 0, int64(0) // requests under way side by side may overtake one another
	for range 10 {
		next()
		p := planOf(t, m)
		s := m.Run()
		requests := f.w.Requests()
		if off := int64(p.Asked) - s.Asked; max(off, -off) > 1 || p.Reasons["priority"] < 10 {
			t.Errorf("plan: %d of %d, because %v; run: %d of %d", p.Asked, p.Known, p.Reasons, s.Asked, s.Known)
		}
		pages := 0
		for _, r := range requests {
			path := strings.TrimPrefix(r.URL, home)
			if strings.HasPrefix(path, "/old/") {
				old++
			}
			if path != "/robots.txt" && path != "/" {
				first := strings.HasPrefix(path, "/news/") || strings.HasPrefix(path, "/notes/")
				if pages++; pages <= 10 && !first {
					overtook++
				}
			}
		}
		for dir, most := range map[string]int{"news": 1, "notes": 3} {
			for i := range 10 {
				page := f.path(dir, i)
				age[page]++
				if slices.ContainsFunc(requests, func(r mirrortest.Request) bool { return r.URL == home+page }) {
					age[page] = 0
				}
				if age[page] >= most {
					t.Errorf("%s was not requested for %d runs", page, age[page])
				}
			}
		}
		skipped += s.Skipped
	}
	if old > 500 || skipped < 500 || overtook > 40 {
		t.Errorf("%d requests for old pages, %d of 100 among the first, %d skipped", old, overtook, skipped)
	}
}

// New URLs with priority are requested before those found earlier. While one worker reads the links
// of a page another one may begin the next request, so that what counts is how many requests lie between a
// page and the news that it links to: 40 for each without priority.
func TestPriorityComesFirst(t *testing.T) {
	t.Parallel()
	const pages = 40
	w := mirrortest.Start(t)
	links := ""
	for i := range pages {
		links += fmt.Sprintf("<a href=/a/%d.html>a</a>", i)
		link := fmt.Sprintf("<a href=/news/%d.html>n</a>", i)
		w.Set(fmt.Sprintf("%s/a/%d.html", home, i), mirrortest.HTML("A", link))
		w.Set(fmt.Sprintf("%s/news/%d.html", home, i), mirrortest.HTML("N", fmt.Sprint(i)))
	}
	w.Set(home+"/", mirrortest.HTML("Home", links))
	m := mirrortest.New(t, w, job(`priority = "/news/**"`))
	m.Set("polite.connections", "1")
	m.Run()
	at := map[string]int{}
	for i, r := range w.Requests() {
		at[strings.TrimPrefix(r.URL, home)] = i
	}
	between := 0
	for i := range pages {
		news, page := at[fmt.Sprintf("/news/%d.html", i)], at[fmt.Sprintf("/a/%d.html", i)]
		if news <= page || page == 0 {
			t.Errorf("page %d is request %d, its news request %d", i, page, news)
		}
		between += news - page
	}
	if between > pages*pages/2 { // one or two each, but 13 on a machine with six others at work
		t.Errorf("%d requests lie between %d pages and their news", between, pages)
	}
}
