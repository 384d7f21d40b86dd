// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"mirrord/cluster/lease"
	"mirrord/job"
	"mirrord/scheduler"
)

// TestSimulation plays a cluster in virtual time with the rules of this package and the clocks of package
// scheduler: nodes are killed and stopped, messages are slow, answers are lost, and no two clocks agree. Only
// the store and the network are made here.
func TestSimulation(t *testing.T) {
	size := simSize{
		nodes:    12,
		sites:    300,
		hourly:   100,
		lasts:    4 * time.Hour,
		troubles: 60,
	}
	if os.Getenv("MIRRORD_LONG") != "" {
		size = simSize{
			nodes:    1000,
			sites:    100_000,
			hourly:   1000,
			lasts:    24 * time.Hour,
			troubles: 6,
		}
	}
	for _, tc := range []struct {
		name   string
		mutant mutant
		size   simSize
	}{
		{"as it is", mutant{}, size},
		{"leases are ignored", mutant{noLease: true}, size.small()},
		{"the fence is ignored", mutant{noFence: true}, size.small()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			began := time.Now()
			w := newWorld(tc.size, tc.mutant)
			w.play()
			late := w.unmade()
			t.Logf("%d nodes, %d sites, %v: %d runs, %d requests, %d crashes, %d pauses, %d takeovers, %d writes, "+
				"%d reads, %d moves of hosts; %d double visits, %d lost commits, %d times without a run, "+
				"latest run after %v; took %v",
				tc.size.nodes, tc.size.sites, tc.size.lasts, w.runs, w.visits, w.crashes, w.pauses, w.takeovers,
				w.writes, w.reads, w.moved, w.double, w.lost, late, w.latest.Round(time.Second),
				time.Since(began).Round(time.Millisecond))
			if bites := tc.mutant != (mutant{}); bites {
				if (w.double > 0) != tc.mutant.noLease || (w.lost > 0) != tc.mutant.noFence {
					t.Errorf("%d double visits, %d lost commits", w.double, w.lost)
				}
				return
			}
			if w.double > 0 || w.lost > 0 || late > 0 || w.latest > 10*time.Minute {
				t.Errorf("%d double visits, %d lost commits, %d times without a run, a run %v late",
					w.double, w.lost, late, w.latest)
			}
			if w.crashes == 0 || w.pauses == 0 || w.takeovers == 0 || w.runs < tc.size.hourly {
				t.Error("nothing happened")
			}
		})
	}
}

type simSize struct {
	nodes, sites int
	hourly       int // of the sites; the others run once a day
	lasts        time.Duration
	troubles     int // crashes, and as many pauses, of each node a day
}

// small is a size in which a mutant is found soon.
func (s simSize) small() simSize {
	return simSize{
		nodes:    12,
		sites:    300,
		hourly:   300,
		lasts:    3 * time.Hour,
		troubles: 300,
	}
}

// mutant is what must not go unnoticed.
type mutant struct{ noLease, noFence bool }

// simSite is a site and its records.
type simSite struct {
	name     string
	host     *simHost
	clock    scheduler.Clock
	revision int       // of the pointer
	served   time.Time // by the pointer
	token    uint64    // likewise
	next     time.Time // when it is due
	begins   []time.Time

	waits []waiting
	rings time.Time // when they learn that it is due; zero: not
}

// waiting is a node that believes to have a site, and its lease.
type waiting struct {
	n     *simNode
	life  int
	lease *simLease
}

// epoch is when a simulation begins.
var epoch = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func newWorld(size simSize, m mutant) *world {
	w := &world{
		size:   size,
		mutant: m,
		rng:    rand.New(rand.NewPCG(1, 2)),
		nodes:  map[string]*simNode{},
		byName: map[string]*simHost{},
	}
	for i := range size.sites {
		if number := i * 4 / 5; number == len(w.hosts) {
			h := &simHost{name: fmt.Sprintf("host%d.example", number)}
			w.hosts, w.byName[h.name] = append(w.hosts, h), h
		}
		s := &simSite{name: fmt.Sprintf("site%d", i), host: w.hosts[len(w.hosts)-1], served: epoch}
		j := &job.Job{Name: s.name, Schedule: fmt.Sprintf("%d %d * * *", w.rng.IntN(60), w.rng.IntN(24))}
		if i%max(size.sites/size.hourly, 1) == 0 {
			j.Schedule = fmt.Sprintf("%d * * * *", w.rng.IntN(60))
		}
		var err error
		if s.clock, err = scheduler.NewClock(j, time.UTC, 0); err != nil {
			panic(err)
		}
		s.next = s.clock.Start(epoch)
		w.sites = append(w.sites, s)
		s.host.sites = append(s.host.sites, s)
	}
	loads := make([]lease.Load, 0, len(w.hosts))
	for _, h := range w.hosts {
		loads = append(loads, lease.Load{Host: h.name, Sites: len(h.sites)})
	}
	w.shares = newShares(loads)
	for i := range size.nodes {
		w.start(newNode(w, fmt.Sprintf("n%04d", i)))
	}
	return w
}

// unmade counts the times at which a site was due and did not run before it was due again.
func (w *world) unmade() (n int) {
	end := epoch.Add(w.size.lasts)
	for _, s := range w.sites {
		i := 0
		for due := s.clock.Start(epoch); due.Before(end.Add(-10 * time.Minute)); {
			next := s.clock.Start(due)
			for i < len(s.begins) && s.begins[i].Before(due) {
				i++
			}
			switch {
			case i < len(s.begins) && s.begins[i].Before(next):
				w.latest = max(w.latest, s.begins[i].Sub(due))
			case next.Before(end):
				n++
			}
			due = next
		}
	}
	return n
}
