// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mirrord/mirror"
	"mirrord/site"
	"mirrord/testing/mirrortest"
)

// deadEndSite serves a home page with pages and links to what does not exist, by the path of a dead end and
// its status.
func deadEndSite(w *mirrortest.Web, pages int, dead map[string]int, more string) {
	text := more
	for i := range pages {
		text += fmt.Sprintf("<a href='/p%d.html'>p</a> ", i)
		w.Set(fmt.Sprintf("%s/p%d.html", home, i), mirrortest.HTML("p", mirrortest.Words(uint32(i), 40)))
	}
	for path, status := range dead {
		text += fmt.Sprintf("<a href='%s'>d</a> ", path)
		w.Set(home+path, mirrortest.Status(status))
	}
	links := strings.SplitAfter(text, "> ")
	slices.Sort(links)
	w.Set(home+"/", mirrortest.HTML("home", strings.Join(links, "")))
	w.Set(home+"/robots.txt", mirrortest.Status(404))
	w.Set(home+"/favicon.ico", mirrortest.Page{Body: "icon"})
}

// A link to nothing is requested again after 1, 2, 4 and 8 runs, also of those that request everything, when
// a page that changed names it, and by a run for it.
func TestDeadEndsRest(t *testing.T) {
	dead := map[string]int{"/a": 404, "/b": 410, "/c": 424, "/d": 403, "/e": 501}
	w := mirrortest.Start(t)
	deadEndSite(w, 20, dead, "")
	m := mirrortest.New(t, w, job())
	m.Rests = true
	asked := func() (n int) {
		for url, times := range w.Asked() {
			if dead[strings.TrimPrefix(url, home)] > 0 && times > 0 {
				n++
			}
		}
		return n
	}
	due := map[int]bool{1: true, 2: true, 4: true, 8: true, 16: true, 24: true}
	for run := 1; run <= 24; run++ {
		s := m.Run()
		wantVerdict(t, s, mirror.Complete, run == 1)
		if got, want := asked(), len(dead); (got == want) != due[run] || (got != want && got != 0) {
			t.Errorf("run %d: %d of %d dead ends were requested", run, got, want)
		}
	}
	deadEndSite(w, 20, dead, "<p>this is new ")
	w.Set(home+"/b", mirrortest.HTML("b", "it is here"))
	if s := m.Run(); asked() != len(dead) || s.Added != 1 {
		t.Errorf("a page that changed names %d of them:\n%s", asked(), mirrortest.Text(s))
	}
	delete(dead, "/b")
	m.Run()
	asked()
	m.Job.AskAll()
	if m.Run(); asked() != 0 {
		t.Error("a run that requests everything requested dead ends before their turn")
	}
	m.Job.Only = []site.URL{site.Canonical(home + "/a")}
	if m.Run(); asked() == 0 {
		t.Error("a run that is for a dead end did not request it")
	}
}

// However many dead ends there are, they are a twentieth of a run, and each has its turn.
func TestDeadEndsAreFewInBulk(t *testing.T) {
	const pages, ends = 160, 90
	dead := map[string]int{}
	for i := range ends {
		dead[fmt.Sprintf("/gone/%d", i)] = 404
	}
	w := mirrortest.Start(t)
	deadEndSite(w, pages, dead, "")
	m := mirrortest.New(t, w, job())
	m.Rests = true
	m.Run()
	w.Asked()
	seen := map[string]bool{}
	for range 1 + ends/(pages/20) {
		m.Run()
		n := 0
		for url := range w.Asked() {
			if dead[strings.TrimPrefix(url, home)] > 0 {
				seen[url] = true
				n++
			}
		}
		if n > (pages+2)/20 {
			t.Errorf("%d dead ends in a run of %d pages", n, pages)
		}
	}
	if len(seen) != ends {
		t.Errorf("%d of %d had a turn", len(seen), ends)
	}
}
