// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch"
	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// inBubble makes a web and a mirror without network, in a bubble of time.
func inBubble(
	t *testing.T, toml string,
	f func(t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := mirrortest.NewWeb()
		fake := &mirrortest.Fake{Web: w, Takes: 50 * time.Millisecond}
		m := mirrortest.New(t, nil, toml)
		m.Fetcher, m.Robots = fake, fake
		f(t, w, fake, m)
	})
}

// with is job with keys of its own instead of those of a server of one's own.
func with(keys ...string) string { return job(keys...) }

// A host that is down costs a run a few attempts, not one wait for each of its URLs.
func TestHostDownInTheMiddle(t *testing.T) {
	inBubble(t, with(`polite.delay = "1s"`, `polite.max_delay = "60s"`), func(t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror) {
		hub(w, 60)
		s := m.Run()
		wantVerdict(t, s, mirror.Complete, true)
		files := len(m.Paths())
		fake.Forget()
		var n atomic.Int64
		down := true
		for i := range 60 {
			p := fmt.Sprintf("/page%02d.html", i)
			w.Set(home+p, mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
				if n.Add(1) > 20 && down {
					panic(http.ErrAbortHandler)
				}
				fmt.Fprintf(rw, "<title>%s</title>new", p)
			}})
		}
		// an answer to it would say that the host is up
		w.Set(home+"/favicon.ico", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
			if n.Load() > 20 && down {
				panic(http.ErrAbortHandler)
			}
			http.NotFound(rw, r)
		}})
		w.Requests()
		start := time.Now()
		s = m.Run()
		wantVerdict(t, s, mirror.Partial, false)
		wantText(t, s, "www.example.org was left for the next run", "left for the next run")
		if d := time.Since(start); d > 12*time.Minute {
			t.Errorf("the run took %v", d)
		}
		if k := n.Load(); k > 40 {
			t.Errorf("%d requests, 20 of them before the host went down", k)
		}
		if len(m.Paths()) != files {
			t.Error("the published tree changed")
		}
		down = false
		fake.Forget()
		w.Requests()
		s = m.Run()
		wantVerdict(t, s, mirror.Complete, true)
		if s.Changed != 60 || !s.Resumed {
			t.Error(mirrortest.Text(s))
		}
		if k := len(w.Requests()); k > 50 { // four of them a second time, to compare two answers
			t.Errorf("%d requests: what was answered before was asked again", k)
		}
	})
}

// Disallowed, capped or otherwise skipped URLs cost no waiting.
func TestNotAskedIsNotWaitedFor(t *testing.T) {
	inBubble(t, with(`polite.delay = "10s"`, "polite.connections = 1"), func(t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror) {
		var links strings.Builder
		for i := range 300 {
			fmt.Fprintf(&links, "<a href=/no/%d.html>x</a>", i)
		}
		w.Set(home+"/", mirrortest.HTML("Home", links.String()+"<a href=yes.html>y</a>"))
		w.Set(home+"/yes.html", mirrortest.HTML("Yes", ""))
		w.Set(home+"/robots.txt", mirrortest.Page{Body: "User-agent: *\nDisallow: /no/\n"})
		for range 2 {
			start := time.Now()
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, s.Published)
			if d := time.Since(start); d > 40*time.Second {
				t.Errorf("three requests took %v", d)
			}
			if n := len(w.Requests()); n != 3 && n != 2 {
				t.Errorf("%d requests", n)
			}
		}
	})
}

// The default politeness: at most two connections, a quarter of a second apart, and never faster than the
// host answers.
func TestDefaultPoliteness(t *testing.T) {
	toml := with(`polite.delay = "250ms"`, "polite.connections = 2", "polite.factor = 1.0",
		`polite.max_delay = "1m"`)
	inBubble(t, toml, func(t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror) {
		hub(w, 40)
		for i := range 40 {
			w.Set(fmt.Sprintf("%s/page%02d.html", home, i),
				mirrortest.HTML(fmt.Sprint(i), `<img src="http://cdn.example.org/1.png">`))
		}
		w.Set("http://cdn.example.org/1.png", mirrortest.Page{Body: "1"})
		fake.Takes = 400 * time.Millisecond
		wantVerdict(t, m.Run(), mirror.Complete, true)
		if n := fake.Most["www.example.org"]; n > 2 {
			t.Errorf("%d connections at a time", n)
		}
		var last time.Time
		for _, r := range w.Requests() {
			if !strings.HasPrefix(r.URL, home) {
				continue
			}
			if gap := r.At.Sub(last); !last.IsZero() && gap < 400*time.Millisecond {
				t.Errorf("%s came after %v, the host takes 400ms", r.URL, gap)
			}
			last = r.At
		}
	})
}

// Two jobs on one host share its politeness.
func TestTwoJobsOneHost(t *testing.T) {
	// Each run has a state and a fetcher of its own; the politeness is one.
	synctest.Test(t, func(t *testing.T) {
		w := mirrortest.NewWeb()
		hub(w, 20)
		h := newHosts()
		done := make(chan *mirror.Summary)
		for range 2 {
			fake := &mirrortest.Fake{Web: w, Takes: 10 * time.Millisecond}
			m := mirrortest.New(t, nil, with(`polite.delay = "1s"`, "polite.connections = 1"))
			m.Fetcher, m.Robots, m.Hosts = fake, fake, h
			go func() {
				s, err := m.RunWith(context.Background(), func(*mirror.Options) {})
				if err != nil {
					t.Error(err)
				}
				done <- s
			}()
		}
		for range 2 {
			if s := <-done; s.Verdict != mirror.Complete {
				t.Error(mirrortest.Text(s))
			}
		}
		log := w.Requests()
		slices.SortFunc(log, func(a, b mirrortest.Request) int { return a.At.Compare(b.At) })
		for i := 1; i < len(log); i++ {
			if gap := log[i].At.Sub(log[i-1].At); gap < time.Second {
				t.Errorf("%s came %v after %s", log[i].URL, gap, log[i-1].URL)
			}
		}
	})
}

// A window that closes makes the run pause, and one that opens makes it resume.
func TestWindow(t *testing.T) {
	inBubble(t, with(`polite.delay = "1m"`, "polite.connections = 1", `window = "00:00-00:10"`, `timezone = "UTC"`), func(t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror) {
		hub(w, 20) // the bubble begins at midnight UTC
		wantVerdict(t, m.Run(), mirror.Complete, true)
		log := w.Requests()
		for _, r := range log {
			if at := r.At.UTC(); at.Hour() != 0 || at.Minute() > 10 {
				t.Errorf("%s was asked at %v", r.URL, at)
			}
		}
		if d := log[len(log)-1].At.Sub(log[0].At); d < 24*time.Hour {
			t.Errorf("22 requests a minute apart took %v", d)
		}
	})
}

// A run that is over its time is partial and resumes later.
func TestMaxTime(t *testing.T) {
	inBubble(t, with(`polite.delay = "1m"`, "polite.connections = 1", `limits.max_time = "10m"`), func(t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror) {
		hub(w, 20)
		s := m.Run()
		wantVerdict(t, s, mirror.Partial, false)
		wantText(t, s, "max_time")
		fake.Forget()
		wantVerdict(t, m.Run(), mirror.Partial, false)
		fake.Forget()
		wantVerdict(t, m.Run(), mirror.Complete, true)
	})
}

// A URL that is known to fail says nothing about its host while others answer: it slows no run down. One that
// begins to fail does.
func TestKnownFailuresSlowNothing(t *testing.T) {
	for name, fails := range map[string]func(rw http.ResponseWriter){
		"broken": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"503":    func(rw http.ResponseWriter) { rw.WriteHeader(http.StatusServiceUnavailable) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, with(`polite.delay = "0s"`, "polite.factor = 0.0", "polite.connections = 1", `polite.max_delay = "60s"`), func(t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror) {
				m.Hosts = new(fetch.Hosts)
				hub(w, 60)
				var body strings.Builder
				for i := range 3 {
					fmt.Fprintf(&body, "<img src=/bad%d.png>", i)
					handle := func(rw http.ResponseWriter, _ *http.Request) { fails(rw) }
					w.Set(fmt.Sprintf("%s/bad%d.png", home, i), mirrortest.Page{Handle: handle})
				}
				w.Set(home+"/page00.html", mirrortest.HTML("pictures", body.String()))
				takes := func() time.Duration {
					start := time.Now()
					m.Run()
					d := time.Since(start)
					time.Sleep(time.Minute)
					return d
				}
				if d := takes(); d < 10*time.Second {
					t.Errorf("the first run, in which three URLs begin to fail, took %v", d)
				}
				for range 5 {
					takes()
				}
				if d := takes(); d > 5*time.Second {
					t.Errorf("a run with three URLs that are known to fail took %v", d)
				}
				if g := m.Hosts.Gap(home, fetch.Politeness{}); g != 0 {
					t.Errorf("it left a gap of %v", g)
				}
			})
		})
	}
}

// A run that insists makes one request of a host that asked to wait for long. It resumes when that is
// answered well; else the wait stands.
func TestInsist(t *testing.T) {
	for name, ofURL := range map[string]bool{"the host waits": false, "one page waits": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, with(`polite.delay = "0s"`, `polite.max_wait = "10m"`), func(t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror) {
				m.Hosts = new(fetch.Hosts)
				hub(w, 20)
				wantVerdict(t, m.Run(), mirror.Complete, true)
				busy := true
				for i := range 20 {
					if ofURL && i != 7 {
						continue
					}
					p := fmt.Sprintf("/page%02d.html", i)
					w.Set(home+p, mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
						if busy {
							rw.Header().Set("Retry-After", "7200")
							rw.WriteHeader(http.StatusTooManyRequests)
							return
						}
						fmt.Fprintf(rw, "<title>%s</title>new", p)
					}})
				}
				entry := w.Page(home + "/")
				w.Set(home+"/", mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
					if busy && !ofURL {
						rw.Header().Set("Retry-After", "7200")
						rw.WriteHeader(http.StatusTooManyRequests)
						return
					}
					rw.Header().Set("Content-Type", "text/html")
					fmt.Fprint(rw, entry.Body)
				}})
				m.Run()
				w.Requests()
				asked := func(insist bool) int {
					m.Job.Insist = insist
					m.Run()
					n := len(w.Requests())
					time.Sleep(time.Minute)
					return n
				}
				plain, tried := asked(false), asked(true)
				if tried != plain+1 {
					t.Errorf("while it waits: %d requests, %d of a run that insists", plain, tried)
				}
				if n := asked(false); n != plain {
					t.Errorf("afterwards %d requests: the wait does not stand", n)
				}
				busy = false
				if n := asked(false); n != plain {
					t.Errorf("it answers again, and a run that does not insist makes %d requests", n)
				}
				if n := asked(true); n < plain+2 {
					t.Errorf("it answers again, and a run that insists makes %d requests", n)
				}
				m.Hosts = new(fetch.Hosts) // of another process
				if n := asked(false); n <= plain {
					t.Errorf("a wait that has ended comes back: %d requests", n)
				}
				if !strings.Contains(fmt.Sprint(m.Tree()), "page07.html</title>new") {
					t.Error("the mirror does not have what could be had")
				}
			})
		})
	}
}
