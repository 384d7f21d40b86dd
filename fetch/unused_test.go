// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"testing"
	"time"
)

func TestUnusedTurnLeavesNoGap(t *testing.T) {
	var h Hosts
	p := Politeness{Connections: 1, Delay: time.Second}
	now := time.Unix(1e9, 0)
	if ok, _ := h.Acquire("h", p, now); !ok {
		t.Fatal("the first turn is refused")
	}
	h.Release("h", p, now, Observation{Unused: true})
	if ok, again := h.Acquire("h", p, now); !ok {
		t.Fatalf("after an unused turn the next one is at %v, want now", again)
	}
	h.Release("h", p, now, Observation{Status: 200})
	if ok, again := h.Acquire("h", p, now); ok || again.Before(now.Add(time.Second)) {
		t.Fatalf("after a used turn the next one is granted %v or at %v, want a second later", ok, again)
	}
}
