// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch"
)

// The frontier, its pacer and the workers of a stage keep the connections as busy as a simulation that
// discovers pages as any crawler must, and that loses no time between requests (see runOrder): at 32 and 128
// connections a run takes at most 8 % longer. With MIRRORD_ORDERS the sites of TestOrders are tried too.
func TestFrontierAgainstFloor(t *testing.T) {
	for name, g := range graphsTried(t) {
		for _, conns := range []int{32, 128} {
			floor := runOrder(g, new(queued), conns).span
			var took time.Duration
			synctest.Test(t, func(t *testing.T) { took = crawlGraph(t, g, conns) })
			over := took.Seconds()*1000/floor - 1
			t.Logf("%s, %d URLs, %d connections: %v, floor %.0f ms: %.1f %% more", name, len(g.urls), conns, took,
				floor, 100*over)
			if over > 0.08 {
				t.Errorf("%s, %d connections: %.1f %% more than the floor", name, conns, 100*over)
			}
		}
	}
}

// crawlGraph requests a site as a stage of a run does, with answers that take what they take in runOrder.
func crawlGraph(t *testing.T, g *webGraph, conns int) time.Duration {
	h, p := new(fetch.Hosts), fetch.Politeness{Connections: conns}
	f := NewFrontier(&Pacer{hosts: h, politeness: p}, Ordering{})
	const origin = "http://site.test"
	seen := make([]bool, len(g.urls)) // guarded by turn, as asked is
	turn := make(chan struct{}, 1)
	seen[0] = true
	f.Add(origin, 0, PrioSeed)
	start, asked := time.Now(), 0
	w := &Workers{
		Front:       f,
		Connections: conns,
		Now:         time.Now,
		Release: func(host string, o fetch.Observation) {
			h.Release(host, p, time.Now(), o)
		},
		Ask: func(_ context.Context, id uint32, release func(fetch.Observation)) (bool, error) {
			took := time.Duration(answerTime(id) * float64(time.Millisecond))
			time.Sleep(took) // in a bubble
			release(fetch.Observation{Duration: took, Status: 200})
			turn <- struct{}{}
			defer func() { <-turn }()
			asked++
			for _, to := range g.needs[id] {
				if !seen[to] {
					seen[to] = true
					f.Add(origin, to, PrioRequisite)
				}
			}
			for _, to := range g.links[id] {
				if !seen[to] {
					seen[to] = true
					f.Add(origin, to, PrioNew)
				}
			}
			return true, nil
		},
		After: func() {},
		Stop:  func(err error) { t.Error(err) },
	}
	w.Stage(t.Context())
	if asked != len(g.urls) {
		t.Errorf("%d of %d URLs", asked, len(g.urls))
	}
	return time.Since(start)
}

// Connections are used again while the bodies that came on them wait to be read: of many for as many bodies
// as there are connections beyond sixteen, of few for four.
func TestConnectionsWhileBodiesWait(t *testing.T) {
	for conns, want := range map[int]int{16: 20, 128: 240} {
		synctest.Test(t, func(t *testing.T) {
			h, p := new(fetch.Hosts), fetch.Politeness{Connections: conns}
			f := NewFrontier(&Pacer{hosts: h, politeness: p}, Ordering{})
			for id := range uint32(500) {
				f.Add("http://site.test", id, PrioNew)
			}
			var came atomic.Int64
			read := make(chan struct{})
			w := &Workers{
				Front:       f,
				Connections: conns,
				Now:         time.Now,
				Release:     func(host string, o fetch.Observation) { h.Release(host, p, time.Now(), o) },
				Ask: func(_ context.Context, _ uint32, release func(fetch.Observation)) (bool, error) {
					release(fetch.Observation{Duration: time.Millisecond, Status: 200})
					came.Add(1)
					<-read
					return true, nil
				},
				After: func() {},
				Stop:  func(err error) { t.Error(err) },
			}
			go w.Stage(t.Context())
			synctest.Wait()
			if n := int(came.Load()); n != want {
				t.Errorf("%d connections: %d bodies came, want %d", conns, n, want)
			}
			close(read)
			synctest.Wait()
			if n := came.Load(); n != 500 {
				t.Errorf("%d connections: %d bodies came in the end", conns, n)
			}
		})
	}
}
