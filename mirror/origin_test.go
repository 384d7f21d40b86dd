// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/fetch"
	"mirrord/mirror"
	"mirrord/testing/mirrortest"
)

// A part of a site of which each URL asks to be left alone for a day does not starve the rest: what was not
// asked comes before what failed.
func TestRetryAfterOfOnePart(t *testing.T) {
	inBubble(t, with(`polite.delay = "1s"`, `polite.max_wait = "10m"`), func(t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror) {
		hub(w, 60)
		for i := range 10 {
			w.Set(fmt.Sprintf("%s/page%02d.html", home, i), mirrortest.Page{
				Status: 503,
				Header: map[string]string{"Retry-After": "86400"},
			})
		}
		for n := 1; ; n++ {
			if s := m.Run(); s.Published {
				if s.Files < 51 {
					t.Errorf("%d files were published", s.Files)
				}
				break
			} else if n == 6 {
				t.Fatalf("nothing is published after %d runs:\n%s", n, mirrortest.Text(s))
			}
		}
		w.Set(home+"/page55.html", mirrortest.HTML("News", "news"))
		for range 3 {
			m.Run()
		}
		if text := m.Tree()["page55.html"]; !strings.Contains(text, "news") {
			t.Error("the rest of the site is not kept fresh")
		}
	})
}

// closedPort returns an address of this machine without a listener.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Pages of a site that link to its https, which is dead, and to a closed port of the same host are published
// without these, in the first run and later.
func TestDeadOriginsOfOwnHost(t *testing.T) {
	dead, closed := closedPort(t), closedPort(t)
	var version atomic.Int64
	version.Store(1)
	site := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch {
		case r.URL.Path == "/robots.txt":
			http.NotFound(rw, r)
		case r.URL.Path == "/":
			for i := range 30 {
				fmt.Fprintf(rw, "<a href=p%d.html>%d</a> ", i, i)
			}
		default:
			name := strings.Trim(r.URL.Path, "/")
			fmt.Fprintf(rw, "<title>%s</title>edition %d <a href=https://%s/%s>safe</a> <img src=http://%s/%s.png>",
				name, version.Load(), dead, name, closed, name)
		}
	}))
	defer site.Close()
	m := mirrortest.New(t, nil,
		fmt.Sprintf("url = %q\nscope = [%q, %q]\nrequisites = \"any\"\npolite.allow_private = true\n", site.URL+"/",
			site.URL+"/", "https://"+dead+"/"))
	s := m.Run()
	wantVerdict(t, s, mirror.Gaps, true)
	wantText(t, s, "servers that gave no answer", "missing: https://"+dead+" (30 URLs",
		"missing: http://"+closed)
	if text := m.Tree()["p7.html"]; !strings.Contains(text, "https://"+dead+"/p7.html") ||
		!strings.Contains(text, "edition 1") {
		t.Errorf("p7.html is %q", text)
	}
	version.Store(2)
	s = m.Run()
	wantVerdict(t, s, mirror.Gaps, true)
	if s.Changed != 30 {
		t.Error(mirrortest.Text(s))
	}
	site.Close() // when the site is down as well, only that is a reason
	s = m.Run()
	wantVerdict(t, s, mirror.Partial, false)
	if len(s.Reasons) != 1 || !strings.Contains(s.Reasons[0], site.URL+" was left for the next run") {
		t.Errorf("%q", s.Reasons)
	}
}

// A port of the site's own host that gave pages and is closed now does not keep the rest from being
// published; its pages stay.
func TestOriginOfOwnHostDies(t *testing.T) {
	page := func(edition *atomic.Int64, links string) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Content-Type", "text/html; charset=utf-8")
			if r.URL.Path == "/robots.txt" {
				http.NotFound(rw, r)
				return
			}
			fmt.Fprintf(rw, "<title>%s</title>edition %d %s", r.URL.Path, edition.Load(), links)
		})
	}
	var edition atomic.Int64
	edition.Store(1)
	other := httptest.NewServer(page(&edition, ""))
	defer other.Close()
	var links strings.Builder
	for i := range 12 {
		fmt.Fprintf(&links, "<a href=%s/x%d.html>x</a> <a href=p%d.html>p</a> ", other.URL, i, i)
	}
	site := httptest.NewServer(page(&edition, links.String()))
	defer site.Close()
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\nscope = [%q, %q]\npolite.allow_private = true\n",
		site.URL+"/", site.URL+"/", other.URL+"/"))
	first := m.Run()
	wantVerdict(t, first, mirror.Complete, true)
	if first.Files < 24 {
		t.Fatal(mirrortest.Text(first))
	}
	other.Close()
	for n := int64(2); n < 6; n++ {
		edition.Store(n)
		s := m.Run()
		if n < 4 {
			wantVerdict(t, s, mirror.Gaps, true)
		} else { // written off
			wantVerdict(t, s, mirror.Complete, true)
			wantText(t, s, "complete but for 1 accepted as missing (since")
		}
		if text := m.Tree()["p3.html"]; !strings.Contains(text, fmt.Sprint("edition ", n)) {
			t.Errorf("run %d published %q", n, text)
		}
		if s.Files != first.Files {
			t.Errorf("run %d: %d files, %d before", n, s.Files, first.Files)
		}
	}
}

// A host that asks to be left alone for a day is not requested before, and then what was not requested comes
// first.
func TestRetryAfterOfTheHost(t *testing.T) {
	for _, status := range []int{429, 503} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			keys := job(`polite.delay = "1s"`, `polite.max_wait = "10m"`)
			inBubble(t, keys, func(t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror) {
				waitOfAHost(t, w, m, status)
			})
		})
	}
}

// A host that allows so many requests a minute, and says so without a Retry-After, gives all of its pages: no
// URL fails because it met the end of a minute twice. A URL that always answers so is a failure.
func TestRequestsAMinute(t *testing.T) {
	for _, status := range []int{429, 503} {
		keys := job(`polite.delay = "250ms"`, `polite.max_delay = "1m"`)
		inBubble(t, keys, func(t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror) {
			hub(w, 99)
			begin := time.Now()
			in, last := 0.0, begin
			fake.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				now := time.Now()
				switch {
				case status == http.StatusServiceUnavailable: // as limit_req of nginx: a bucket that leaks
					in = max(0, in-now.Sub(last).Minutes()*20)
					last = now
				case now.Sub(last) > time.Minute:
					in, last = 0, now
				}
				if in > 19 || r.URL.Path == "/page50.html" {
					rw.WriteHeader(status)
					return
				}
				in++
				w.ServeHTTP(rw, r)
			})
			s := m.Run()
			wantVerdict(t, s, mirror.Complete, true)
			if s.Failed != 1 || len(m.Paths()) != 99 {
				t.Errorf("%d failed, %d files\n%s", s.Failed, len(m.Paths()), mirrortest.Text(s))
			}
			if d := time.Since(begin); d > 20*time.Minute {
				t.Errorf("the run took %v", d)
			}
		})
	}
}

func waitOfAHost(t *testing.T, w *mirrortest.Web, m *mirrortest.Mirror, status int) {
	m.Hosts = new(fetch.Hosts)
	hub(w, 30)
	wantVerdict(t, m.Run(), mirror.Complete, true)
	var n atomic.Int64
	most := int64(12)
	limited := func(text string) mirrortest.Page {
		return mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
			if n.Add(1) > most {
				rw.Header().Set("Retry-After", "86400")
				rw.WriteHeader(status)
				return
			}
			rw.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(rw, text)
		}}
	}
	for i := range 30 {
		p := fmt.Sprintf("%s/page%02d.html", home, i)
		w.Set(p, limited("<title>new "+p+"</title>new"))
	}
	w.Set(home+"/", limited(w.Page(home+"/").Body))
	w.Set(home+"/favicon.ico", limited(""))
	start := time.Now()
	s := m.Run()
	wantVerdict(t, s, mirror.Partial, false)
	if d := s.WaitUntil.Sub(start); d < 24*time.Hour || d > 25*time.Hour || n.Load() > 12+5 {
		t.Errorf("the host waits for %v, after %d requests", d, n.Load())
	}
	w.Requests()
	time.Sleep(time.Hour)
	if status == http.StatusServiceUnavailable {
		m.Hosts = new(fetch.Hosts) // of another process
	}
	begin := time.Now()
	s = m.Run()
	wantVerdict(t, s, mirror.Partial, false)
	tooSoon := s.WaitUntil.Sub(start) < 24*time.Hour
	if n := len(w.Requests()); n > 0 || time.Since(begin) > time.Minute || tooSoon {
		t.Errorf("%d requests in %v, and a wait until %v", n, time.Since(begin), s.WaitUntil)
	}
	time.Sleep(24 * time.Hour)
	n.Store(0)
	m.Run()
	log := w.Requests()
	if len(log) < 12 {
		t.Fatalf("%d requests after the wait", len(log))
	}
	for _, r := range log[:12] {
		if r.Status != http.StatusOK {
			t.Errorf("%s answers %d", r.URL, r.Status)
		}
	}
	for range 3 {
		s = m.Run()
		if s.Verdict == mirror.Complete {
			break
		}
		time.Sleep(25 * time.Hour)
		n.Store(0)
	}
	wantVerdict(t, s, mirror.Complete, true)
}

// An origin of images that is dead is requested in three runs, then in every eighth; when it answers again,
// all of it comes back. Meanwhile its copies stay, and pages that it never gave are linked to where they are.
func TestOriginWrittenOff(t *testing.T) {
	for _, policy := range []string{"full", "adaptive"} {
		t.Run(policy, func(t *testing.T) {
			inBubble(t, writtenOffJob(policy),
				func(t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror) {
					writtenOff(t, w, fake, m)
				})
		})
	}
}

func writtenOffJob(policy string) string {
	return fmt.Sprintf("url = %q\nrequisites = \"any\"\npolicy = %q\n", home+"/", policy) + defaults
}

func writtenOff(t *testing.T, w *mirrortest.Web, fake *mirrortest.Fake, m *mirrortest.Mirror) {
	const cdn = "http://cdn.example.net"
	var links strings.Builder
	for i := range 12 {
		fmt.Fprintf(&links, "<img src=%s/%d.png>", cdn, i)
		if i < 6 {
			w.Set(fmt.Sprintf("%s/%d.png", cdn, i), mirrortest.Page{Body: fmt.Sprint(i)})
		}
	}
	w.Set(home+"/", mirrortest.HTML("Home", links.String()))
	run := func(n int) (s *mirror.Summary, atCDN int) {
		time.Sleep(24 * time.Hour)
		fake.Forget()
		w.Set(home+"/", mirrortest.HTML("Home", fmt.Sprintf("edition %d %s", n, links.String())))
		w.Requests()
		s = m.Run()
		for _, r := range w.Requests() {
			if strings.HasPrefix(r.URL, cdn) {
				atCDN++
			}
		}
		return s, atCDN
	}
	s, _ := run(1)
	wantVerdict(t, s, mirror.Complete, true)
	down := func() {
		panic(http.ErrAbortHandler)
	}
	dead := true
	for _, p := range append([]string{"robots.txt"}, names(12, "%d.png")...) {
		w.Set(cdn+"/"+p, mirrortest.Page{Handle: func(rw http.ResponseWriter, r *http.Request) {
			if dead {
				down()
			}
			fmt.Fprint(rw, "new")
		}})
	}
	var asked []int
	for n := 2; n <= 14; n++ {
		s, k := run(n)
		want := mirror.Complete
		if n < 4 {
			want = mirror.Gaps
		}
		wantVerdict(t, s, want, true)
		if asked = append(asked, k); k > 1 {
			t.Errorf("run %d: %d requests at a dead server", n, k)
		}
		if text := m.Tree()["index.html"]; !strings.Contains(text, fmt.Sprint("edition ", n)) ||
			!strings.Contains(text, cdn+"/11.png") || strings.Contains(text, cdn+"/3.png") {
			t.Fatalf("run %d published %q", n, text)
		}
		if n >= 4 {
			wantText(t, s, "without an answer in 3 runs or more")
		}
	}
	if got, want := fmt.Sprint(asked), "[1 1 1 0 0 0 0 0 0 0 1 0 0]"; got != want {
		t.Errorf("requests by run %s, want %s", got, want)
	}
	dead = false
	for n := 15; n <= 20; n++ {
		s, _ = run(n)
	}
	if text := m.Tree()["index.html"]; strings.Contains(text, cdn) {
		t.Errorf("the server answers, and run 20 published %q\n%s", text, mirrortest.Text(s))
	}
}

// names are n names by a format.
func names(n int, format string) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}
