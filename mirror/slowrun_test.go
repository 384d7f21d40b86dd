// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// With 1 kB/s a batch never fills. What has come is committed all the same: before it sends a page the server
// waits until a reader sees the one before.
func TestSlowRunIsCommitted(t *testing.T) {
	t.Parallel()
	w := mirrortest.Start(t)
	m := mirrortest.New(t, w, job(`polite.connections = 1`, `polite.bandwidth = "1kB/s"`))
	m.Durable = true
	const pages = 4
	path := func(i int) string { return fmt.Sprintf("%s/p%d.html", home, i) }
	isKnown := func(url string) (known bool) {
		m.Site(func(s *store.Site) {
			v, err := report.Open(m.Job, s, time.Now())
			if err != nil {
				t.Error(err)
				return
			}
			x, err := v.Explain(t.Context(), nil, url)
			if err != nil {
				t.Error(err)
				return
			}
			known = x.Mirrored
		})
		return known
	}
	w.Set(home+"/", mirrortest.HTML("Home", "<a href=p0.html>first</a>"))
	for i := range pages {
		w.Set(path(i), mirrortest.Page{Handle: func(rw http.ResponseWriter, _ *http.Request) {
			last := home + "/"
			if i > 0 {
				last = path(i - 1)
			}
			for end := time.Now().Add(time.Minute); !isKnown(last); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Errorf("%s has come, and no reader sees it", last)
					break
				}
			}
			rw.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(rw, "<title>Page %d</title><p>%0300d <a href=p%d.html>next</a>", i, i, i+1)
		}})
	}
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	if s.Files != pages+1 {
		t.Errorf("%d files, want %d", s.Files, pages+1)
	}
}
