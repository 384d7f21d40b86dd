// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch"
)

// visits gathers what a frontier hands out.
type visits struct {
	mu    sync.Mutex
	start time.Time
	order []string // "host id"
	at    []time.Duration
}

func (v *visits) add(host string, id uint32) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.order = append(v.order, fmt.Sprintf("%s %d", host, id))
	v.at = append(v.at, time.Since(v.start))
}

// runFrontier runs a frontier whose exchanges take d, on n workers, until it is empty.
func runFrontier(
	f *Frontier, h *fetch.Hosts, p fetch.Politeness, n int, d time.Duration, work func(host string, id uint32),
) *visits {
	v := &visits{start: time.Now()}
	f.Run(context.Background(), n, time.Now, func(id uint32, host string, turn bool) {
		v.add(host, id)
		if !turn {
			return
		}
		time.Sleep(d) // in a bubble
		h.Release(host, p, time.Now(), fetch.Observation{Duration: d, Status: 200})
		f.Release(host)
		if work != nil {
			work(host, id)
		}
	})
	return v
}

func TestFrontierPriorities(t *testing.T) {
	for _, c := range []struct {
		name  string
		order Ordering
		want  []string
	}{
		{"breadth", Ordering{}, []string{"h 9", "h 7", "h 1", "h 2", "h 3", "h 20", "h 21", "h 5", "h 6", "h 8"}},
		{"depth", Ordering{LIFO: true},
			[]string{"h 9", "h 7", "h 3", "h 2", "h 1", "h 20", "h 21", "h 6", "h 5", "h 8"}},
		{"by number", Ordering{Less: func(a, b uint32) bool {
			return a < b
		}}, []string{"h 9", "h 7", "h 1", "h 2", "h 3", "h 20", "h 21", "h 5", "h 6", "h 8"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, p := new(fetch.Hosts), fetch.Politeness{Connections: 1}
				f := NewFrontier(&Pacer{hosts: h, politeness: p}, c.order)
				f.Add("h", 8, PrioLast)
				f.Add("h", 5, PrioKnown)
				f.Add("h", 6, PrioKnown)
				f.Add("h", 1, PrioNew)
				f.Add("h", 2, PrioNew)
				f.Add("h", 3, PrioNew)
				f.Add("h", 7, PrioRequisite)
				f.Add("h", 9, PrioSeed)
				last := c.want[4]
				v := runFrontier(f, h, p, 3, time.Millisecond, func(host string, id uint32) {
					if fmt.Sprintf("%s %d", host, id) == last { // its requisites come directly after it
						f.Add("h", 20, PrioRequisite)
						f.Add("h", 21, PrioRequisite)
					}
				})
				// A worker takes the next URL when the exchange ends, which is before the page is scanned:
				// requisites may be one late.
				requisite := func(s string) bool { return s == "h 20" || s == "h 21" }
				got, want := slices.DeleteFunc(slices.Clone(v.order), requisite),
					slices.DeleteFunc(slices.Clone(c.want), requisite)
				if !slices.Equal(got, want) {
					t.Errorf("order %v, want %v", got, want)
				}
				if i, j := slices.Index(v.order, last), slices.Index(v.order, "h 20"); j < i || j > i+2 {
					t.Errorf("the requisite came at %d after its page at %d: %v", j, i, v.order)
				}
			})
		})
	}
}

// Each host is asked at its own pace, and a slow one delays no other host.
func TestFrontierGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := new(fetch.Hosts), fetch.Politeness{Connections: 2, Delay: time.Second}
		f := NewFrontier(&Pacer{hosts: h, politeness: p}, Ordering{})
		h.SetCrawlDelay("slow", 10*time.Second)
		id := uint32(0)
		for _, host := range []string{"a", "b", "slow"} {
			for range 6 {
				f.Add(host, id, PrioNew)
				id++
			}
		}
		v := runFrontier(f, h, p, 4, 100*time.Millisecond, nil)
		last := map[string]time.Duration{}
		for i, s := range v.order {
			host := s[:slices.Index([]byte(s), ' ')]
			gap := time.Second
			if host == "slow" {
				gap = 10 * time.Second
			}
			if was, ok := last[host]; ok && v.at[i]-was < gap {
				t.Errorf("%s was asked after %v", host, v.at[i]-was)
			}
			last[host] = v.at[i]
		}
		if len(v.order) != 18 {
			t.Fatalf("%d of 18 handed out", len(v.order))
		}
		if last["a"] > 7*time.Second || last["b"] > 7*time.Second {
			t.Errorf("the slow host held up the others: %v", last)
		}
	})
}

// Workers are never idle while a host may be asked: 20 hosts, 20 workers, 10 URLs each, no gap, take ten
// exchanges of time.
func TestFrontierNeverIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := new(fetch.Hosts), fetch.Politeness{Connections: 1}
		f := NewFrontier(&Pacer{hosts: h, politeness: p}, Ordering{})
		for i := range 200 {
			f.Add(fmt.Sprint("host", i%20), uint32(i), PrioNew)
		}
		start := time.Now()
		v := runFrontier(f, h, p, 20, time.Second, nil)
		if len(v.order) != 200 {
			t.Errorf("%d handed out", len(v.order))
		}
		if d := time.Since(start); d > 10*time.Second+100*time.Millisecond {
			t.Errorf("took %v, want 10s", d)
		}
	})
}

// What a page yields is asked although the queue was empty and all other workers were waiting.
func TestFrontierWaitsForWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := new(fetch.Hosts), fetch.Politeness{Connections: 4}
		f := NewFrontier(&Pacer{hosts: h, politeness: p}, Ordering{})
		f.Add("h", 0, PrioSeed)
		v := runFrontier(f, h, p, 8, time.Second, func(host string, id uint32) {
			time.Sleep(3 * time.Second) // scanning
			if id < 5 {
				f.Add(host, id+1, PrioNew)
			}
		})
		if len(v.order) != 6 {
			t.Errorf("%v", v.order)
		}
	})
}

func TestFrontierFreedHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := new(fetch.Hosts), fetch.Politeness{Connections: 1, Delay: time.Hour}
		f := NewFrontier(&Pacer{hosts: h, politeness: p}, Ordering{})
		for i := range 100 {
			f.Add("down", uint32(i), PrioNew)
		}
		f.Add("up", 100, PrioNew)
		freed := false
		v := &visits{start: time.Now()}
		f.Run(context.Background(), 4, time.Now, func(id uint32, host string, turn bool) {
			v.add(host, id)
			if host == "down" && turn {
				if freed {
					t.Error("a turn of a freed host was waited for")
				}
				freed = true
				f.Free(host)
				f.Add(host, 101, PrioNew) // what comes later goes the same way
			}
			if turn {
				h.Release(host, p, time.Now(), fetch.Observation{})
				f.Release(host)
			}
		})
		if len(v.order) != 102 {
			t.Errorf("%d handed out", len(v.order))
		}
		if d := v.at[len(v.at)-1]; d > time.Second {
			t.Errorf("took %v", d)
		}
	})
}

func TestFrontierAnother(t *testing.T) {
	h, p := new(fetch.Hosts), fetch.Politeness{Connections: 1, Delay: time.Hour}
	f := NewFrontier(&Pacer{hosts: h, politeness: p}, Ordering{})
	f.Add("a", 1, PrioNew)
	f.Add("a", 2, PrioNew)
	f.Add("b", 3, PrioNew)
	if got, ok := f.next(time.Now); got.id != 1 || got.origin != "a" || !got.turn || !ok {
		t.Fatal(got, ok)
	}
	if id, ok := f.Another("a"); id != 2 || !ok {
		t.Fatal(id, ok)
	}
	if _, ok := f.Another("a"); ok {
		t.Error("a third URL of a host with two")
	}
	if _, ok := f.Another("unknown"); ok {
		t.Error("a URL of an unknown host")
	}
	f.Stop()
	if _, ok := f.Another("b"); ok {
		t.Error("a URL after the stop")
	}
	if _, ok := f.next(time.Now); ok {
		t.Error("a URL after the stop")
	}
}

func TestFrontierStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := new(fetch.Hosts), fetch.Politeness{Connections: 1, Delay: time.Hour}
		f := NewFrontier(&Pacer{hosts: h, politeness: p}, Ordering{})
		for i := range 10 {
			f.Add("h", uint32(i), PrioNew)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Minute)
		defer cancel()
		n := 0
		start := time.Now()
		f.Run(ctx, 3, time.Now, func(_ uint32, host string, _ bool) {
			n++
			h.Release(host, p, time.Now(), fetch.Observation{})
			f.Release(host)
		})
		if n != 2 || time.Since(start) != 90*time.Minute {
			t.Errorf("%d URLs in %v", n, time.Since(start))
		}
		if s := f.State(time.Now()); s.Queued != 8 || s.InFlight != 0 || s.WaitHost != "h" {
			t.Errorf("%+v", s)
		}
	})
}

// TestFrontierRandom holds the frontier against what must be true of any of them: everything that was added
// comes out once.
func TestFrontierRandom(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			h := new(fetch.Hosts)
			p := fetch.Politeness{Connections: 1 + rnd.IntN(4), Delay: time.Duration(rnd.IntN(3)) * time.Second}
			f := NewFrontier(&Pacer{hosts: h, politeness: p}, Ordering{LIFO: rnd.IntN(2) == 0})
			var mu sync.Mutex
			next := uint32(0)
			add := func() {
				mu.Lock()
				defer mu.Unlock()
				if next < 300 {
					f.Add(fmt.Sprint("h", rnd.IntN(6)), next, Priority(rnd.IntN(int(priorities))))
					next++
				}
			}
			for range 20 {
				add()
			}
			pause := time.Duration(rnd.IntN(1000)) * time.Millisecond
			v := runFrontier(f, h, p, 1+rnd.IntN(9), pause, func(string, uint32) {
				for range rnd2(&mu, rnd) {
					add()
				}
			})
			seen := map[string]bool{}
			for _, s := range v.order {
				if seen[s] {
					t.Errorf("seed %d: %s twice", seed, s)
				}
				seen[s] = true
			}
			if len(seen) != int(next) {
				t.Errorf("seed %d: %d of %d came out", seed, len(seen), next)
			}
		})
	}
}

func rnd2(mu *sync.Mutex, r *rand.Rand) int {
	mu.Lock()
	defer mu.Unlock()
	return r.IntN(3)
}

func TestFIFOGivesMemoryBack(t *testing.T) {
	var q fifo
	for i := range uint32(100_000) {
		q.push(i)
		if id, ok := q.pop(false); !ok || id != i {
			t.Fatal(i, id, ok)
		}
	}
	if cap(q.q) > 16 {
		t.Errorf("an empty queue holds %d", cap(q.q))
	}
	for i := range uint32(5000) {
		q.push(i)
	}
	for i := range uint32(4000) {
		if id, _ := q.pop(false); id != i {
			t.Fatal(i, id)
		}
	}
	if len(q.q) > 2500 {
		t.Errorf("%d numbers are kept for 1000", len(q.q))
	}
	if id, _ := q.pop(true); id != 4999 {
		t.Error(id)
	}
}

// A URL that has waited for its time comes behind what has had no turn.
func TestFrontierWaited(t *testing.T) {
	f := NewFrontier(&Pacer{hosts: new(fetch.Hosts), now: time.Now}, Ordering{})
	const origin = "http://h"
	at := time.Now()
	f.AddAt(origin, 1, at, false)
	f.Add(origin, 2, PrioKnown)
	f.AddAt(origin, 3, at, false)
	f.AddAt("http://g", 4, at, false)
	var got []uint32
	for range 4 {
		h, ok := f.next(func() time.Time { return at.Add(time.Second) })
		if !ok {
			t.Fatal("nothing left")
		}
		got = append(got, h.id)
		f.turns.Release(h.origin, fetch.Observation{Unused: true})
		f.Release(h.origin)
	}
	if slices.Index(got, 2) > slices.Index(got, 1) || slices.Index(got, 2) > slices.Index(got, 3) {
		t.Error(got)
	}
	if s := f.State(at); s.Queued != 0 || s.InFlight != 4 {
		t.Error(s)
	}
}

// State names the hosts with the most URLs, those included that wait for their time, and when the next
// request of each may start.
func TestFrontierState(t *testing.T) {
	f := NewFrontier(&Pacer{hosts: new(fetch.Hosts), now: time.Now}, Ordering{})
	at := time.Now()
	for i := range uint32(hostsShown + 2) {
		for j := range i + 1 {
			f.Add(fmt.Sprintf("http://h%02d:8080", i), 100*i+j, PrioKnown)
		}
	}
	f.AddAt("http://h11", 1, at.Add(3*time.Second), false)
	f.AddAt("http://late", 2, at.Add(5*time.Second), false)
	f.AddAt("http://optional", 3, at, true)
	if h, ok := f.next(func() time.Time { return at }); !ok || h.id >= 1200 {
		t.Fatal(h, ok)
	}
	s := f.State(at)
	flies, queued := 0, 0
	for _, b := range s.Busy {
		flies += b.InFlight
		queued += b.Queued
		if b.Wait != 0 {
			t.Errorf("%+v", b)
		}
	}
	if s.Hosts != hostsShown+3 || len(s.Busy) != hostsShown || s.Busy[0].Host != "h11" || s.Busy[0].Queued < 12 {
		t.Errorf("%+v", s)
	}
	if s.Queued != 12*13/2+2-1 || s.InFlight != 1 || flies > 1 || queued > s.Queued {
		t.Errorf("%d in flight and %d queued of %+v", flies, queued, s)
	}
	late := NewFrontier(&Pacer{hosts: new(fetch.Hosts), now: time.Now}, Ordering{})
	late.AddAt("http://late", 2, at.Add(5*time.Second), false)
	if s := late.State(at); len(s.Busy) != 1 || s.Busy[0].Wait != 5*time.Second || s.WaitHost != "late" {
		t.Errorf("%+v", s)
	}
}
