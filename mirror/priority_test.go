// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mirrord/internal/mirrortest"
)

// Over ten weeks the news are requested in every run, and another directory in one run of three at least,
// while the policy skips the rest.
func TestPriorityIsNeverOld(t *testing.T) {
	t.Parallel()
	f := newFolders(t, map[string]int{"old": 100, "news": 10, "notes": 10})
	m := learned(t, f, 6, `policy = "adaptive"`, "limits.max_skip = 0", `limits.max_skip_time = "0"`,
		`priority = [{ match = "/news/**" }, { match = ["/notes/*.html"], every = 3 }]`)
	m.Set("polite.connections", "1")
	next := weekly(m)
	f.w.Requests()
	age := map[string]int{} // in runs
	old, skipped := 0, int64(0)
	for range 10 {
		next()
		p := planOf(t, m)
		s := m.Run()
		requests := f.w.Requests()
		if off := int64(p.Asked) - s.Asked; max(off, -off) > 6 || p.Reasons["priority"] < 10 { // 5 % of 121
			t.Errorf("plan: %d of %d, because %v; run: %d of %d", p.Asked, p.Known, p.Reasons, s.Asked, s.Known)
		}
		pages := 0
		for _, r := range requests {
			path := strings.TrimPrefix(r.URL, home)
			if strings.HasPrefix(path, "/old/") {
				old++
			}
			if path != "/robots.txt" && path != "/" {
				if pages++; pages <= 10 && !strings.HasPrefix(path, "/news/") && !strings.HasPrefix(path, "/notes/") {
					t.Errorf("%s is request %d", path, pages)
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
	if old > 500 || skipped < 500 {
		t.Errorf("%d requests for old pages, %d skipped", old, skipped)
	}
}

// What is new and has priority is requested before what was found earlier.
func TestPriorityComesFirst(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	links := ""
	for i := range 5 {
		links += fmt.Sprintf("<a href=/a/%d.html>a</a>", i)
		link := fmt.Sprintf("<a href=/news/%d.html>n</a>", i)
		w.Set(fmt.Sprintf("%s/a/%d.html", home, i), mirrortest.HTML("A", link))
		w.Set(fmt.Sprintf("%s/news/%d.html", home, i), mirrortest.HTML("N", fmt.Sprint(i)))
	}
	w.Set(home+"/", mirrortest.HTML("Home", links))
	m := mirrortest.New(t, w, job(`priority = "/news/**"`))
	m.Set("polite.connections", "1")
	m.Run()
	var got []string
	for _, r := range w.Requests() {
		got = append(got, strings.TrimPrefix(r.URL, home))
	}
	want := []string{"/robots.txt", "/"}
	for i := range 5 {
		want = append(want, fmt.Sprintf("/a/%d.html", i), fmt.Sprintf("/news/%d.html", i))
	}
	if !slices.Equal(got, want) {
		t.Errorf("requests %v", got)
	}
}
