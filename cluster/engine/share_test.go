// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/cluster/engine"
	"mirrord/fetch"
	"mirrord/fetch/robots"
	"mirrord/testing/poll"
)

// ahead is a clock that tests put forward.
type ahead struct {
	began time.Time
	by    atomic.Int64
}

func (c *ahead) now() time.Duration { return time.Since(c.began) + time.Duration(c.by.Load()) }

func wanted(n int) map[string]string {
	sites := map[string]string{}
	for i := range n {
		sites[fmt.Sprintf("site%d", i)] = fmt.Sprintf("host%d.example", i)
	}
	return sites
}

// kill ends a node without a word.
func kill(t *testing.T, o engine.Options) (e *engine.Engine, kill func()) {
	t.Helper()
	e, err := engine.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		e.Run(ctx)
		close(done)
	}()
	return e, func() {
		e.Close()
		stop()
		<-done
	}
}

// Two nodes share the sites. When one is killed the other has all of them after a term, and leaves each host
// alone for the gap; when that one is drained a third has them.
func TestShare(t *testing.T) {
	t.Parallel()
	o := keepers(t, 1)
	o.Term.Gap = 3 * time.Second
	clocks := map[string]*ahead{}
	named := func(name string) engine.Options {
		with, c := o, &ahead{began: time.Now()}
		with.Node, with.Now, clocks[name] = name, c.now, c
		return with
	}
	a, killA := kill(t, named("a"))
	b := node(t, named("b"))
	sites := wanted(20)
	a.Want(sites, nil, "")
	b.Want(sites, nil, "")
	poll.Until(t, "both have half of the hosts", func() bool {
		n := len(a.Shared())
		return n >= 9 && n <= 11 && n+len(b.Shared()) == 20
	})
	of := a.Shared()
	for host := range b.Shared() {
		if of[host] {
			t.Errorf("both have %s", host)
		}
	}
	killA()
	killed := clocks["b"].now()
	poll.Until(t, "the other one has all hosts", func() bool {
		shared := b.Shared()
		for host := range of {
			if shared[host] && clocks["b"].now()-killed < o.Term.Gap {
				t.Fatalf("%s is to be run before the gap is over", host)
			}
		}
		return len(shared) == 20
	})
	for host := range of {
		if !b.Turn("www."+host, polite, time.Now()).IsZero() {
			t.Errorf("a run of %s has to wait", host)
		}
	}
	c := node(t, named("c"))
	c.Want(sites, nil, "")
	if err := b.Drain(t.Context(), "b", false); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "a drained node has no hosts", func() bool {
		return len(c.Shared()) == 20 &&
			len(b.Shared()) == 0
	})
	s, err := c.Look(t.Context())
	if err != nil || len(s.Nodes) != 2 || !s.Nodes[0].Drained || s.Nodes[1].Hosts != 20 || len(s.Keepers) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Without a depot the sites of a host stay on the node that has them.
func TestHomes(t *testing.T) {
	o := keepers(t, 1)
	o.Homes, o.Term.TTL = true, 10*time.Second
	sites := wanted(4)
	named := func(name string) engine.Options {
		with, c := o, &ahead{began: time.Now()}
		c.by.Store(int64(time.Hour)) // nodes that start together wait for a term
		with.Node, with.Now = name, c.now
		return with
	}
	a := node(t, named("a"))
	a.Want(sites, []string{"site0", "site1", "site2", "site3"}, "")
	poll.Until(t, "the sites on the disk are at home", func() bool { return len(a.Shared()) == 4 })
	b := node(t, named("b"))
	more := wanted(5)
	b.Want(more, []string{"site4"}, "")
	poll.Until(t, "the new site is at home", func() bool { return len(b.Shared()) == 1 })
	if len(a.Shared()) != 4 {
		t.Errorf("the first node has %v", a.Shared())
	}
	if _, err := a.Remove(t.Context(), "b"); !errors.Is(err, engine.ErrMember) {
		t.Errorf("a node that lives is removed: %v", err)
	}
	if n, err := a.Remove(t.Context(), "none"); n != 0 || !errors.Is(err, engine.ErrNoMember) {
		t.Errorf("%d, %v", n, err)
	}
}

// polite is a job's politeness.
var polite = fetch.Politeness{Delay: 30 * time.Millisecond, By: "job"}

// A host that is no site's is this node's as long as it is requested.
func TestForeignHost(t *testing.T) {
	o := keepers(t, 1)
	o.Node = "a"
	a := node(t, o)
	o.Node = "b"
	b := node(t, o)
	now := time.Now()
	turn := func(e *engine.Engine) bool { return e.Turn("img.cdn.example", polite, now).IsZero() }
	poll.Until(t, "the host is ours", func() bool { return turn(a) })
	poll.Until(t, "the other node need not wait", func() bool {
		if turn(b) {
			t.Fatal("two nodes request one host")
		}
		return turn(a) && b.Turn("img.cdn.example", polite, now).Sub(now) > time.Hour
	})
}

// A host that is another node's by now goes there, although this one requests it without a pause.
func TestHostLeaves(t *testing.T) {
	t.Parallel()
	o := keepers(t, 1)
	const host = "site.example"
	o.Node = "a"
	a := node(t, o)
	a.Want(map[string]string{"site": host}, nil, "")
	turn := func(e *engine.Engine) bool { return e.Turn(host, polite, time.Now()).IsZero() }
	poll.Until(t, "the first node has it", func() bool { return a.Shared()[host] && turn(a) })
	o.Node = "b"
	b := node(t, o)
	b.Want(map[string]string{"site": host}, nil, "")
	if err := a.Drain(t.Context(), "a", false); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the other node has it", func() bool { turn(a); return b.Shared()[host] })
	poll.Until(t, "it may be requested", func() bool { turn(a); return turn(b) })
	if turn(a) {
		t.Error("two nodes request one host")
	}
}

// arrivals are the requests that a host has seen.
type arrivals struct {
	mu      sync.Mutex
	last    time.Time
	least   time.Duration // between two of them, once three nodes ask
	of      map[string]int
	working int
	most    int // at a time, likewise
}

func (a *arrivals) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	now := time.Now()
	a.working++
	if d := now.Sub(a.last); min(a.of["/a"], a.of["/b"], a.of["/c"]) > 1 { // all are known to the lender
		a.most = max(a.most, a.working)
		if a.least == 0 || d < a.least {
			a.least = d
		}
	}
	a.last = now
	a.of[r.URL.Path]++
	a.mu.Unlock()
	time.Sleep(12 * time.Millisecond) // so that requests of two nodes would be seen beside one another
	a.mu.Lock()
	a.working--
	a.mu.Unlock()
}

func (a *arrivals) by(node string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of["/"+node]
}

// A host that one node requests for its own site is requested by two others as well, in turns that the first
// one lends: the gap holds between all requests, and none of the three has to wait until another is ready.
func TestTurnsLent(t *testing.T) {
	o := keepers(t, 1)
	seen := &arrivals{of: map[string]int{}}
	srv := httptest.NewServer(seen)
	defer srv.Close()
	const host = "127.0.0.1"
	nodes, hosts := map[string]*engine.Engine{}, map[string]*fetch.Hosts{}
	for _, name := range []string{"a", "b", "c"} {
		o.Node = name
		e := node(t, o)
		nodes[name], hosts[name] = e, &fetch.Hosts{Beyond: e}
		stop, err := e.Lend(hosts[name])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		e.Want(map[string]string{"site": host}, nil, "")
	}
	poll.Until(t, "one has the host", func() bool {
		return len(nodes["a"].Shared())+len(nodes["b"].Shared())+len(nodes["c"].Shared()) == 1
	})
	p := fetch.Politeness{Connections: 4, Delay: 25 * time.Millisecond, By: "job"}
	const wanted = 10
	ready := func() bool { return min(seen.by("a"), seen.by("b"), seen.by("c")) >= wanted }
	var wg sync.WaitGroup
	for name, h := range hosts {
		for range 2 { // two at a time, as jobs do that may
			wg.Go(func() {
				for end := time.Now().Add(time.Minute); !ready() && time.Now().Before(end); {
					ok, again := h.Acquire(host, p, time.Now())
					if !ok {
						// as a run waits for its turn
						time.Sleep(min(max(time.Until(again), time.Millisecond), 50*time.Millisecond))
						continue
					}
					res, err := http.Get(srv.URL + "/" + name)
					if err == nil {
						res.Body.Close()
					}
					h.Release(host, p, time.Now(), fetch.Observation{Status: 200, Duration: time.Millisecond})
				}
			})
		}
	}
	wg.Wait()
	if !ready() {
		t.Errorf("requests: %v", seen.of)
	}
	if seen.least < p.Delay {
		t.Errorf("two requests %v apart", seen.least)
	}
	if seen.most > 1 {
		t.Errorf("%d requests at a time", seen.most)
	}
}

// robots.txt that a node has fetched is there for the others.
func TestRobots(t *testing.T) {
	o := keepers(t, 1)
	open := func(name string) *engine.Robots {
		o.Node = name
		r, err := engine.OpenRobots(t.Context(), node(t, o))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a, b := open("a"), open("b")
	const origin = "https://host.example:8443"
	if _, ok, err := b.LoadHost(origin); ok || err != nil {
		t.Errorf("%t, %v", ok, err)
	}
	want := robots.FileCopy{Fetched: time.Now().UTC().Truncate(0), Status: 200, ETag: "x"}
	want.Body = bytes.Repeat([]byte("Disallow: /a\n"), 500<<10/13) // as large as it may be
	if err := a.SaveHost(origin, want); err != nil {
		t.Fatal(err)
	}
	got, ok, err := b.LoadHost(origin)
	if err != nil || !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%d bytes of %v, %t, %v", len(got.Body), got.Fetched, ok, err)
	}
}

// A host whose node does not know that it has it, because an answer was lost, goes to who wants it.
func TestUnanswered(t *testing.T) {
	o := keepers(t, 1)
	o.Node = "a"
	a := node(t, o)
	o.Node = "b"
	b := node(t, o)
	turn := func(e *engine.Engine) func() bool {
		return func() bool { return e.Turn("img.cdn.example", polite, time.Now()).IsZero() }
	}
	poll.Until(t, "the host is ours", turn(a))
	a.Unanswered("cdn.example")
	poll.Until(t, "the other node has it", turn(b))
}

// A node whose job files differ from those of the others is named, by the status and, after a term, in the
// log of each; it tells when they have changed.
func TestOtherJobFiles(t *testing.T) {
	o := keepers(t, 1)
	var log lockedBuffer
	c := &ahead{began: time.Now()}
	nodes := map[string]*engine.Engine{}
	for _, name := range []string{"a", "b", "c"} {
		with := o
		with.Node = name
		if name == "b" {
			with.Now, with.Log = c.now, slog.New(slog.NewTextHandler(&log, nil))
		}
		nodes[name] = node(t, with)
		nodes[name].Want(wanted(3), nil, "old")
	}
	since := map[string]time.Time{}
	differs := func() (names []string) {
		s, err := nodes["a"].Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range s.Nodes {
			since[n.Name] = n.Since
		}
		for _, n := range s.Nodes {
			if n.Differs {
				names = append(names, n.Name)
			}
		}
		if len(s.Nodes) != 3 {
			return []string{"?"}
		}
		return names
	}
	poll.Until(t, "all are members with the same files", func() bool { return differs() == nil })
	joined := maps.Clone(since)
	time.Sleep(time.Second) // since has seconds
	nodes["c"].Want(wanted(4), nil, "new")
	poll.Until(t, "one has others", func() bool { return slices.Equal(differs(), []string{"c"}) })
	if !maps.Equal(since, joined) {
		t.Errorf("sessions began at %v, and %v after other job files", joined, since)
	}
	const said = "other job files"
	poll.Until(t, "the log says so", func() bool {
		c.by.Add(int64(o.Term.TTL) / 10)
		time.Sleep(50 * time.Millisecond) // the nodes look at the clock now and then
		return strings.Contains(log.String(), said) && strings.Contains(log.String(), " node=b others=[c]")
	})
	if n := strings.Count(log.String(), said); n != 1 {
		t.Errorf("said %d times: %s", n, log.String())
	}
	nodes["a"].Want(wanted(4), nil, "new")
	nodes["b"].Want(wanted(4), nil, "new")
	poll.Until(t, "all have the new ones", func() bool { return differs() == nil })
}

// lockedBuffer is a buffer that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// BenchmarkAcquire takes and gives back the lease of a site of a host that the node has: what a run costs at
// the keepers.
func BenchmarkAcquire(b *testing.B) {
	o := keepers(b, 1)
	o.Node, o.Term = "a", engine.DefaultTerm()
	e := node(b, o)
	e.Want(map[string]string{"site": "host.example"}, nil, "")
	poll.Until(b, "a share", func() bool { return len(e.Shared()) > 0 })
	for b.Loop() {
		l, err := e.Acquire("site")
		if err == nil {
			err = l.Release()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
