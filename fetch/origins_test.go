// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"testing"
	"time"
)

const (
	dead  = "http://example.org:8081"
	alive = "http://example.org:8080"
)

// exchangeAt makes one request as soon as it may, and returns when that is.
func exchangeAt(t *testing.T, h *Hosts, name string, p Politeness, now time.Time, o Observation) time.Time {
	t.Helper()
	for {
		ok, again := h.Acquire(name, p, now)
		if ok {
			h.Release(name, p, now.Add(o.Duration), o)
			return now
		}
		if !again.After(now) {
			t.Fatalf("asked at %v, to ask again at %v", now, again)
		}
		now = again
	}
}

// What does not answer at one port of a host costs the others nothing.
func TestDeadOriginStarvesNoOther(t *testing.T) {
	for name, err := range map[string]error{
		"refused": ErrRefused, "timeout": ErrTimeout, "unreachable": ErrUnreachable, "broken": ErrReset,
	} {
		t.Run(name, func(t *testing.T) {
			h, a, b := new(Hosts), Politeness{By: "a"}, Politeness{By: "b"}
			at := epoch
			for range 8 {
				at = exchangeAt(t, h, dead, b, at, Observation{Err: err})
			}
			if d := at.Sub(epoch); d < 90*time.Second {
				t.Errorf("8 requests of the origin that does not answer within %v", d)
			}
			if ok, again := h.Acquire(dead, b, at); ok || again.Sub(at) != time.Minute {
				t.Errorf("the next one: %v, %v later", ok, again.Sub(at))
			}
			start := at
			for range 40 {
				at = exchangeAt(t, h, alive, a, at, answered(time.Millisecond)).Add(time.Millisecond)
			}
			if d := at.Sub(start); d > time.Second {
				t.Errorf("40 requests of the other took %v", d)
			}
			if g := h.Gap(alive, a); g != 0 {
				t.Errorf("gap %v", g)
			}
			if g := h.Gap(dead, b); g != time.Minute {
				t.Errorf("gap %v of what does not answer", g)
			}
		})
	}
}

// The gap of an origin falls when it answers again.
func TestGapFallsWhenTheOriginAnswers(t *testing.T) {
	h, p, at := new(Hosts), Politeness{}, epoch
	for range 8 {
		at = exchangeAt(t, h, dead, p, at, Observation{Err: ErrRefused})
	}
	for range 60 {
		at = exchangeAt(t, h, dead, p, at, answered(time.Millisecond)).Add(time.Millisecond)
	}
	if g := h.Gap(dead, p); g != 0 {
		t.Errorf("gap %v", g)
	}
}

// Requests without a response take no connection from other origins of their host; those of origins that
// answer do.
func TestSilentOriginTakesNoConnection(t *testing.T) {
	h, p, at := new(Hosts), Politeness{}, epoch
	exchangeAt(t, h, dead, p, at, Observation{Err: ErrTimeout})
	at = at.Add(time.Minute)
	if ok, _ := h.Acquire(dead, p, at); !ok {
		t.Fatal("not even one request")
	}
	if ok, _ := h.Acquire(dead, p, at.Add(time.Minute)); ok {
		t.Error("two requests at once of an origin with one connection")
	}
	if ok, _ := h.Acquire(alive, p, at); !ok {
		t.Error("the origin that answers waits")
	}
	if ok, _ := h.Acquire("https://example.org", p, at); ok {
		t.Error("two requests at once of a host with one connection")
	}
	h.Release(dead, p, at, answered(time.Second)) // it is back
	h.Release(alive, p, at, answered(time.Second))
	if ok, _ := h.Acquire(dead, p, at.Add(time.Hour)); !ok {
		t.Fatal("an origin that answers again waits")
	}
	if ok, _ := h.Acquire(alive, p, at.Add(time.Hour)); ok {
		t.Error("two requests at once")
	}
}

// Limits of the requester, and rules for the host, bind all its origins.
func TestPolitenessIsOfTheHost(t *testing.T) {
	for name, do := range map[string]func(h *Hosts, p Politeness){
		"delay":       func(*Hosts, Politeness) {},
		"crawl delay": func(h *Hosts, _ Politeness) { h.SetCrawlDelay("example.org", 10*time.Second) },
		"429":         func(h *Hosts, p Politeness) { exchangeAt(t, h, dead, p, epoch, Observation{Status: 429}) },
		"Retry-After": func(h *Hosts, p Politeness) {
			exchangeAt(t, h, dead, p, epoch, Observation{Status: 503, RetryAfter: 10 * time.Second})
		},
	} {
		h, p := new(Hosts), Politeness{Delay: 500 * time.Millisecond, MaxDelay: time.Minute}
		do(h, p)
		at := exchangeAt(t, h, dead, p, epoch.Add(time.Minute), answered(time.Millisecond))
		if ok, again := h.Acquire(alive, p, at.Add(time.Millisecond)); ok || again.Sub(at) < p.Delay {
			t.Errorf("%s: %v, %v later", name, ok, again.Sub(at))
		}
	}
}

// A job's wish ends with its run, but for the gap after its last request.
func TestLeave(t *testing.T) {
	h := new(Hosts)
	slow, fast := Politeness{Delay: 10 * time.Second, By: "slow"}, Politeness{By: "fast"}
	at := exchangeAt(t, h, alive, slow, epoch, answered(0))
	h.Leave("slow")
	if ok, again := h.Acquire(alive, fast, at.Add(time.Second)); ok || again.Sub(at) != slow.Delay {
		t.Errorf("the next request: %v, %v later", ok, again.Sub(at))
	}
	at = exchangeAt(t, h, alive, fast, at, answered(0))
	if ok, _ := h.Acquire(alive, fast, at); !ok {
		t.Error("the wish of a job whose run has ended holds")
	}
}
