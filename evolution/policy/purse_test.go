// SPDX-License-Identifier: Apache-2.0

package policy

import "testing"

// What runs leave of their budget the next ones may use, up to that of eight runs; what they exceed it by is
// no debt.
func TestPurse(t *testing.T) {
	var p Purse
	for _, c := range []struct{ made, next int }{
		{4, 16}, {10, 16}, {16, 10}, {50, 10}, {0, 20}, {0, 30}, {0, 40}, {0, 50}, {0, 60}, {0, 70}, {0, 80},
		{0, 80}, {75, 15},
	} {
		p.Spend(10, c.made)
		if got := p.Budget(10); got != c.next {
			t.Errorf("after a run of %d requests the next may make %d, want %d", c.made, got, c.next)
		}
	}
}

// A request must be worth the more, the less is left of a purse.
func TestScarcity(t *testing.T) {
	if scarcity(100, 100) != DefaultPrice {
		t.Errorf("with the requests of one run left: %v, want the default price", scarcity(100, 100))
	}
	last := 0.0
	for left := 800; left >= 0; left -= 100 {
		now := scarcity(100, left)
		if now <= last {
			t.Errorf("price %v with %d requests left, %v with a hundred more", now, left, last)
		}
		last = now
	}
}
