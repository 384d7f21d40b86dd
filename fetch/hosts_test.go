// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func answered(d time.Duration) Observation { return Observation{Duration: d, Status: 200} }

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// at asks for a turn at a time and wants the answer.
func at(t *testing.T, h *Hosts, p Politeness, now time.Time, ok bool, wait time.Duration) {
	t.Helper()
	gotOK, until := h.Acquire("h", p, now)
	if gotOK != ok || (!ok && until.Sub(now) != wait) {
		t.Fatalf("at %v: got %v, wait %v; want %v, wait %v", now.Sub(epoch), gotOK, until.Sub(now), ok, wait)
	}
}

func TestGap(t *testing.T) {
	tests := []struct {
		name string
		p    Politeness
		o    Observation
		want time.Duration // from Release to the next start
	}{
		{"delay", Politeness{Delay: 2 * time.Second}, answered(time.Second), 2 * time.Second},
		{"factor", Politeness{Delay: time.Second, Factor: 5}, answered(time.Second), 5 * time.Second},
		{"factor within its cap", Politeness{
			Factor:   5,
			MaxDelay: 3 * time.Second,
		}, answered(time.Second), 3 * time.Second},
		{"delay above the cap", Politeness{
			Delay:    9 * time.Second,
			MaxDelay: 3 * time.Second,
		}, answered(time.Second), 9 * time.Second},
		{"nothing at a server of ours", Politeness{Connections: 16}, answered(time.Second), 0},
		{"first 503", Politeness{Delay: 100 * time.Millisecond}, Observation{Status: 503}, time.Second},
		{"429 doubles a long gap", Politeness{Delay: 10 * time.Second}, Observation{Status: 429}, 20 * time.Second},
		{"broken connection", Politeness{}, Observation{Err: &Error{Class: ErrReset}}, time.Second},
		{"a 503 at a server of ours", Politeness{Connections: 16}, Observation{Status: 503}, time.Second},
		{"truncated body is no distress", Politeness{Delay: time.Second},
			Observation{Err: &Error{Class: ErrTruncated}}, time.Second},
		{"404 does not count", Politeness{Delay: time.Second}, Observation{Status: 404}, time.Second},
		{"retry-after", Politeness{Delay: time.Second}, Observation{
			Status:     503,
			RetryAfter: time.Minute,
		}, time.Minute},
		{"retry-after for a year", Politeness{}, Observation{
			Status:     503,
			RetryAfter: 8760 * time.Hour,
		}, 24 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var h Hosts
			at(t, &h, tt.p, epoch, true, 0)
			end := epoch.Add(time.Hour)
			h.Release("h", tt.p, end, tt.o)
			if tt.want > 0 {
				at(t, &h, tt.p, end, false, tt.want)
				at(t, &h, tt.p, end.Add(tt.want-1), false, 1)
			}
			at(t, &h, tt.p, end.Add(tt.want), true, 0)
		})
	}
}

func TestGapBetweenStarts(t *testing.T) {
	var h Hosts
	p := Politeness{Connections: 2, Delay: time.Second}
	at(t, &h, p, epoch, true, 0)
	at(t, &h, p, epoch, false, time.Second)
	at(t, &h, p, epoch.Add(time.Second), true, 0)
	if ok, _ := h.Acquire("h", p, epoch.Add(time.Hour)); ok {
		t.Error("three connections")
	}
	if ok, _ := h.Acquire("other", p, epoch); !ok {
		t.Error("one host waits for another")
	}
}

func TestCrawlDelay(t *testing.T) {
	var h Hosts
	p := Politeness{Connections: 16}
	at(t, &h, p, epoch, true, 0)
	h.Release("h", p, epoch, answered(time.Millisecond))
	h.SetCrawlDelay("h", 30*time.Second) // the answer was robots.txt
	at(t, &h, p, epoch, false, 30*time.Second)
	now := epoch.Add(30 * time.Second)
	at(t, &h, p, now, true, 0)
	if ok, until := h.Acquire("h", p, now.Add(20*time.Second)); ok || until.Before(now.Add(30*time.Second)) {
		t.Error("a second connection in spite of Crawl-delay")
	}
	h.Release("h", p, now.Add(40*time.Second), answered(time.Millisecond))
	at(t, &h, p, now.Add(40*time.Second), false, 30*time.Second)
	if g := h.Gap("h", p); g != 30*time.Second {
		t.Errorf("gap %v", g)
	}
	h.SetCrawlDelay("h", 5*time.Second) // another job's, or the other scheme's
	if g := h.Gap("h", p); g != 30*time.Second {
		t.Errorf("gap %v", g)
	}
	at(t, &h, p, now.Add(30*time.Hour), true, 0)
	h.SetCrawlDelay("h", 0) // fetched again
	if g := h.Gap("h", Politeness{Delay: 2 * time.Second}); g != 2*time.Second {
		t.Errorf("gap %v", g)
	}
	if g := h.Gap("unknown", polite()); g != polite().Delay {
		t.Errorf("gap %v", g)
	}
}

func TestPenaltyGrowsAndShrinks(t *testing.T) {
	var h Hosts
	p := Politeness{Connections: 16, MaxDelay: 60 * time.Second}
	now := epoch
	turn := func(o Observation) time.Duration {
		ok, until := h.Acquire("h", p, now)
		if !ok {
			now = until
			ok, _ = h.Acquire("h", p, now)
		}
		if !ok {
			t.Fatal("no turn at the promised time")
		}
		h.Release("h", p, now, o)
		return h.Gap("h", p)
	}
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if got := turn(Observation{Status: 503}); got != want*time.Second {
			t.Fatalf("gap %v, want %vs", got, int(want))
		}
	}
	last := 60 * time.Second
	for i := 0; ; i++ {
		got := turn(answered(time.Millisecond))
		if got >= last {
			t.Fatalf("gap %v after %v", got, last)
		}
		if last = got; got == 0 {
			if i < 20 || i > 80 {
				t.Errorf("recovered after %d answers", i)
			}
			break
		}
	}
}

// A host that rests loses half of its penalty in ten minutes. To wait for its turn is no rest.
func TestPenaltyRests(t *testing.T) {
	p := Politeness{Connections: 16, MaxDelay: 20 * time.Minute}
	for _, c := range []struct {
		retryAfter, idle, want time.Duration
	}{
		{0, 0, 1024 * time.Second},
		{0, 9 * time.Minute, 1024 * time.Second},
		{0, 10 * time.Minute, 512 * time.Second},
		{0, 39 * time.Minute, 128 * time.Second},
		{time.Hour, 0, 1024 * time.Second},
		{time.Hour, 20 * time.Minute, 256 * time.Second},
		{0, 200 * time.Hour, 0},
	} {
		var h Hosts
		now := epoch
		for range 11 {
			at(t, &h, p, now, true, 0)
			h.Release("h", p, now, Observation{Status: 503, RetryAfter: c.retryAfter})
			_, now = h.Acquire("h", p, now)
		}
		at(t, &h, p, now.Add(c.idle), true, 0)
		if got := h.hosts["h"].origins["h"].penalty.gap; got != c.want {
			t.Errorf("after a wait of %v and %v more: penalty %v, want %v", c.retryAfter, c.idle, got, c.want)
		}
	}
}

// A Retry-After binds the host when the answer says to come back later, not beside a page or a redirect.
func TestRetryAfterOfPages(t *testing.T) {
	for status, want := range map[int]time.Duration{
		200: 0, 304: 0, 301: 0, 404: 0,
		429: time.Hour, 503: time.Hour,
	} {
		res := &Result{Head: Head{Status: status}, RetryAfter: time.Hour, HasRetryAfter: true}
		if got := Observe(res, nil).RetryAfter; got != want {
			t.Errorf("status %d: %v, want %v", status, got, want)
		}
	}
}

func TestFailuresAtOnceAreOneSign(t *testing.T) {
	var h Hosts
	p := Politeness{Connections: 16}
	for range 16 {
		h.Acquire("h", p, epoch)
	}
	for range 16 {
		h.Release("h", p, epoch, Observation{Status: 503})
	}
	if got := h.Gap("h", p); got != time.Second {
		t.Errorf("gap %v", got)
	}
}

func TestSlowingAnswers(t *testing.T) {
	var h Hosts
	p := Politeness{Connections: 1, Factor: 1, MaxDelay: time.Hour}
	now := epoch
	turn := func(d time.Duration) time.Duration {
		if ok, until := h.Acquire("h", p, now); !ok {
			now = until
			h.Acquire("h", p, now)
		}
		now = now.Add(d)
		h.Release("h", p, now, answered(d))
		return h.Gap("h", p)
	}
	for range 50 {
		if g := turn(100 * time.Millisecond); g != 100*time.Millisecond {
			t.Fatalf("steady gap %v", g)
		}
	}
	var g time.Duration
	for range 20 {
		g = turn(400 * time.Millisecond)
	}
	if g < 1200*time.Millisecond || g > 1600*time.Millisecond { // nearly 4 × 400 ms
		t.Errorf("gap %v with answers four times as slow", g)
	}
	for range 30 {
		g = turn(100 * time.Millisecond)
	}
	if g > 110*time.Millisecond {
		t.Errorf("gap %v after it recovered", g)
	}
	for range 20 {
		g = turn(10 * time.Second)
	}
	if g > 80*time.Second {
		t.Errorf("gap %v is above eight times the answer", g)
	}
}

func TestStrictestRuleHolds(t *testing.T) {
	var h Hosts
	loose := Politeness{Connections: 16}
	strict := Politeness{Connections: 1, Delay: 10 * time.Second}
	now := epoch
	at(t, &h, strict, now, true, 0) // a long download
	for _, d := range []time.Duration{time.Second, time.Minute, time.Hour} {
		if ok, _ := h.Acquire("h", loose, now.Add(d)); ok {
			t.Fatalf("the loose job got a second connection after %v", d)
		}
	}
	now = now.Add(time.Hour)
	h.Release("h", strict, now, answered(time.Second))
	at(t, &h, loose, now, false, 10*time.Second)
	now = now.Add(10 * time.Second)
	at(t, &h, loose, now, true, 0)
	h.Release("h", loose, now, answered(0))
	now = now.Add(2 * time.Minute) // the strict job has ended
	for range 16 {
		at(t, &h, loose, now, true, 0)
	}
	if ok, _ := h.Acquire("h", loose, now); ok {
		t.Error("17 connections")
	}
	// it comes back while sixteen are under way: it waits for its one
	if ok, _ := h.Acquire("h", strict, now); ok {
		t.Error("the strict job opened one more")
	}
}

// TestHostsInvariants lets many workers of three jobs ask one host and watches connections and gaps from
// outside.
func TestHostsInvariants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h Hosts
		jobs := []Politeness{
			{Connections: 4, Delay: 50 * time.Millisecond}, {Connections: 2, Factor: 1}, {Connections: 8},
		}
		var mu sync.Mutex
		active, requests := 0, 0
		var lastStart, lastEnd time.Time
		var wg sync.WaitGroup
		stop := time.Now().Add(30 * time.Second)
		for i := range 12 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				rnd := rand.New(rand.NewPCG(1, uint64(i)))
				p := jobs[i%3]
				for time.Now().Before(stop) {
					// the request is noted in the same step, else one that ends at this very instant could be noted between
					mu.Lock()
					ok, until := h.Acquire("h", p, time.Now())
					if !ok {
						mu.Unlock()
						if !until.After(time.Now()) {
							t.Error("told to ask again at once")
							return
						}
						time.Sleep(time.Until(until))
						continue
					}
					now := time.Now()
					if active++; active > 2 && requests > 12 {
						t.Errorf("%d connections", active)
					}
					if g := 50 * time.Millisecond; requests > 12 && (now.Sub(lastStart) < g || now.Sub(lastEnd) < g) {
						t.Errorf("gaps %v, %v", now.Sub(lastStart), now.Sub(lastEnd))
					}
					lastStart = now
					requests++
					mu.Unlock()
					d := time.Duration(rnd.IntN(100)) * time.Millisecond
					time.Sleep(d)
					mu.Lock()
					active--
					lastEnd = time.Now()
					h.Release("h", p, lastEnd, answered(d))
					mu.Unlock()
				}
			}()
		}
		wg.Wait()
		if requests < 100 {
			t.Errorf("%d requests in 30 s", requests)
		}
	})
}

func TestDeferPrune(t *testing.T) {
	var h Hosts
	p := polite()
	h.Defer("a", epoch.Add(time.Hour), epoch)
	h.Defer("a", epoch.Add(time.Minute), epoch)
	h.SetCrawlDelay("b", 7*time.Second)
	h.Defer("c", epoch.Add(1000*time.Hour), epoch)
	if ok, until := h.Acquire("a", p, epoch.Add(time.Minute)); ok || until.Sub(epoch) != time.Hour {
		t.Errorf("the wait is forgotten: %v %v", ok, until)
	}
	if _, until := h.Acquire("c", p, epoch); until.Sub(epoch) != mostRetryAfter {
		t.Errorf("a host is left alone until %v", until)
	}
	if g := h.Gap("b", p); len(h.Snapshot()) != 3 || g != 7*time.Second {
		t.Errorf("gap %v", g)
	}
	if n := h.Prune(epoch.Add(30*time.Minute), epoch.Add(30*time.Minute)); n != 2 {
		t.Errorf("%d left, want those that must be waited for", n)
	}
	if n := h.Prune(epoch.Add(25*time.Hour), epoch.Add(25*time.Hour)); n != 0 {
		t.Errorf("%d left", n)
	}
}

// polite is a rule for the servers of others.
func polite() Politeness {
	return Politeness{
		Connections: 2,
		Delay:       500 * time.Millisecond,
		Factor:      2,
		MaxDelay:    60 * time.Second,
	}
}
