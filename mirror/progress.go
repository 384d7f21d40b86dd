// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"sync"
	"time"
)

// Phase is what a run is doing.
type Phase uint8

// The phases.
const (
	Retrieving Phase = iota
	Relocating
	Publishing
)

// Progress is where a run stands.
type Progress struct {
	Phase     Phase
	Elapsed   time.Duration
	Done      int64 // URLs answered
	Queued    int   // URLs waiting
	InFlight  int
	Failed    int64
	Bytes     int64  // received, as they came
	WaitHost  string // the host whose turn is waited for, "" when none
	WaitFor   time.Duration
	Relocated int64 // of Total files
	Total     int64
	Final     bool // the last one
}

// progressEvery is how often a run reports.
const progressEvery = 250 * time.Millisecond

// progress starts reporting and returns the function that ends it.
func (r *run) progress() func() {
	if r.o.Progress == nil {
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
				r.o.Progress(r.where())
			case <-stop:
				p := r.where()
				p.Final = true
				r.o.Progress(p)
				return
			}
		}
	})
	return func() {
		close(stop)
		wg.Wait()
	}
}

func (r *run) where() Progress {
	s := &r.stats
	p := Progress{
		Phase: Phase(s.Phase.Load()), Elapsed: r.now().Sub(r.started), Failed: s.Failed.Load(), Bytes: s.Wire.Load(),
		Done:      s.Fetched.Load() + s.Unchanged.Load() + s.Redirected.Load() + s.Gone.Load() + s.Failed.Load() + s.Refused.Load(),
		Relocated: s.RelocateDone.Load(), Total: s.RelocateTotal.Load(),
	}
	now := r.now()
	st := r.front.State(now)
	p.Queued, p.InFlight, p.WaitHost = st.Queued, st.InFlight, st.WaitHost
	if p.WaitHost != "" {
		p.WaitFor = st.WaitUntil.Sub(now)
	}
	return p
}
