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
	"time"

	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

const spreadUse = `alternates_use = "spread"`

// spreadJob is a job that is bound by the delay of its hosts.
func spreadJob(keys ...string) string {
	return with(append(keys, fmt.Sprintf("alternates = [%q]", copyBase), `polite.delay = "2s"`,
		"polite.connections = 1", `polite.timeout = "10m"`)...)
}

// hostsOf counts requests of pages by host.
func hostsOf(log []mirrortest.Request) map[string]int {
	n := map[string]int{}
	for _, r := range log {
		if strings.HasSuffix(r.URL, ".html") {
			n[strings.Split(r.URL, "/")[2]]++
		}
	}
	return n
}

// wantGaps fails when two requests of one host were closer than the delay.
func wantGaps(t *testing.T, log []mirrortest.Request, least time.Duration) {
	t.Helper()
	last := map[string]time.Time{}
	for _, r := range log {
		host := strings.Split(r.URL, "/")[2]
		if at, ok := last[host]; ok && r.At.Sub(at) < least {
			t.Errorf("%s came %v after the request before it", r.URL, r.At.Sub(at))
		}
		last[host] = r.At
	}
}

// Two equal hosts bound by their delay give 1.7 times the pace of one, in the first run and in the next; each
// page says where it is from, and in the second run the origin is asked for what came from the replica.
func TestSpreadPace(t *testing.T) {
	pages := handbook(250)
	took := map[string]time.Duration{}
	for _, use := range []string{`alternates_use = "fallback"`, spreadUse} {
		inBubble(t, spreadJob(use), func(
			t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror,
		) {
			w.SetAll(home, pages)
			replicate(w, pages)
			start := time.Now()
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			took[use] = time.Since(start)
			log := w.Requests()
			wantGaps(t, log, 2*time.Second)
			n := hostsOf(log)
			if use != spreadUse {
				return
			}
			if len(m.Paths()) != len(pages) || n["mirror.example.net"] < 60 {
				t.Errorf("%d files, requests %v\n%s", len(m.Paths()), n, mirrortest.Text(s))
			}
			wantText(t, s, "answers are of "+copyBase+", which spreads the load")
			from := map[string]bool{}
			for p := range pages {
				rec := recordOf(t, m, home+p)
				from[p] = rec.Source != ""
				wrong := rec.Source != copyBase+p[1:] || !strings.Contains(rec.Reason, "equal the origin")
				if from[p] && wrong {
					t.Errorf("%s is of %q, because %q", p, rec.Source, rec.Reason)
				}
			}
			fake.Forget()
			start = time.Now()
			s = m.Run()
			wantVerdict(t, s, mirror.Complete, false)
			took["second"] = time.Since(start)
			asked := map[string]bool{}
			for _, r := range w.Requests() {
				asked[r.URL] = true
			}
			for p := range pages {
				if from[p] && !asked[home+p] {
					t.Errorf("%s came from the replica, and the origin was not asked in the next run", p)
				}
				if rec := recordOf(t, m, home+p); rec.Source != "" {
					t.Errorf("%s is still of %s", p, rec.Source)
				}
			}
			if s.Changed+s.Added+s.Removed != 0 {
				t.Errorf("%d changed, %d added, %d removed", s.Changed, s.Added, s.Removed)
			}
		})
	}
	one, two := took[`alternates_use = "fallback"`], took[spreadUse]
	t.Logf("one host %v, two %v, the second run %v", one, two, took["second"])
	if one < two*17/10 || one < took["second"]*17/10 {
		t.Errorf("one host took %v, two %v, the second run %v", one, two, took["second"])
	}
}

// A replica that turns bad in the middle of a run, or near its end, is left, and what came from it is
// requested again.
func TestSpreadTurnsBad(t *testing.T) {
	for _, good := range []int64{40, 64} {
		t.Run(fmt.Sprint(good), func(t *testing.T) { spreadTurnsBad(t, good) })
	}
}

func spreadTurnsBad(t *testing.T, good int64) {
	pages := handbook(160)
	want := mirrorOf(t, pages)
	inBubble(t, spreadJob(spreadUse), func(
		t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror,
	) {
		w.SetAll(home, pages)
		replicate(w, pages)
		var n atomic.Int64
		for p, page := range pages {
			if !strings.HasSuffix(p, ".html") {
				continue
			}
			w.Set(copyBase+p[1:], mirrortest.Page{Handle: func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "text/html; charset=utf-8")
				if n.Add(1) > good {
					fmt.Fprint(rw, "<title>Cheap watches</title>bad "+p)
					return
				}
				fmt.Fprint(rw, page.Body)
			}})
		}
		s := m.Run()
		wantVerdict(t, s, mirror.Complete, true)
		wantText(t, s, "no longer spreads the load", "has other bytes than the origin's", "requested again")
		for p, body := range m.Tree() {
			if strings.Contains(body, "Cheap watches") || body != want[p] {
				t.Errorf("%s is %.60q", p, body)
			}
		}
		for p := range pages {
			if rec := recordOf(t, m, home+p); rec.Source != "" {
				t.Errorf("%s is of %s", p, rec.Source)
			}
		}
		if len(s.Spread) > 0 || s.Fetched != int64(len(pages)) {
			t.Errorf("replicas gave %v, %d fetched, want %d", s.Spread, s.Fetched, len(pages))
		}
		w.Requests() // for a week it is not used
		fake.Forget()
		s = m.Run()
		if n := hostsOf(w.Requests()); n["mirror.example.net"] > 0 {
			t.Errorf("the replica was requested: %v", n)
		}
		wantText(t, s, "no longer spreads the load")
	})
}

// mirrorOf returns the tree of a site that one host gives.
func mirrorOf(t *testing.T, pages map[string]mirrortest.Page) map[string]string {
	t.Helper()
	w := mirrortest.Start(t)
	w.SetAll(home, pages)
	m := mirrortest.New(t, w, job())
	wantVerdict(t, m.Run(), mirror.Complete, true)
	return m.Tree()
}

// A replica that lies, or shows another content to each client, is never verified: nothing of it is in the
// mirror. One that forbids robots, answers nothing, or has an error page for everything is left, too.
func TestSpreadRefuses(t *testing.T) {
	pages := handbook(60)
	for _, c := range []struct {
		name, robots, want string
		page               func(p string, body string) mirrortest.Page
	}{
		{"another language", "", "has other bytes", func(p, body string) mirrortest.Page {
			return mirrortest.HTML("Seite", "<p>"+prose(len(p), 7))
		}},
		{"the other tenant of a content network", "", "has other bytes", func(p, body string) mirrortest.Page {
			return mirrortest.Page{Handle: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				if r.Host == "www.example.org" {
					fmt.Fprint(w, body)
					return
				}
				fmt.Fprint(w, "<title>Welcome</title><p>"+prose(len(p), 70))
			}}
		}},
		{"other type", "", "charset=iso-8859-7, the origin's is", func(p, body string) mirrortest.Page {
			header := map[string]string{"Content-Type": "text/html; charset=iso-8859-7"}
			return mirrortest.Page{Body: body, Header: header}
		}},
		{"no page", "", "in a row returned no file", func(p, body string) mirrortest.Page {
			return mirrortest.Status(404)
		}},
		{"redirects", "", "in a row returned no file", func(p, body string) mirrortest.Page {
			return mirrortest.Redirect(home + p)
		}},
		{"errors", "", "in a row returned no file", func(p, body string) mirrortest.Page {
			return mirrortest.Status(503)
		}},
		{"robots", "User-agent: *\nDisallow: /", "does not spread", func(p, body string) mirrortest.Page {
			return mirrortest.HTML("never requested", "")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, spreadJob(spreadUse), func(
				t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror,
			) {
				w.SetAll(home, pages)
				there := map[string]mirrortest.Page{}
				for p, page := range pages {
					there[p] = c.page(p, page.Body)
				}
				replicate(w, there)
				if c.robots != "" {
					w.Set(copyHost+"/robots.txt", mirrortest.Page{Body: c.robots})
				}
				s := m.Run()
				wantVerdict(t, s, mirror.Complete, true)
				if c.want != "" {
					wantText(t, s, c.want)
				}
				for p := range pages {
					if rec := recordOf(t, m, home+p); rec.Source != "" {
						t.Errorf("%s is of %s", p, rec.Source)
					}
				}
				if len(s.Spread) > 0 || s.Foreign > 0 {
					t.Errorf("replicas gave %v", s.Spread)
				}
				if n := hostsOf(w.Requests()); c.robots != "" && n["mirror.example.net"] > 0 {
					t.Errorf("robots.txt forbids it, %d requests", n["mirror.example.net"])
				}
			})
		})
	}
}

// Pages without a type are spread, too: what they are their bytes say on each host.
func TestSpreadUntyped(t *testing.T) {
	pages := handbook(120)
	for p, page := range pages {
		pages[p] = mirrortest.Page{Handle: func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = nil
			w.Header().Set("ETag", `"one"`)
			if r.Header.Get("If-None-Match") == `"one"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			fmt.Fprint(w, page.Body)
		}}
	}
	inBubble(t, spreadJob(spreadUse), func(
		t *testing.T, w *mirrortest.Web, _ *mirrortest.Fake, m *mirrortest.Mirror,
	) {
		w.SetAll(home, pages)
		replicate(w, pages)
		wantVerdict(t, m.Run(), mirror.Complete, true)
		s := m.Run() // compares with what the mirror has
		if rec := recordOf(t, m, home+"/p20.html"); rec.MIME != "text/html" || s.Spread[copyBase] < 20 {
			t.Errorf("%q; of the replica %v\n%s", rec.MIME, s.Spread, mirrortest.Text(s))
		}
	})
}

// What a replica has otherwise than the mirror, or not at all, the origin is asked for.
func TestSpreadOriginDecides(t *testing.T) {
	pages := handbook(120)
	inBubble(t, spreadJob(spreadUse), func(
		t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror,
	) {
		w.SetAll(home, pages)
		wantVerdict(t, m.Run(), mirror.Complete, true) // the replica has nothing
		there := maps.Clone(pages)
		for i := range 6 { // too few to be among the samples for sure
			delete(there, fmt.Sprintf("/p%02d.html", 20+i))
		}
		replicate(w, there)
		w.Set(copyHost+"/robots.txt", mirrortest.Page{Body: "User-agent: *\nDisallow: /pub/p5\n"})
		fake.Forget()
		w.Requests()
		s := m.Run()
		wantVerdict(t, s, mirror.Complete, false)
		if s.Gone+int64(s.Removed)+s.Failed != 0 || s.Spread[copyBase] < 20 {
			t.Errorf("%d gone, %d removed, %d failed, of the replica %v\n%s", s.Gone, s.Removed, s.Failed, s.Spread,
				mirrortest.Text(s))
		}
		for _, r := range w.Requests() {
			if strings.HasPrefix(r.URL, copyBase+"p5") {
				t.Errorf("%s is forbidden by robots.txt", r.URL)
			}
		}
	})
}

// A run that was interrupted resumes, and the replica turns bad: what it gave before is requested again, too.
// Killed just when that was found out, the next run knows it.
func TestSpreadInterrupted(t *testing.T) {
	pages := handbook(160)
	want := mirrorOf(t, pages)
	for _, again := range []bool{false, true} {
		inBubble(t, spreadJob(spreadUse), func(
			t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror,
		) {
			var n, stopAt atomic.Int64
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			serve := func(isBad bool) {
				for p, page := range pages {
					w.Set(copyBase+p[1:], mirrortest.Page{Handle: func(rw http.ResponseWriter, _ *http.Request) {
						rw.Header().Set("Content-Type", mirrortest.TypeOf(p))
						if strings.HasSuffix(p, "/") || strings.HasSuffix(p, ".html") {
							rw.Header().Set("Content-Type", "text/html; charset=utf-8")
						}
						if n.Add(1) == stopAt.Load() {
							stop()
						}
						if isBad || n.Load() > 30 {
							fmt.Fprint(rw, "bad "+p)
							return
						}
						fmt.Fprint(rw, page.Body)
					}})
				}
			}
			w.SetAll(home, pages)
			replicate(w, pages)
			stopAt.Store(40) // ten wrong pages have come
			serve(false)
			if _, err := m.RunWith(ctx, func(*mirror.Options) {}); err != nil {
				t.Fatal(err)
			}
			serve(true)
			if again { // the first sample says it
				n.Store(0)
				stopAt.Store(-1)
				ctx, stop := context.WithCancel(context.Background())
				defer stop()
				w.Hook(func(r *http.Request) {
					if n.Load() > 0 && r.Host == "www.example.org" {
						stop()
					}
				})
				s, err := m.RunWith(ctx, func(*mirror.Options) {})
				if err != nil || s.Verdict == mirror.Complete {
					t.Fatal(s, err)
				}
				w.Hook(nil)
			}
			stopAt.Store(-1)
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			wantText(t, s, "no longer spreads the load")
			for p, body := range m.Tree() {
				if body != want[p] {
					t.Errorf("%s is %.60q", p, body)
				}
			}
			m.Check()
		})
	}
}
