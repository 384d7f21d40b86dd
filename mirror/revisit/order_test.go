// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"math/rand/v2"
	"slices"
	"testing"

	"mirrord/mirror/urls"
)

// same answers, in any order and however many at a time, give the same requests.
func TestOrderOfAnswersDecidesNothing(t *testing.T) {
	answer := func(id uint32) urls.Seen {
		if id%7 == 0 {
			return urls.Asked | urls.Changed
		}
		return urls.Asked
	}
	var want []uint32
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		p := planned(t, 20, func(o *PlanOptions) { o.Job.Adaptive.Price = 0.02 })
		under := []uint32{99, 50, 98} // what the run owes
		p.Await(slices.Clone(under))
		p.Enter(PlanOpen)
		var ids []uint32
		for {
			for b := p.Refill(short); len(b.Asks) > 0; b = p.Refill(short) {
				ids = append(ids, unitsOf(b.Asks)...)
				under = append(under, unitsOf(b.Asks)...)
			}
			if len(under) == 0 {
				break
			}
			for n := rnd.IntN(min(3, len(under)) + 1); n > 0; n-- {
				i := rnd.IntN(len(under))
				p.Tell(under[i], answer(under[i]))
				under = slices.Delete(under, i, i+1)
			}
		}
		if seed == 0 {
			want = ids
		}
		if len(ids) < 20 || len(ids) == 100 || !slices.Equal(ids, want) {
			t.Fatalf("seed %d: %v\nwant %v", seed, ids, want)
		}
	}
}

// An answer that does not come holds a plan up until the second nudge.
func TestNudge(t *testing.T) {
	p := planned(t, 20, func(o *PlanOptions) { o.Job.Adaptive.Price = 0.02 })
	p.Enter(PlanOpen)
	first, second := unitsOf(p.Refill(short).Asks), unitsOf(p.Refill(short).Asks)
	if len(first) < 2 || len(second) == 0 {
		t.Fatalf("batches %v and %v", first, second)
	}
	for _, id := range slices.Concat(first[1:], second) {
		if p.Nudge() {
			t.Error("the plan was not asked for more")
		}
		p.Tell(id, urls.Asked)
	}
	if b := p.Refill(short); len(b.Asks) > 0 || p.Nudge() {
		t.Errorf("batch %v without the answer of %d", b.Asks, first[0])
	}
	if !p.Nudge() || p.Nudge() {
		t.Error("the second nudge must let the plan continue, and once")
	}
	if b := p.Refill(short); len(b.Asks) == 0 {
		t.Error("nothing was handed out after the nudge")
	}
	p.Tell(first[0], urls.Asked|urls.Changed) // late, and still of use
	drain(p, asBefore)
	for id := range p.Skipped() {
		if id == first[0] {
			t.Errorf("%d was requested, and is said to be skipped", id)
		}
	}
}
