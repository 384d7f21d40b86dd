// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// TestDatesMakeNoVersionInBulk: pages that show the date, the time that an answer took, a counter of visits,
// an age, and a token in each answer make no version in forty runs; an edit does at once.
func TestDatesMakeNoVersionInBulk(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	hub(w, 6)
	now, text := time.Unix(1_800_000_000, 0), "Nothing new."
	var answered atomic.Int64
	since := now.Add(-50 * time.Hour)
	for i := range 6 {
		w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.Page{
			Handle: func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "text/html")
				answers := answered.Add(1)
				fmt.Fprintf(rw, "<title>Page %d</title><h1>Page %d</h1><p>%s\n<p>Today is %s.\n<p>%d visits.\n"+
					"<p>Updated %d days ago.\n<input type=hidden name=token value=%x>\n<p>made in 0.%03d seconds\n",
					i, i, text, now.Format("Monday, 2 January 2006"), 100+answers, int(now.Sub(since).Hours())/24,
					uint64(answers+1)*0x9e3779b97f4a7c15, answers*7%10)
			},
		})
	}
	m := mirrortest.New(t, w, job())
	m.Now = func() time.Time { return now }
	wantVerdict(t, m.Run(), mirror.Complete, true)
	for run := 2; run <= 40; run++ {
		now = now.Add(24 * time.Hour)
		if sum := m.Run(); sum.Published && run > 2 {
			t.Errorf("run %d publishes %d changes: %v", run, sum.Changed, m.Outcomes())
		}
	}
	now, text = now.Add(24*time.Hour), "Something new."
	wantVerdict(t, m.Run(), mirror.Complete, true)
}
