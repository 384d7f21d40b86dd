// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// TestLastDateIsShown: a page that says another date in each run, and at last the same one, shows that: the
// answers 304 are of its newest body, not of the one that is stored.
func TestLastDateIsShown(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	hub(w, 1)
	m := mirrortest.New(t, w, job())
	day := 0
	run := func(next int) string {
		day += next
		w.Set(home+"/page00.html", mirrortest.HTML("News", fmt.Sprintf("<p>Seen on 2026-07-%02d.</p>", day)))
		m.Run()
		return m.Tree()["page00.html"]
	}
	for range 8 {
		run(1)
	}
	if strings.Contains(m.Tree()["page00.html"], "07-08") {
		t.Fatal("a page that always says another date is stored in each run")
	}
	run(0)
	if got := run(0); !strings.Contains(got, "2026-07-08") {
		t.Errorf("two runs after the last change: %s\n%s", got, m.Outcomes()[home+"/page00.html"])
	}
	w.Requests()
	if run(0); len(w.Requests()) == 0 || !strings.Contains(m.Outcomes()[home+"/page00.html"], "unchanged") {
		t.Error(m.Outcomes()[home+"/page00.html"])
	}
}

// TestAgesAreNoChange: a page that says how long ago things were, and hides its mail addresses under a new
// key in each answer, is no other page a day later; it is when something was updated.
func TestAgesAreNoChange(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	hub(w, 1)
	now := time.Unix(1_800_000_000, 0)
	updated, key := now.Add(-50*time.Hour), 0
	w.Set(home+"/page00.html", mirrortest.Page{Handle: func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		key++
		fmt.Fprintf(rw, `<title>News</title><a data-cfemail="%02x%02x%02x">mail</a>`, key, 'a'^key, '@'^key)
		for i := range 20 { // more than volatile parts may be
			fmt.Fprintf(rw, "<p>%d days ago: item", int(now.Sub(updated).Hours())/24+i)
		}
	}})
	m := mirrortest.New(t, w, job())
	m.Now = func() time.Time { return now }
	wantVerdict(t, m.Run(), mirror.Complete, true)
	before := m.Tree()["page00.html"]
	for range 10 {
		now = now.Add(24 * time.Hour)
		wantVerdict(t, m.Run(), mirror.Complete, false)
	}
	if got := m.Outcomes()[home+"/page00.html"]; !strings.Contains(got, "says the same in another way") {
		t.Error(got)
	}
	now = now.Add(24 * time.Hour)
	updated = now.Add(-time.Hour)
	wantVerdict(t, m.Run(), mirror.Complete, true)
	if m.Tree()["page00.html"] == before {
		t.Error("an update is hidden")
	}
}
