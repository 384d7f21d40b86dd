// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/record"
)

// entering returns the admission to an empty frontier, over a table with the URLs http://h/0 and so on,
// filled from records.
func entering(t *testing.T, waits func() bool, stored ...*record.Resource) (*HostAdmission, *Frontier) {
	table, f := urls.New(), NewFrontier(&Pacer{
		hosts:      new(fetch.Hosts),
		politeness: fetch.Politeness{Connections: 100},
	}, Ordering{})
	settled := table.Settled()
	settled.Reserve(uint32(len(stored)))
	for i, rec := range stored {
		rec.ID, rec.URL = uint32(i), site.Canonical(fmt.Sprint("http://h/", i))
		settled.Load(rec, urls.Run{Number: 2, Version: 2})
	}
	e := NewHostAdmission(table, f, scope.Priorities{})
	e.WaitWhile(waits)
	return e, f
}

// drain returns the URLs of a frontier, in its order.
func drain(f *Frontier) (ids []uint32) {
	for f.State(time.Now()).Queued > 0 {
		h, ok := f.next(time.Now)
		if !ok {
			break
		}
		ids = append(ids, h.id)
	}
	return ids
}

func never() bool { return false }

// A run without a plan requests what it has not requested yet, then what changes most, and what failed last.
func TestEntranceAll(t *testing.T) {
	in := func(recent uint16) *record.Resource {
		return &record.Resource{
			Outcome:  site.Fetched,
			InSet:    true,
			Run:      1,
			Recent:   recent,
			Observed: 16,
		}
	}
	e, f := entering(t, never,
		&record.Resource{
			Outcome:  site.Failed,
			Run:      1,
			Recent:   0xffff,
			Observed: 16,
		},
		in(0), in(0xff), in(1),
		&record.Resource{Outcome: site.Gone, Run: 1},
		&record.Resource{Outcome: site.Pending},
		&record.Resource{Outcome: site.Pending, Requis: true},
		in(0xffff),
	)
	none := func(uint32) (int64, bool) { return 0, false }
	err := e.All(none, func(id uint32, _ site.URL, _ urls.State) (bool, error) { return id == 7, nil })
	if got := fmt.Sprint(drain(f)); err != nil || got != "[6 5 2 3 1 0]" {
		t.Error(got, err)
	}
	e.Known(2, PrioSeed)
	if got := drain(f); len(got) > 0 {
		t.Errorf("%v entered twice", got)
	}
}

// What a plan does not decide about: unfinished, failed but not broken, and owed URLs.
func TestEntranceOwed(t *testing.T) {
	e, f := entering(t, never,
		&record.Resource{Outcome: site.Failed, Run: 1},
		&record.Resource{Outcome: site.Failed, Run: 1},
		&record.Resource{Outcome: site.Fetched, InSet: true, Run: 1},
		&record.Resource{Outcome: site.Fetched, InSet: true, Run: 1},
		&record.Resource{Outcome: site.Pending},
	)
	e.Owed(func(id uint32) bool { return id == 0 }, func(id uint32) bool { return id == 3 })
	if got := fmt.Sprint(drain(f)); got != "[4 3 1]" {
		t.Error(got)
	}
}

// While the sources of evidence are requested the rest waits; then new URLs enter, and those that the run
// puts back.
func TestEntranceWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		e, f := entering(t, func() bool { return first },
			&record.Resource{Outcome: site.Fetched, InSet: true, Run: 1},
			&record.Resource{Outcome: site.Gone, Run: 1},
			&record.Resource{Outcome: site.Fetched, InSet: true, Run: 1},
		)
		e.Add(Queued{
			ID:     0,
			Origin: "http://h",
			Prio:   PrioKnown,
		}, Queued{ID: 1, Origin: "http://h", Prio: PrioKnown})
		e.Again(2, "http://h", time.Now().Add(time.Minute))
		if got := drain(f); len(got) > 0 || !e.AnyDelayed() {
			t.Errorf("%v did not wait", got)
		}
		first = false
		e.EndWait()
		// the table says that it entered; who adds it asks the table first
		e.Add(Queued{ID: 1, Origin: "http://h", Prio: PrioKnown})
		if got := fmt.Sprint(drain(f)); got != "[1 1 2]" {
			t.Error(got)
		}
		if id := e.New(site.Canonical("http://h/new"), PrioSeed); id != 3 {
			t.Error(id)
		}
		e.New(site.Canonical("http://h/new"), PrioSeed)
		if got := fmt.Sprint(drain(f)); got != "[3]" {
			t.Error(got)
		}
	})
}

// A turn that a URL does not need goes to the next one of its origin, a turn is released once, and an error
// ends the run.
func TestWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := new(fetch.Hosts), fetch.Politeness{Connections: 1, Delay: time.Hour}
		f := NewFrontier(&Pacer{hosts: h, politeness: p}, Ordering{})
		for id := range uint32(5) {
			f.Add("http://h", id, PrioNew)
		}
		var mu sync.Mutex
		var asked []uint32
		released, after := 0, 0
		bad := errors.New("bad")
		ctx, cancel := context.WithCancelCause(t.Context())
		w := &Workers{
			Front:       f,
			Connections: 1,
			Now:         time.Now,
			Release: func(host string, o fetch.Observation) {
				released++
				h.Release(host, p, time.Now(), o)
			},
			Ask: func(_ context.Context, id uint32, release func(fetch.Observation)) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, id)
				if id == 2 || id == 4 { // these make a request
					release(fetch.Observation{Status: 200})
					release(fetch.Observation{Status: 200})
				}
				if id == 4 {
					return true, bad
				}
				return id == 2, nil
			},
			After: func() { after++ },
			Stop:  cancel,
		}
		start := time.Now()
		w.Stage(ctx)
		if !slices.Equal(asked, []uint32{0, 1, 2, 3, 4}) || released != 2 || after != 2 ||
			time.Since(start) != time.Hour {
			t.Error(asked, released, after, time.Since(start))
		}
		if !errors.Is(context.Cause(ctx), bad) {
			t.Error(context.Cause(ctx))
		}
	})
}
