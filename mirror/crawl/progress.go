// SPDX-License-Identifier: Apache-2.0

package crawl

import (
	"sync"
	"time"

	"mirrord/mirror/ledger"
	"mirrord/status"
)

// ProgressOf says where a run stands by its counts, its frontier and the pause of its shift. now is the time
// of s.
func ProgressOf(c *ledger.Counts, s FrontierState, pause Pause, started, now time.Time) status.Progress {
	p := status.Progress{
		Phase:     ledger.Phase(c.Phase.Load()).String(),
		Elapsed:   now.Sub(started),
		Done:      c.Done(),
		Queued:    s.Queued,
		InFlight:  s.InFlight,
		Failed:    c.Failed.Load(),
		Bytes:     c.Wire.Load(),
		Requests:  c.Requests.Load(),
		Coming:    c.Coming.Load(),
		Hosts:     s.Hosts,
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

// progressEvery is how often a run reports.
const progressEvery = 250 * time.Millisecond

// Report passes where to a receiver about four times a second, never twice at a time, until the function that
// it returns is called: that passes it a last time. Without a receiver nothing happens.
func Report(to func(status.Progress), where func() status.Progress) (end func()) {
	if to == nil {
		return func() {}
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(progressEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				to(where())
			case <-stop:
				to(where())
				return
			}
		}
	})
	return func() {
		close(stop)
		wg.Wait()
	}
}
