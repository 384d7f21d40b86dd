// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch"
	"mirrord/fetch/robots"
	"mirrord/mirror"
	"mirrord/mirror/source"
	"mirrord/scheduler/status"
	"mirrord/testing/badserver"
	"mirrord/testing/mirrortest"
)

// defaults are the keys of politeness as a job has them that says nothing.
const defaults = `
polite.delay = "250ms"
polite.connections = 2
polite.factor = 1.0
polite.max_delay = "1m"
limits.retries = 3
`

// robotsOnDisk keeps robots rules over the runs of a test, as the state of a daemon does.
type robotsOnDisk struct {
	mu sync.Mutex
	of map[string]robots.FileCopy
}

func (r *robotsOnDisk) LoadHost(origin string) (robots.FileCopy, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, ok := r.of[origin]
	return rec, ok, nil
}

func (r *robotsOnDisk) SaveHost(origin string, rec robots.FileCopy) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]robots.FileCopy{}
	}
	r.of[origin] = rec
	return nil
}

// age makes the rules old, or forgets them.
func (r *robotsOnDisk) age(stale, forget bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for origin, rec := range r.of {
		if stale {
			rec.Fetched = rec.Fetched.Add(-48 * time.Hour)
			r.of[origin] = rec
		}
	}
	if forget {
		clear(r.of)
	}
}

// outageRun makes a run with the client of the job, robots rules that outlive it, and a look at its progress.
func outageRun(t *testing.T, m *mirrortest.Mirror, rules *robotsOnDisk) (s *mirror.Summary, down []string) {
	t.Helper()
	c, err := source.NewClient(m.Job, m.World, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err = m.RunWith(context.Background(), func(o *mirror.Options) {
		o.Fetcher, o.Robots = c, source.NewRobots(m.Job, c, rules)
		o.Progress = func(p status.Progress) {
			if len(p.Down) > 0 {
				down = p.Down
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, down
}

// pagesOf is a site of an entry page and n pages.
func pagesOf(n int, edition *atomic.Int64) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/":
			for i := range n {
				fmt.Fprintf(rw, "<a href=p%d.html>%d</a> ", i, i)
			}
		case "/robots.txt", "/favicon.ico":
			http.NotFound(rw, r)
		default:
			fmt.Fprintf(rw, "<title>%s</title>edition %d", r.URL.Path, edition.Load())
		}
	}
}

// An origin that is down is found out within five requests, for any fault, also when its robots
// rules are known. How long that takes is in TestOutageTime.
func TestOutageFoundFast(t *testing.T) {
	for name, c := range map[string]foundFast{
		"refused":            {},
		"refused, old rules": {stale: true},
		"refused, no rules":  {unknown: true},
		"no TLS":             {tls: true, noTLS: true},
		"bad certificate": {
			tls:   true,
			fails: func(rw http.ResponseWriter, r *http.Request) {},
		},
		"503, old rules": {
			stale: true,
			fails: func(rw http.ResponseWriter, r *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) },
		},
		"silent, no rules": {
			unknown: true,
			fails:   func(rw http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		},
		"503": {
			fails: func(rw http.ResponseWriter, r *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) },
		},
		"522 of a CDN": {
			fails: func(rw http.ResponseWriter, r *http.Request) { rw.WriteHeader(522) },
		},
		"silent": {
			fails: func(rw http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.tls || (c.fails == nil) { // what the system says is wanted
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				c.play(t, l, l.Addr().String(), nil)
				return
			}
			synctest.Test(t, func(t *testing.T) {
				pipes := badserver.NewPipes()
				c.play(t, pipes, "down.example.org", pipes)
			})
		})
	}
}

// foundFast is an origin that is up in one run and down in the next.
type foundFast struct {
	fails   http.HandlerFunc // nil: no listener
	tls     bool             // the site has it in the first run
	noTLS   bool             // plain text where TLS was
	stale   bool             // the robots rules that are known are too old
	unknown bool             // no robots rules are known
}

func (c *foundFast) play(t *testing.T, l net.Listener, addr string, network fetch.Network) {
	t.Helper()
	var edition, requests atomic.Int64
	var failing atomic.Bool
	pages := pagesOf(34, &edition)
	handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if failing.Load() {
			c.fails(rw, r)
			return
		}
		pages(rw, r)
	})
	site := &httptest.Server{Listener: l, Config: &http.Server{Handler: handler}}
	url := "http://" + addr + "/"
	if c.tls {
		site.StartTLS()
		url = "https://" + addr + "/"
	} else {
		site.Start()
	}
	defer func() { site.Close() }()
	fast := "polite.allow_private = true\npolite.delay = \"0s\"\ntls.insecure = true\n"
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\n", url)+fast)
	m.World.Network = network
	rules := new(robotsOnDisk)
	s, _ := outageRun(t, m, rules)
	wantVerdict(t, s, mirror.Complete, true)
	m.SetJob(nil, fmt.Sprintf("url = %q\npolite.allow_private = true\n", url)+defaults)
	requests.Store(0)
	rules.age(c.stale, c.unknown)
	switch {
	case c.noTLS:
		site.Close()
		site = httptest.NewUnstartedServer(http.NotFoundHandler())
		site.Listener.Close()
		site.Listener = relisten(t, addr)
		site.Start()
	case c.fails == nil:
		site.Close()
	default:
		failing.Store(true)
	}
	s, down := outageRun(t, m, rules)
	wantVerdict(t, s, mirror.Partial, false)
	if s.Requests > 5 || requests.Load() > 5 {
		t.Errorf("%d requests, %d came", s.Requests, requests.Load())
	}
	if len(down) != 1 || !strings.HasSuffix(down[0], addr) {
		t.Errorf("progress says that %q are down", down)
	}
	if len(m.Paths()) != 35 {
		t.Errorf("%d files", len(m.Paths()))
	}
}

// relisten listens at an address that was in use until now.
func relisten(t *testing.T, addr string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Skip(err)
	}
	return l
}

// A site that turns silent in the middle of a run is found down within five requests, by a resumed run as
// well.
func TestOutageInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var edition, requests atomic.Int64
		pages := pagesOf(40, &edition)
		most := int64(1000)
		pipes := badserver.NewPipes()
		handler := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if requests.Add(1) > most {
				<-r.Context().Done()
				return
			}
			pages(rw, r)
		})
		site := &httptest.Server{Listener: pipes, Config: &http.Server{Handler: handler}}
		site.Start()
		defer site.Close()
		const url = "url = \"http://down.example.org/\"\n"
		m := mirrortest.New(t, nil, url+"polite.delay = \"0s\"\n")
		m.World.Network = pipes
		rules := new(robotsOnDisk)
		s, _ := outageRun(t, m, rules)
		wantVerdict(t, s, mirror.Complete, true)
		m.SetJob(nil, url+strings.Replace(defaults, "250ms", "10ms", 1))
		for most = 10; most >= 0; most -= 10 {
			requests.Store(0)
			s, _ = outageRun(t, m, rules)
			wantVerdict(t, s, mirror.Partial, false)
			if n := requests.Load() - most; n > 5 {
				t.Errorf("%d requests after the site turned silent", n)
			}
		}
	})
}

// inOutage is inBubble with the default politeness.
func inOutage(t *testing.T, f func(t *testing.T, w *mirrortest.Web, m *mirrortest.Mirror)) {
	t.Helper()
	with := func(t *testing.T, w *mirrortest.Web, _ *mirrortest.Fake, m *mirrortest.Mirror) { f(t, w, m) }
	inBubble(t, job(defaults), with)
}

// What answers badly for ever in one part of a site costs that part alone.
func TestOneSectionBroken(t *testing.T) {
	for name, broken := range map[string]mirrortest.Page{
		"500": mirrortest.Status(500),
		"reset": {Handle: func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inOutage(t, func(t *testing.T, w *mirrortest.Web, m *mirrortest.Mirror) {
				hub(w, 60)
				m.Set("limits.max_failures", "0.9")
				m.Run()
				for n := range 3 {
					for i := range 20 {
						w.Set(fmt.Sprintf("%s/page%02d.html", home, i+20), broken)
					}
					w.Set(home+"/page59.html", mirrortest.HTML("Last", fmt.Sprint("edition ", n)))
					s := m.Run()
					if s.Verdict == mirror.Partial || len(s.Down) > 0 {
						t.Errorf("run %d:\n%s", n, mirrortest.Text(s))
					}
					if text := m.Tree()["page59.html"]; !strings.Contains(text, fmt.Sprint("edition ", n)) {
						t.Errorf("run %d published %q", n, text)
					}
				}
			})
		})
	}
}

// What failed in three runs is requested once in each run, until it comes.
func TestBrokenForGood(t *testing.T) {
	for name, broken := range map[string]mirrortest.Page{
		"500":   mirrortest.Status(500),
		"reset": {Handle: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	} {
		t.Run(name, func(t *testing.T) {
			inOutage(t, func(t *testing.T, w *mirrortest.Web, m *mirrortest.Mirror) {
				hub(w, 40)
				m.Run()
				for i := range 3 {
					w.Set(fmt.Sprintf("%s/page%02d.html", home, 10*i), broken)
				}
				for n := range 5 {
					w.Requests()
					m.Run()
					asked := map[string]int{}
					for _, r := range w.Requests() {
						asked[r.URL]++
					}
					for i := range 3 {
						got := asked[fmt.Sprintf("%s/page%02d.html", home, 10*i)]
						if (got == 1) != (n >= 3) {
							t.Errorf("run %d: %d requests of a broken page", n, got)
						}
					}
				}
				hub(w, 40)
				s := m.Run()
				wantVerdict(t, s, mirror.Complete, s.Published)
				if s.Gaps.Count != 0 {
					t.Error(mirrortest.Text(s))
				}
			})
		})
	}
}

// slowBody sends the body of one URL slowly.
type slowBody struct {
	*mirrortest.Fake
	url        string
	size, rate int
}

func (f *slowBody) Do(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	if req.URL.String() != f.url {
		return f.Fake.Do(ctx, req, sink)
	}
	res := &fetch.Result{}
	res.Status, res.MIME, res.Length, res.Header = 200, "text/html", -1, http.Header{}
	w, err := sink.Begin(&res.Head)
	for n := 0; n < f.size && err == nil; n += f.rate {
		select {
		case <-time.After(time.Second):
			_, err = w.Write(make([]byte, f.rate))
		case <-ctx.Done():
			err = &fetch.Error{URL: req.URL, Class: fetch.ErrCanceled, Err: context.Cause(ctx)}
		}
	}
	res.Kept = err == nil
	return res, err
}

// A page that trickles is a failure of its own, and does not hold a run for minutes; one that is only slow
// comes.
func TestPageThatTrickles(t *testing.T) {
	for rate, want := range map[int]time.Duration{130: 70 * time.Second, 2000: 120 * time.Second} {
		inOutage(t, func(t *testing.T, w *mirrortest.Web, m *mirrortest.Mirror) {
			hub(w, 30)
			w.Set(home+"/", mirrortest.HTML("Home", "<a href=slow.html>slow</a>"+w.Page(home+"/").Body))
			f := &slowBody{&mirrortest.Fake{Web: w}, home + "/slow.html", 100_000, rate}
			m.Fetcher, m.Robots = f, f
			for range 3 {
				start := time.Now()
				s := m.Run()
				wantVerdict(t, s, mirror.Complete, s.Published)
				if d := time.Since(start); d > want {
					t.Errorf("at %d bytes per second the run took %v", rate, d)
				}
				if slow := m.Tree()["slow.html"]; (slow != "") != (rate > 1000) {
					t.Errorf("at %d bytes per second %d bytes came", rate, len(slow))
				}
			}
		})
	}
}

// deadOrigin answers as Fake until it is dead.
type deadOrigin struct {
	*mirrortest.Fake
	dead  bool
	class error         // of the failure; nil: the status 503
	sent  bool          // the request was sent, and no header came
	takes time.Duration // until it fails
	mu    sync.Mutex
	asked int
}

func (f *deadOrigin) Do(ctx context.Context, req fetch.Request, sink fetch.Sink) (*fetch.Result, error) {
	if !f.dead {
		return f.Fake.Do(ctx, req, sink)
	}
	f.mu.Lock()
	f.asked++
	f.mu.Unlock()
	res := &fetch.Result{}
	select {
	case <-time.After(f.takes):
	case <-ctx.Done():
		return res, &fetch.Error{URL: req.URL, Class: fetch.ErrCanceled, Err: context.Cause(ctx)}
	}
	switch {
	case f.class == nil:
		res.Status = http.StatusServiceUnavailable
		return res, nil
	case f.sent:
		return res, fetch.Unanswered(req.URL, f.takes)
	}
	return res, &fetch.Error{URL: req.URL, Class: f.class}
}

// An outage is found within ten seconds, a silent server within one header timeout (30 s) and a little, at
// the politeness of a job that says nothing.
func TestOutageTime(t *testing.T) {
	for name, c := range map[string]*struct {
		dead   deadOrigin
		within time.Duration
	}{
		"refused":     {deadOrigin{class: fetch.ErrRefused}, 10 * time.Second},
		"TLS":         {deadOrigin{class: fetch.ErrTLS, takes: time.Second}, 10 * time.Second},
		"no route":    {deadOrigin{class: fetch.ErrUnreachable, takes: time.Second}, 12 * time.Second},
		"unreachable": {deadOrigin{class: fetch.ErrTimeout, takes: 10 * time.Second}, 11 * time.Second},
		"503":         {deadOrigin{takes: 100 * time.Millisecond}, 10 * time.Second},
		"silent":      {deadOrigin{class: fetch.ErrTimeout, sent: true, takes: 30 * time.Second}, 31 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inOutage(t, func(t *testing.T, w *mirrortest.Web, m *mirrortest.Mirror) {
				hub(w, 40)
				f := &c.dead
				f.Fake = &mirrortest.Fake{Web: w}
				m.Fetcher, m.Robots = f, f
				wantVerdict(t, m.Run(), mirror.Complete, true)
				f.dead = true
				start := time.Now()
				wantVerdict(t, m.Run(), mirror.Partial, false)
				if d := time.Since(start); d > c.within || f.asked > 5 {
					t.Errorf("found after %v and %d requests", d, f.asked)
				}
			})
		})
	}
}
