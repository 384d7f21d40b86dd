// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// heldBack is a mirror of a hub of 20 pages whose last run was held back, because 10 of them are gone, and by
// how much its clock is ahead of noon.
func heldBack(t *testing.T) (w *mirrortest.Web, m *mirrortest.Mirror, later *time.Duration) {
	w = mirrortest.Start(t)
	hub(w, 20)
	m = mirrortest.New(t, w, job())
	noon, begun := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), time.Now()
	later = new(time.Duration)
	m.Now = func() time.Time { return noon.Add(time.Since(begun) + *later) }
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for i := range 10 {
		w.Remove(fmt.Sprintf("%s/page%02d.html", home, i))
	}
	wantVerdict(t, m.Run(), mirror.Suspicious, false)
	w.Requests()
	return w, m, later
}

// wantLook checks that a run looked at a few pages and is held back.
func wantLook(t *testing.T, w *mirrortest.Web, m *mirrortest.Mirror) {
	t.Helper()
	s := m.Run()
	wantVerdict(t, s, mirror.Suspicious, false)
	wantText(t, s, "still held for review since 2026-11-20 12:", "10 of 21 files would be dropped")
	if n := len(w.Requests()); n > 7 { // with robots.txt
		t.Errorf("%d requests", n)
	}
}

// A run that was held back is not made again while the pages that show it answer as before, but for once a
// day.
func TestHeldBackIsLookedAt(t *testing.T) {
	w, m, later := heldBack(t)
	for range 3 {
		*later += 6 * time.Hour
		wantLook(t, w, m)
	}
	*later += 6 * time.Hour
	s := m.Run()
	wantVerdict(t, s, mirror.Suspicious, false)
	if n := len(w.Requests()); n < 21 {
		t.Errorf("after a day %d requests", n)
	}
	*later += 6 * time.Hour
	wantLook(t, w, m) // since the first of these runs
}

// Each sign that the site is well again causes a whole run.
func TestHeldBackAnswersOtherwise(t *testing.T) {
	for name, change := range map[string]func(w *mirrortest.Web, m *mirrortest.Mirror){
		"the pages are back": func(w *mirrortest.Web, _ *mirrortest.Mirror) { hub(w, 20) },
		"the entry page has other links": func(w *mirrortest.Web, _ *mirrortest.Mirror) {
			w.Set(home+"/", mirrortest.HTML("Hub", `<a href="/page12.html">12</a>`))
		},
		"the job is another one": func(_ *mirrortest.Web, m *mirrortest.Mirror) {
			m.Set("limits.max_delete", "100%")
		},
	} {
		w, m, later := heldBack(t)
		change(w, m)
		*later += time.Hour
		m.Run()
		if n := len(w.Requests()); n < 10 {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}

// Of a directory that moved, each page redirects to its new address, and nothing links to the old one.
func TestHeldBackAfterAMove(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 20)
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	var links strings.Builder
	for i := range 20 {
		from, to := fmt.Sprintf("%s/page%02d.html", home, i), fmt.Sprintf("/moved/%02d.html", i)
		fmt.Fprintf(&links, "<a href=%q>%d</a>\n", to, i)
		w.Set(home+to, w.Page(from))
		w.Set(from, mirrortest.Page{Status: 301, Header: map[string]string{"Location": to}})
	}
	w.Set(home+"/", mirrortest.HTML("Hub", links.String()))
	wantVerdict(t, m.Run(), mirror.Suspicious, false)
	w.Requests()
	s := m.Run()
	wantVerdict(t, s, mirror.Suspicious, false)
	if n := len(w.Requests()); n > 7 {
		t.Errorf("%d requests\n%s", n, mirrortest.Text(s))
	}
	wantVerdict(t, m.Accept(), mirror.Complete, true)
	wantVerdict(t, m.Run(), mirror.Complete, false)
}

// Accept publishes what was held back after looks as well, and then nothing is held back.
func TestHeldBackAccepted(t *testing.T) {
	w, m, later := heldBack(t)
	*later += time.Hour
	wantLook(t, w, m)
	wantVerdict(t, m.Accept(), mirror.Complete, true)
	wantVerdict(t, m.Run(), mirror.Complete, false)
}

// A wall with a token in it, and an entry page with the time, answer as before.
func TestHeldBackByAWall(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 40)
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	page := sorry()
	for i := range 40 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), page)
	}
	wantVerdict(t, m.Run(), mirror.Suspicious, false)
	w.Requests()
	s := m.Run()
	wantVerdict(t, s, mirror.Suspicious, false)
	wantText(t, s, "still held for review", "have become the same page")
	if n := len(w.Requests()); n > 7 {
		t.Errorf("%d requests", n)
	}
	w.Clear()
	hub(w, 40)
	wantVerdict(t, m.Run(), mirror.Complete, false)
}

// A look that is interrupted, or gets no answer, is no reason to say that all is as before.
func TestHeldBackWithoutAnswer(t *testing.T) {
	w, m, later := heldBack(t)
	*later += time.Hour
	w.Hook(func(r *http.Request) {
		if r.URL.Path == "/" {
			panic(http.ErrAbortHandler)
		}
	})
	s := m.Run()
	if n := len(w.Requests()); (n < 10) || strings.Contains(mirrortest.Text(s), "still held for review") {
		t.Errorf("%d requests, %s", n, mirrortest.Text(s))
	}
}

// Accepted findings count as a change of the site, and pages that went do not count as unobserved.
func TestWhatIsAcceptedIsAChange(t *testing.T) {
	_, m, later := heldBack(t)
	*later += 24 * time.Hour
	wantVerdict(t, m.Run(), mirror.Suspicious, false) // it requests all again
	wantVerdict(t, m.Accept(), mirror.Complete, true)
	*later += 24 * time.Hour
	wantVerdict(t, m.Run(), mirror.Complete, false)
	m.Site(func(s *store.Site) {
		v, err := report.Load(m.Job, s, m.Now())
		if err != nil {
			t.Fatal(err)
		}
		e, err := v.Evolution(0, false)
		if err != nil {
			t.Fatal(err)
		}
		if d := e.Dirs[0]; e.Runs != 3 || d.Known != 3 || d.Changed != 1 || d.Edits != 10 || d.Files != 11 {
			t.Errorf("%d runs, %+v; want 3, all known, 1 with a change of 10 files, and 11 files", e.Runs, d)
		}
	})
}

// What robots.txt forbids was looked at without a request, and the report counts none.
func TestHeldBackByRobotsRequestsNothing(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 3)
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	w.Set(home+"/robots.txt", mirrortest.Page{Body: "User-agent: *\nDisallow: /"})
	wantVerdict(t, m.Run(), mirror.Suspicious, false)
	s := m.Run()
	wantText(t, s, "still held for review", "(0 were requested;")
	if s.Asked != 0 {
		t.Errorf("%d requests", s.Asked)
	}
}
