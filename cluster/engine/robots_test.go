// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/cluster/engine"
	"mirrord/fetch"
	"mirrord/fetch/reach"
	"mirrord/site"
	"mirrord/store"
	"mirrord/testing/poll"
)

// robotsOf are the robots.txt of a cluster as a run has them.
type robotsOf struct{ *engine.Robots }

func (r robotsOf) LoadRobots(origin string) (fetch.RobotsRecord, bool, error) {
	f, ok, err := r.LoadHost(origin)
	return fetch.RobotsRecord{
		Origin:  origin,
		Status:  f.Status,
		Body:    f.Body,
		Fetched: f.Fetched,
	}, ok, err
}

func (r robotsOf) SaveRobots(rec fetch.RobotsRecord) error {
	return r.SaveHost(rec.Origin, store.HostFact{Fetched: rec.Fetched, Status: rec.Status, Body: rec.Body})
}

func (r robotsOf) ClaimRobots(ctx context.Context, origin string) (done func()) {
	return r.ClaimHost(ctx, origin)
}

// robotsServer counts who asks for robots.txt, in all and at a time.
type robotsServer struct {
	status    atomic.Int64
	all       atomic.Int64
	now, most atomic.Int64
}

func (s *robotsServer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.all.Add(1)
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	time.Sleep(100 * time.Millisecond) // so that two requests would be seen beside one another
	w.WriteHeader(int(s.status.Load()))
	w.Write([]byte("User-agent: *\nDisallow: /private\n"))
}

// Jobs of two nodes that need the same robots.txt at the same moment ask for it once. When it gets no
// response, each asks for itself, one after the other.
func TestRobotsAreAskedOnce(t *testing.T) {
	o := keepers(t, 1)
	var jobs []robotsOf
	for _, name := range []string{"a", "b"} {
		o.Node = name
		e := node(t, o)
		poll.Until(t, "it may act", func() bool { return e.Acting() })
		r, err := engine.OpenRobots(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, robotsOf{r}, robotsOf{r})
	}
	local := loopback(t)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second) // less than an abandoned claim
	defer cancel()
	for status, want := range map[int64]int64{200: 1, 404: 1, 503: 4} {
		s := new(robotsServer)
		s.status.Store(status)
		srv := httptest.NewServer(s)
		t.Cleanup(srv.Close)
		u, _, err := site.Parse(srv.URL + "/private")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for _, job := range jobs {
			wg.Go(func() {
				c, err := fetch.New(fetch.Options{Reach: local, Retries: -1})
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				rules, err := fetch.NewRobotsCache(c, fetch.RobotsOptions{Store: job}).Rules(ctx, u)
				if err != nil {
					t.Error(err)
					return
				}
				if ok, _ := rules.Permits(u); ok != (status == 404) {
					t.Errorf("status %d: permitted %t", status, ok)
				}
			})
		}
		wg.Wait()
		if s.all.Load() != want || s.most.Load() != 1 {
			t.Errorf("status %d: %d requests, want %d; %d at a time", status, s.all.Load(), want, s.most.Load())
		}
	}
}

// loopback lets a client reach this machine.
func loopback(t *testing.T) reach.Policy {
	t.Helper()
	r, err := reach.ParseRule("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return reach.Policy{Rules: []reach.Rule{r}}
}

// A claim ends with the session of its node, and after a bound.
func TestRobotsClaimEnds(t *testing.T) {
	o := keepers(t, 1)
	o.Node = "a"
	a := node(t, o)
	c := &ahead{began: time.Now()}
	o.Node, o.Now = "b", c.now
	b := node(t, o)
	poll.Until(t, "both may act", func() bool { return a.Acting() && b.Acting() })
	open := func(e *engine.Engine) *engine.Robots {
		r, err := engine.OpenRobots(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	ra, rb := open(a), open(b)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	ra.ClaimHost(ctx, "http://ended.example")
	if err := a.Lose(ctx); err != nil {
		t.Fatal(err)
	}
	rb.ClaimHost(ctx, "http://ended.example")()

	poll.Until(t, "it may act again", a.Acting)
	ra.ClaimHost(ctx, "http://slow.example")
	waited := make(chan func())
	go func() { waited <- rb.ClaimHost(ctx, "http://slow.example") }()
	select {
	case <-waited:
		t.Error("a claim counts for nothing")
	case <-time.After(200 * time.Millisecond):
		c.by.Store(int64(21 * time.Second))
		(<-waited)()
	}
	if ctx.Err() != nil {
		t.Error("a claim is waited for too long")
	}
}
