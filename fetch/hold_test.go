// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"slices"
	"testing"
	"time"
)

// A job that waits for a host learns the reason, and the job that causes it.
func TestHeld(t *testing.T) {
	own := Politeness{By: "own", Delay: 100 * time.Millisecond}
	wish := Politeness{By: "wish", Delay: 300 * time.Millisecond}
	later := epoch.Add(time.Hour)
	for name, c := range map[string]struct {
		do  func(h *Hosts)
		why HoldReason
		by  []string
		gap time.Duration
	}{
		"no rule": {do: func(*Hosts) {}, gap: own.Delay},
		"its own": {do: func(h *Hosts) { exchangeAt(t, h, alive, own, later, answered(0)) }, gap: own.Delay},
		"other port": {
			do:  func(h *Hosts) { exchangeAt(t, h, dead, own, later, Observation{Err: ErrReset}) },
			gap: own.Delay,
		},
		"asked": {
			do:  func(h *Hosts) { h.Defer("example.org", later.Add(time.Hour), later) },
			why: HeldAsked,
			gap: own.Delay,
		},
		"fails": {
			do:  func(h *Hosts) { exchangeAt(t, h, alive, own, later, Observation{Err: ErrRefused}) },
			why: HeldFails,
			gap: time.Second,
		},
		"429": {
			do:  func(h *Hosts) { exchangeAt(t, h, dead, own, later, Observation{Status: 429}) },
			why: HeldFails,
			gap: time.Second,
		},
		"busy": {
			do:  func(h *Hosts) { h.Acquire(alive, Politeness{By: "other"}, later) },
			why: HeldBusy,
			by:  []string{"other"},
			gap: own.Delay,
		},
		"wish": {
			do:  func(h *Hosts) { exchangeAt(t, h, dead, wish, later, answered(0)) },
			why: HeldWish,
			by:  []string{"wish"},
			gap: wish.Delay,
		},
		"robots": {
			do:  func(h *Hosts) { h.SetCrawlDelay("example.org", 10*time.Second) },
			why: HeldRobots,
			gap: 10 * time.Second,
		},
	} {
		h := new(Hosts)
		c.do(h)
		k := h.Held(alive, own, later)
		if k.Why != c.why || !slices.Equal(k.By, c.by) || k.Gap != c.gap {
			t.Errorf("%s: %+v", name, k)
		}
		if wishes := name == "wish"; wishes != (len(k.Wishing) > 0) {
			t.Errorf("%s: %q", name, k.Wishing)
		}
	}
}
