// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch"
	"mirrord/store/record"
)

// The heap gives what a search of all that wait would give, while credit comes in.
func TestCreditsAgainstSearch(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 22))
		c, q := new(Credits), new(fifo)
		var waiting []uint32
		for range 300 {
			switch id := rnd.Uint32N(60); {
			case rnd.IntN(3) == 0:
				if !slices.Contains(waiting, id) {
					waiting = append(waiting, id)
					heap.Push(c.heap(id, q), id)
				}
			case rnd.IntN(4) == 0:
				c.enter(id)
				if slices.Contains(waiting, id) {
					heap.Fix(c.heap(id, q), int(c.at[id])-1)
				}
			case rnd.IntN(2) == 0:
				to := []uint32{rnd.Uint32N(60), rnd.Uint32N(60), record.Guess + 3}
				if !slices.Contains(waiting, id) { // a page that was read does not wait
					c.spend(id, to, func(uint32) *fifo { return q })
				}
			default:
				slices.SortFunc(waiting, func(a, b uint32) int {
					if c.before(a, b) {
						return -1
					}
					return 1
				})
				if q.len() != len(waiting) {
					t.Fatalf("seed %d: %d wait, want %v", seed, q.len(), waiting)
				}
				if q.len() > 0 {
					if got := heap.Pop(c.heap(0, q)); got != waiting[0] {
						t.Fatalf("seed %d: %d; waiting are %v", seed, got, waiting)
					}
					waiting = waiting[1:]
				}
			}
		}
	}
}

// What a page that is read gives goes to the URLs that wait, whichever origin they are of.
func TestFrontierByCredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := new(fetch.Hosts), fetch.Politeness{Connections: 1}
		f := NewFrontier(&Pacer{hosts: h, politeness: p}, Ordering{
			Credits: new(Credits),
			Origin:  func(id uint32) string { return map[bool]string{true: "a", false: "b"}[id < 100] },
		})
		f.Add("a", 1, PrioSeed)
		links := map[uint32][]uint32{
			1: {2, 3, 4, 100, 101},
			2: {4, 101, record.Guess + 3},
		}
		done := map[uint32]bool{1: true}
		v := runFrontier(f, h, p, 1, time.Millisecond, func(_ string, id uint32) {
			for _, to := range links[id] {
				if to < record.Guess && !done[to] {
					done[to] = true
					f.Add(f.order.Origin(to), to, PrioNew)
				}
			}
			f.Credit(id, links[id])
		})
		of := func(host string) (ids []string) {
			for _, s := range v.order {
				if s[:1] == host {
					ids = append(ids, s)
				}
			}
			return ids
		}
		if want := []string{"a 1", "a 2", "a 4", "a 3"}; !slices.Equal(of("a"), want) {
			t.Errorf("%v, want %v", of("a"), want)
		}
		if n := len(of("b")); n != 2 {
			t.Errorf("%d of the other origin", n)
		}
		f.Drop()
		f.Credit(1, links[1])
	})
}

// One of eight turns goes to what has no priority by the job, and none is lost when there is no such URL.
func TestPrioritiesLeaveSomeTurns(t *testing.T) {
	var q backQueue
	o := new(Ordering)
	for id := range uint32(20) {
		q.put(PrioFirst, id, o)
	}
	q.put(PrioKnown, 101, o)
	q.put(PrioRequisite, 100, o)
	q.put(PrioSeed, 99, o)
	var got []uint32
	for id, ok := q.take(o); ok; id, ok = q.take(o) {
		got = append(got, id)
	}
	want := []uint32{99, 0, 1, 2, 3, 4, 5, 6, 100, 7, 8, 9, 10, 11, 12, 13, 101, 14, 15, 16, 17, 18, 19}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
