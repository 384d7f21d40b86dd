// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/scheduler/status"
)

// A run that gives its turn back for a host says who holds that, and when it is its turn, if that is known.
func TestPauseSaysWhoHoldsTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const origin = "http://h"
		hosts := new(fetch.Hosts)
		pacer := func(p fetch.Politeness) *Pacer {
			g, err := NewPacer(hosts, job.Default(), p, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			return g
		}
		other := pacer(fetch.Politeness{Delay: 10 * time.Second, By: "other"})
		f := NewFrontier(pacer(fetch.Politeness{By: "own"}), Ordering{})
		f.Add(origin, 1, PrioKnown)
		f.idle = 1 // a worker waits
		look := func() status.Wait {
			t.Helper()
			can, p := f.Pause(time.Now())
			if can {
				t.Fatal("it can continue")
			}
			return p.wait()
		}
		if err := other.Turn(t.Context(), origin); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		w := look()
		if w.Held != status.HeldBusy || !slices.Equal(w.Behind, []string{"other"}) || w.Until != nil {
			t.Errorf("%s: %+v", w.Say(), w)
		}
		other.Release(origin, fetch.Observation{Status: 200})
		f.Release(origin)
		w = look()
		in := time.Now().Add(10 * time.Second)
		if w.Held != status.HeldWish || !slices.Equal(w.Behind, []string{"other"}) || !w.Until.Equal(in) {
			t.Errorf("%s: %+v", w.Say(), w)
		}
	})
}
