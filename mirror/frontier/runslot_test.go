// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/scheduler/status"
)

// countedTurn is a turn that can be had at once.
type countedTurn struct {
	yields, resumes atomic.Int32
	last            atomic.Pointer[status.Wait]
}

func (c *countedTurn) Yield(w status.Wait) {
	c.yields.Add(1)
	c.last.Store(&w)
}

func (c *countedTurn) Resume(ctx context.Context) error {
	c.resumes.Add(1)
	return ctx.Err()
}

func (c *countedTurn) Over() bool { return false }

// A request outside of the frontier gives the turn of its run back while it waits for long, and only then.
func TestTurnGivesTheRunsTurnBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for delay, want := range map[time.Duration]int32{500 * time.Millisecond: 0, 20 * time.Second: 2} {
			p := fetch.Politeness{Delay: delay}
			g, err := NewPacer(new(fetch.Hosts), job.Default(), p, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			none := func() int64 { return 0 }
			turn := new(countedTurn)
			g.Slot = NewRunSlot(turn, NewFrontier(g, Ordering{}), time.Now, none, none)
			start := time.Now()
			for range 3 {
				if err := g.Turn(t.Context(), "h"); err != nil {
					t.Fatal(err)
				}
				g.Release("h", fetch.Observation{Status: 200})
			}
			if d := time.Since(start); d != 2*delay {
				t.Errorf("a delay of %v: three requests within %v", delay, d)
			}
			if y, r := turn.yields.Load(), turn.resumes.Load(); y != want || r != want {
				t.Errorf("a delay of %v: %d yields, %d resumes, want %d", delay, y, r, want)
			}
			if w := turn.last.Load(); want > 0 && (w == nil || w.For != status.ForHost || w.Host != "h") {
				t.Errorf("waits for %+v", w)
			}
		}
	})
}

// What moves is no wait, however long nothing can be requested; what hardly moves is one.
func TestFlow(t *testing.T) {
	start := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		rate  int64 // bytes a second
		stuck bool
		want  bool
	}{
		"nothing":          {0, true, true},
		"130 bytes":        {4 * 130, true, true},
		"enough":           {slowRate, true, false},
		"a URL each 2 s":   {urlWorth / 2, true, false},
		"more can be done": {0, false, false},
	} {
		var f flow
		slow := false
		for at := time.Duration(0); at <= 10*time.Second; at += lookEvery {
			slow = f.slow(start.Add(at), int64(at.Seconds()*float64(c.rate)), c.stuck) || slow
		}
		if slow != c.want {
			t.Errorf("%s: %v", name, slow)
		}
	}
}
