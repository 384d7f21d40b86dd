// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/fetch/reach"
	"mirrord/fetch/robots"
	"mirrord/testing/badserver"
)

// clock is a wall clock that a test moves.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.at.Store(epoch.UnixNano())
	return c
}
func (c *clock) now() time.Time      { return time.Unix(0, c.at.Load()) }
func (c *clock) add(d time.Duration) { c.at.Add(int64(d)) }
func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	c.add(d)
	return context.Cause(ctx)
}

// robotsSite serves /robots.txt with the status and body last set; status 0 hangs up.
type robotsSite struct {
	*badserver.Server
	mu     sync.Mutex
	status int
	body   string
	fields []string
}

func newRobotsSite(t *testing.T) *robotsSite {
	s := &robotsSite{Server: badserver.Start(t), status: 200}
	s.Handle("/robots.txt", func(c *badserver.Conn, r *http.Request) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.status == 0 {
			c.Reset()
			return false
		}
		c.Answer(fmt.Sprintf("%d x", s.status), []byte(s.body), s.fields...)
		return true
	})
	return s
}

func (s *robotsSite) set(status int, body string, fields ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.body, s.fields = status, body, fields
}

type robotsStore map[string]robots.FileCopy

func (s robotsStore) LoadHost(origin string) (robots.FileCopy, bool, error) {
	r, ok := s[origin]
	return r, ok, nil
}

func (s robotsStore) SaveHost(origin string, r robots.FileCopy) error {
	s[origin] = r
	return nil
}

func robotsClient(t *testing.T, k *clock) *Client {
	return newClient(t, Options{
		Reach:   allowing(t, "127.0.0.1"),
		Retries: -1,
		Now:     k.now,
		Sleep:   k.sleep,
	})
}

const rulesText = "User-agent: mirrord\nDisallow: /private\nCrawl-delay: 7\nSitemap: http://a/map.xml\n"

func TestRobotsStatus(t *testing.T) {
	gzipped := string(badserver.Encode("gzip", []byte(rulesText)))
	large := append([]byte(rulesText), bytes.Repeat([]byte("#\n"), robots.ReadBytes)...)
	tests := []struct {
		name    string
		status  int
		body    string
		fields  []string
		private bool // /private may be requested
		public  bool
	}{
		{"rules", 200, rulesText, nil, false, true},
		{"none", 404, "", nil, true, true},
		{"forbidden is no rule", 403, rulesText, nil, true, true},
		{"too many requests", 429, "", nil, false, false},
		{"server error", 500, "", nil, false, false},
		{"unavailable", 503, "", nil, false, false},
		{"hangs up", 0, "", nil, false, false},
		{"redirect", 302, "", []string{"Location: /moved.txt"}, false, true},
		{"redirect loop", 302, "", []string{"Location: /robots.txt"}, true, true}, // RFC 9309 §2.3.1.2
		{"redirect to nowhere", 302, "", nil, true, true},
		{"redirect to a private address", 302, "", []string{"Location: http://169.254.169.254/robots.txt"},
			false, false},
		{"unknown coding", 200, rulesText, []string{"Content-Encoding: sdch"}, false, false},
		{"coded", 200, string(badserver.Encode("br", []byte(rulesText))), []string{"Content-Encoding: br"},
			false, true},
		{"empty", 200, "", nil, true, true},
		{"gzip that no field names", 200, gzipped, nil, false, true},
		{"gzip file", 200, gzipped, []string{"Content-Type: application/gzip"}, false, true},
		{"gzip file that is labelled so", 200, gzipped,
			[]string{"Content-Type: application/gzip", "Content-Encoding: gzip"}, false, true},
		{"gzip in gzip", 200, string(badserver.Encode("gzip", []byte(gzipped))),
			[]string{"Content-Encoding: gzip"}, false, true},
		{"gzip that ends early", 200, gzipped[:len(gzipped)-4], nil, false, true},
		{"gzip of more than counts", 200, string(badserver.Encode("gzip", large)), nil, false, true},
		{"begins as gzip", 200, "\x1f\x8b" + rulesText, nil, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newRobotsSite(t)
			s.set(tt.status, tt.body, tt.fields...)
			s.Handle("/moved.txt", func(c *badserver.Conn, _ *http.Request) bool {
				c.Answer("200 OK", []byte(rulesText))
				return true
			})
			k := newClock()
			got, err := NewRobotsCache(robotsClient(t, k), RobotsOptions{}).Rules(context.Background(),
				mustURL(t, s.URL+"/x"))
			if err != nil {
				t.Fatal(err)
			}
			private, rule := got.Allowed("/private")
			public, _ := got.Allowed("/public")
			if private != tt.private || public != tt.public {
				t.Errorf("private %v, public %v (%v)", private, public, rule)
			}
			if n := s.Hits("/robots.txt"); tt.name == "redirect loop" && n != 6 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// A host that asks for a short rest gets it, and its rules are known then.
func TestRobotsShortRest(t *testing.T) {
	s := badserver.Start(t)
	s.Handle("/robots.txt", func(c *badserver.Conn, _ *http.Request) bool {
		if c.Nth < 3 {
			c.Answer("503 Busy", nil, "Retry-After: 20")
			return true
		}
		c.Answer("200 OK", []byte(rulesText))
		return true
	})
	k := newClock()
	before := k.now()
	got := must(NewRobotsCache(robotsClient(t, k), RobotsOptions{}).Rules(context.Background(),
		mustURL(t, s.URL+"/")))
	if ok, rule := got.Allowed("/public"); !ok || k.now().Sub(before) != 40*time.Second {
		t.Errorf("%v after %v", rule, k.now().Sub(before))
	}
}

func TestRobotsHuge(t *testing.T) {
	s := badserver.Start(t)
	s.Alias("/robots.txt", "/robots-huge")
	got, err := NewRobotsCache(robotsClient(t, newClock()), RobotsOptions{}).Rules(context.Background(),
		mustURL(t, s.URL+"/"))
	if err != nil {
		t.Fatal(err)
	}
	if ok, _ := got.Allowed("/first"); ok || got.Status != 200 {
		t.Errorf("status %d, the first rule does not bind", got.Status)
	}
}

func TestRobotsLife(t *testing.T) {
	s := newRobotsSite(t)
	s.set(200, rulesText, `ETag: "r1"`)
	k := newClock()
	store := robotsStore{}
	u := mustURL(t, s.URL+"/x")
	cache := func() *RobotsCache {
		return NewRobotsCache(robotsClient(t, k), RobotsOptions{Store: store})
	}
	r := cache()
	rules := func(wantHits int, wantAllowed bool) *Robots {
		t.Helper()
		got, err := r.Rules(context.Background(), u)
		if err != nil {
			t.Fatal(err)
		}
		if s.Hits("/robots.txt") != wantHits {
			t.Fatalf("%d requests, want %d", s.Hits("/robots.txt"), wantHits)
		}
		if ok, rule := got.Allowed("/private"); ok != wantAllowed {
			t.Fatalf("allowed %v by %v", ok, rule)
		}
		return got
	}
	got := rules(1, false)
	if len(got.File.Sitemaps()) != 1 || got.Status != 200 || got.Took <= 0 {
		t.Errorf("%+v", got)
	}
	if d, ok := got.CrawlDelay(); !ok || d != 7*time.Second {
		t.Errorf("Crawl-delay %v, %v", d, ok)
	}
	k.add(23 * time.Hour)
	rules(1, false)
	r = cache() // another process: the store knows
	if got := rules(1, false); got.Took != 0 {
		t.Errorf("it took %v, and no request was made", got.Took)
	}
	k.add(2 * time.Hour) // past 24 h
	s.set(304, "")
	rules(2, false)
	log := s.Log()
	if got := log[len(log)-1].Header.Get("If-None-Match"); got != `"r1"` {
		t.Errorf("asked with %q", got)
	}
	k.add(25 * time.Hour)
	s.set(500, "")
	if got := rules(3, false); !got.Stale {
		t.Error("not marked as stale")
	}
	if ok, _ := must(r.Rules(context.Background(), u)).Allowed("/public"); !ok {
		t.Error("a moment's 500 ends the run in spite of a copy")
	}
	rules(3, false)
	k.add(11 * time.Minute)
	rules(4, false)            // looked at again
	k.add(31 * 24 * time.Hour) // the copy is too old now
	got = rules(5, false)      // /private
	if ok, rule := got.Allowed("/public"); ok {
		t.Errorf("allowed by %v", rule)
	}
	k.add(11 * time.Minute)
	s.set(404, "")
	if d, ok := rules(6, true).CrawlDelay(); ok {
		t.Errorf("the Crawl-delay %v outlives its file", d)
	}
}

// Rules that forbid the root of a site are looked at again after an hour, also those that another process
// has stored.
func TestRobotsClosed(t *testing.T) {
	s := newRobotsSite(t)
	k := newClock()
	store := robotsStore{}
	u := mustURL(t, s.URL+"/x")
	for _, c := range []struct {
		body string
		wait time.Duration
		hits int
		ok   bool
	}{
		{"User-agent: *\nDisallow: /\n", 0, 1, false},
		{"", 59 * time.Minute, 1, false},
		{"", 2 * time.Minute, 2, true},
		{"User-agent: *\nDisallow: /\n", 23 * time.Hour, 2, true},
		{"User-agent: other\nDisallow: /\n", 2 * time.Hour, 3, true},
		{"", 2 * time.Hour, 3, true},
	} {
		k.add(c.wait)
		s.set(200, c.body)
		r := NewRobotsCache(robotsClient(t, k), RobotsOptions{Store: store})
		for range 2 {
			got := must(r.Rules(context.Background(), u))
			if ok, _ := got.Allowed("/x"); ok != c.ok || s.Hits("/robots.txt") != c.hits {
				t.Errorf("%q: allowed %v after %d requests, want %v after %d", c.body, ok, s.Hits("/robots.txt"),
					c.ok, c.hits)
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestRobotsStrictWithoutStale(t *testing.T) {
	s := newRobotsSite(t)
	s.set(200, rulesText)
	k := newClock()
	r := NewRobotsCache(robotsClient(t, k), RobotsOptions{Store: robotsStore{}})
	u := mustURL(t, s.URL+"/x")
	must(r.Rules(context.Background(), u))
	k.add(31 * 24 * time.Hour)
	s.set(503, "", "Retry-After: 3600")
	got := must(r.Rules(context.Background(), u))
	if ok, _ := got.Allowed("/public"); ok {
		t.Error("allowed")
	}
	if d := got.Expires.Sub(k.now()); d != time.Hour {
		t.Errorf("looked at again in %v, Retry-After says an hour", d)
	}
}

type failingStore struct{}

func (failingStore) LoadHost(string) (robots.FileCopy, bool, error) {
	return robots.FileCopy{}, false, io.ErrUnexpectedEOF
}
func (failingStore) SaveHost(string, robots.FileCopy) error { return io.ErrShortWrite }

func TestRobotsStoreFails(t *testing.T) {
	s := newRobotsSite(t)
	s.set(200, rulesText)
	r := NewRobotsCache(robotsClient(t, newClock()), RobotsOptions{Store: failingStore{}})
	if ok, _ := must(r.Rules(context.Background(), mustURL(t, s.URL+"/"))).Allowed("/private"); ok {
		t.Error("allowed")
	}
}

// Many ask at once, one request is made; the one that makes it may give up without harm to the others.
func TestRobotsOneRequest(t *testing.T) {
	release, arrived := make(chan struct{}), make(chan struct{})
	var hits atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hits.Add(1) == 1 {
			close(arrived)
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		io.WriteString(w, rulesText)
	}))
	defer s.Close()
	r := NewRobotsCache(newClient(t, Options{Reach: reach.Policy{All: true}, Retries: -1}), RobotsOptions{})
	u := mustURL(t, s.URL+"/x")

	ctx, cancel := context.WithCancel(context.Background())
	leader := make(chan error, 1)
	go func() { _, err := r.Rules(ctx, u); leader <- err }()
	<-arrived
	var wg sync.WaitGroup
	for range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if ok, _ := must(r.Rules(context.Background(), u)).Allowed("/private"); ok {
				t.Error("allowed")
			}
		}()
	}
	cancel()
	if err := <-leader; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that gave up: %v", err)
	}
	close(release)
	wg.Wait()
	if n := hits.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// The caller has the turn, and the delay lies between redirects.
func TestRobotsDelay(t *testing.T) {
	s := newRobotsSite(t)
	k := newClock()
	s.set(302, "", "Location: /robots.txt")
	before := k.now()
	must(NewRobotsCache(robotsClient(t, k), RobotsOptions{Delay: 5 * time.Second}).Rules(context.Background(),
		mustURL(t, s.URL+"/")))
	if d := k.now().Sub(before); d != 25*time.Second {
		t.Errorf("six requests in %v", d)
	}
}
