// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

func TestLesson11CancelAndResume(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 60)
	m := mirrortest.New(t, w, job("polite.connections = 2"))
	asked := map[string]int{}
	for round := 0; ; round++ {
		ctx, cancel := context.WithCancel(t.Context())
		var n atomic.Int64
		w.Hook(func(*http.Request) {
			if n.Add(1) == 16 {
				cancel()
			}
		})
		s, err := m.RunWith(ctx, func(*mirror.Options) {})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range w.Requests() {
			if r.URL != home+"/robots.txt" {
				asked[r.URL]++
			}
		}
		if s.Verdict == mirror.Complete {
			break
		}
		wantVerdict(t, s, mirror.Partial, false)
		wantText(t, s, "interrupted")
		if round > 0 && !s.Resumed {
			t.Error("not resumed")
		}
		if round > 20 {
			t.Fatal("never complete")
		}
	}
	if len(m.Paths()) != 61 {
		t.Errorf("%d files", len(m.Paths()))
	}
	twice := 0
	for _, n := range asked {
		twice += n - 1
	}
	if twice > 4*2 { // those in flight at each of four interruptions
		t.Errorf("%d requests were made again", twice)
	}
}

func TestLesson14Traps(t *testing.T) {
	w := mirrortest.Start(t)
	w.Set(home+"/",
		mirrortest.HTML("Home",
			`<a href="/loop/">loop</a> <a href="/login?next=/login">login</a> <a href="/2026/11/20/">day</a> <a href="/s/?PHPSESSID=1">session</a>`))
	var n atomic.Int64
	w.Set("*", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
		body := ""
		var y, mo, d int
		switch {
		case strings.HasPrefix(r.URL.Path, "/loop/"):
			body = `<a href="x/">deeper</a>`
		case r.URL.Path == "/login":
			body = fmt.Sprintf(`<a href="/login?next=%s">again</a>`,
				"/login%3Fnext%3D"+strings.ReplaceAll(r.URL.RawQuery, "%", "%25"))
		case r.URL.Path == "/s/":
			body = fmt.Sprintf(`<a href="/s/?PHPSESSID=%d">again</a>`, n.Add(1))
		default:
			if _, err := fmt.Sscanf(r.URL.Path, "/%d/%d/%d/", &y, &mo, &d); err != nil {
				http.NotFound(rw, r)
				return
			}
			body = fmt.Sprintf(`<a href="/%d/%02d/%02d/">next</a>`, y+1, mo, d)
		}
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprint(rw, "<title>", r.URL, "</title>", body)
	}})
	m := mirrortest.New(t, w, job())
	s := m.Run()
	wantVerdict(t, s, mirror.Complete, true)
	wantText(t, s, "traps", "session ids")
	const budget = 80 // 60 years, and a few of each other kind
	if s.Requests > budget {
		t.Errorf("%d requests, the budget is %d", s.Requests, budget)
	}
}

func TestLesson18Banned(t *testing.T) {
	w := mirrortest.Start(t)
	hub(w, 20)
	ban := false
	inner := mirrortest.NewWeb()
	hub(inner, 20)
	w.Set("*", mirrortest.Page{Handle: inner.ServeHTTP})
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	before := m.Stamps()
	ban = true
	for i := range 20 {
		page := fmt.Sprintf("%s/page%02d.html", home, i)
		w.Set(page, mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
			if ban && strings.HasPrefix(r.UserAgent(), "mirrord") {
				rw.WriteHeader(403)
				return
			}
			inner.ServeHTTP(rw, r)
		}})
	}
	s := m.Run()
	wantVerdict(t, s, mirror.Gaps, false)
	wantText(t, s, "status 403")
	if !maps.Equal(m.Stamps(), before) {
		t.Error("a ban changed the mirror")
	}
	m.Set("polite.user_agent", "archive-of-example (+http://www.example.com/bot)")
	wantVerdict(t, m.Run(), mirror.Complete, false)
}
