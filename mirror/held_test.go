// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
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
