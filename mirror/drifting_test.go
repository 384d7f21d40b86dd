// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

const (
	driftPages = 30
	driftSpan  = int64(30 * 24 * 60 * 60) // seconds
)

// driftWiki has 30 pages, each with a list of its changes in the last 30 days, in the manner of Oddmuse: it
// names the list of the 30 days before, by the time of the answer, and that one those before it. All say tag
// as their ETag. before writes the parameters of the first list of a page that has some.
type driftWiki struct {
	tag, title string
	now        func() time.Time
	before     func(now time.Time) string
}

func (x *driftWiki) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if x.tag != "" {
		rw.Header().Set("ETag", x.tag)
		if r.Header.Get("If-None-Match") == x.tag {
			rw.WriteHeader(http.StatusNotModified)
			return
		}
	}
	rw.Header().Set("Content-Type", "text/html")
	q := r.URL.Query()
	n, err := strconv.Atoi(q.Get("page"))
	switch {
	case q.Has("changes"):
		older := x.before(x.now())
		from, _ := strconv.ParseInt(q.Get("from"), 10, 64)
		if from > 0 {
			older = fmt.Sprintf("from=%d&upto=%d", from-driftSpan, from)
		}
		fmt.Fprintf(rw, "<h1>%s</h1><a href='/?page=%d'>Page %d</a> <a href='/?changes&%s&page=%d'>older</a>",
			x.title, n, n, older, n)
		if k := (x.now().Unix() - from) / driftSpan; from > 0 && k < 5 {
			fmt.Fprint(rw, mirrortest.Words(uint32(n*10+int(k)), 30))
		}
	case err == nil:
		fmt.Fprintf(rw, "<h1>Page %d</h1>%s<a href='?changes&page=%d'>changes</a>",
			n, mirrortest.Words(uint32(n), 50), n)
	default:
		for i := range driftPages {
			fmt.Fprintf(rw, "<p><a href='?page=%d'>page</a>", i+1)
		}
	}
}

// window is the time from 60 to 30 days ago.
func window(now time.Time) string {
	upto := now.Unix() - driftSpan
	return fmt.Sprintf("from=%d&upto=%d", upto-driftSpan, upto)
}

// A page whose addresses hold a time as far from now as ever has not changed. Where such an address is
// another one in each run all the same, because the page changes, what it named before is no loss, though its
// successor is left out as part of a trap.
func TestDriftingAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		tag    string
		before func(now time.Time) string
	}{
		"window":      {before: window},
		"window, tag": {tag: `"1"`, before: window},
		"day": {before: func(now time.Time) string {
			return "since=" + now.AddDate(0, -1, 0).Format(time.DateOnly)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := mirrortest.Start(t)
			begun, later := time.Now(), time.Duration(0)
			now := func() time.Time { return begun.Add(time.Since(begun) + later) }
			x := &driftWiki{
				tag:    c.tag,
				title:  "Changes",
				now:    now,
				before: c.before,
			}
			w.Set(home+"/robots.txt", mirrortest.Status(404))
			w.Set(home+"/favicon.ico", mirrortest.Status(404))
			w.Set("*", mirrortest.Page{Handle: x.ServeHTTP})
			m := mirrortest.New(t, w, job())
			m.Now = now
			wantVerdict(t, m.Run(), mirror.Complete, true)
			for run := range 6 {
				later += 7*24*time.Hour + 77*time.Second
				if run > 2 {
					x.title = "Changes " + strings.Repeat("of a page ", run)
					x.tag = strings.Replace(c.tag, "1", fmt.Sprint(run), 1)
				}
				s := m.Run()
				if s.Verdict != mirror.Complete || (run > 0 && run < 3 && s.Published) {
					t.Error(mirrortest.Text(s))
				}
			}
		})
	}
}
