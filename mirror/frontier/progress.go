// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"cmp"
	"slices"
	"time"

	"mirrord/internal/timed"
	"mirrord/mirror/urls"
	"mirrord/scheduler/status"
)

// ProgressOf says where a run stands by its counts, its frontier and the pause of its slot. now is the time
// of s.
func ProgressOf(c *urls.Counts, s FrontierState, pause Pause, started, now time.Time) status.Progress {
	p := status.Progress{
		Phase:     urls.Phase(c.Phase.Load()).String(),
		Elapsed:   now.Sub(started),
		Done:      c.Done(),
		Queued:    s.Queued,
		InFlight:  s.InFlight,
		Failed:    c.Failed.Load(),
		Bytes:     c.Wire.Load(),
		Requests:  c.Requests.Load(),
		Coming:    c.Coming.Load(),
		Hosts:     s.Hosts,
		Busy:      s.Busy,
		WaitHost:  s.WaitHost,
		WaitWhy:   s.WaitWhy,
		Relocated: c.RelocateDone.Load(),
		Total:     c.RelocateTotal.Load(),
	}
	if p.WaitHost != "" {
		p.WaitFor = s.WaitUntil.Sub(now)
	}
	if pause.Why == status.ForSlow || pause.Why == status.ForTurn {
		p.WaitWhy, p.WaitHost, p.WaitFor = pause.Why, pause.Host, 0
	}
	if until := c.TreeWait.Load(); until != 0 {
		p.WaitWhy, p.WaitHost, p.WaitFor = status.ForTree, "", time.Unix(0, until).Sub(now)
	}
	return p
}

// FrontierState is what the progress of a run shows.
type FrontierState struct {
	Queued    int               // URLs that wait
	InFlight  int               // URLs in work
	Hosts     int               // that URLs wait for, or are in work of
	Busy      []status.BusyHost // those of them with the most URLs, without gaps
	WaitHost  string            // the host that is waited for, "" when none
	WaitUntil time.Time         // when it is due
	WaitWhy   status.WaitFor    // ForHost or ForWindow; "" when no host is waited for
}

// State returns where the frontier stands.
func (f *Frontier) State(now time.Time) (s FrontierState) {
	f.locked(func() {
		s.Queued, s.InFlight = f.queued, f.inFlight
		s.Hosts, s.Busy = busyHosts(f.heap, f.flying, now)
		if f.inFlight == 0 && len(f.heap) > 0 && f.heap[0].next.After(now) {
			s.WaitHost, s.WaitUntil, s.WaitWhy = f.heap[0].host, f.heap[0].next, status.ForHost
			if f.turns.Closed(now) {
				s.WaitWhy = status.ForWindow
			}
		}
	})
	return s
}

// hostsShown is how many hosts are named.
const hostsShown = 10

// busyHosts is how many hosts have URLs that wait or are in work, and what those with the most of them do.
func busyHosts(queues hostHeap, flying map[string]int, now time.Time) (n int, most []status.BusyHost) {
	at := make(map[string]int, len(flying))
	of := func(host string) *status.BusyHost {
		i, ok := at[host]
		if !ok {
			i, at[host] = len(most), len(most)
			most = append(most, status.BusyHost{Host: host, Wait: -1})
		}
		return &most[i]
	}
	for host, flies := range flying {
		of(host).InFlight = flies
	}
	for _, q := range queues {
		if q.optional {
			continue
		}
		b, wait := of(q.host), max(0, q.next.Sub(now))
		if b.Queued += q.n; b.Wait < 0 || wait < b.Wait {
			b.Wait = wait
		}
	}
	n = len(most)
	slices.SortFunc(most, byLoad)
	most = slices.Clip(most[:min(n, hostsShown)])
	for i := range most {
		most[i].Wait = max(0, most[i].Wait)
	}
	return n, most
}

// byLoad puts hosts with many URLs first.
func byLoad(a, b status.BusyHost) int {
	return cmp.Or(cmp.Compare(b.Queued+b.InFlight, a.Queued+a.InFlight), cmp.Compare(a.Host, b.Host))
}

// progressEvery is how often a run reports.
const progressEvery = 250 * time.Millisecond

// Report passes where to a receiver about four times a second, never twice at a time, until the function that
// it returns is called: that passes it a last time. Without a receiver nothing happens.
func Report(to func(status.Progress), where func() status.Progress) (end func()) {
	if to == nil {
		return func() {}
	}
	stop := timed.Every(progressEvery, func() { to(where()) })
	return func() {
		stop()
		to(where())
	}
}
