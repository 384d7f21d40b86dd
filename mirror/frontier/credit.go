// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"container/heap"

	"mirrord/store/record"
)

// Credits order the URLs that wait by what the pages read so far say of them: OPIC (Abiteboul, Preda, Cobena,
// Adaptive On-Line Page Importance Computation, 2003). A page that is read gives its credit in equal parts to
// what it links to, and the URL with most is next; of equal ones that with the lower number, which was found
// first. Unlike there, a page begins with almost nothing, so that what the entry points lead to counts: on
// documentation that comes closer to PageRank early (TestOrders). They take 8 bytes a URL. The lock of the
// frontier guards them.
type Credits struct {
	of []float32 // by number
	at []uint32  // place in the heap of its queue, plus 1; 0: it does not wait there
}

const (
	entryCredit = 1
	ownCredit   = 0.0001 // of a page beside what it was given
)

// grow extends the list to hold a number.
func (c *Credits) grow(id uint32) {
	for int(id) >= len(c.of) {
		c.of, c.at = append(c.of, 0), append(c.at, 0)
	}
}

// enter gives an entry point its credit.
func (c *Credits) enter(id uint32) {
	c.grow(id)
	c.of[id] = max(c.of[id], entryCredit)
}

// before says which of two URLs is requested first.
func (c *Credits) before(a, b uint32) bool {
	return c.of[a] > c.of[b] || (c.of[a] == c.of[b] && a < b)
}

// heap returns a queue in the order of credits, of which a number may become part.
func (c *Credits) heap(id uint32, q *fifo) ordered {
	c.grow(id)
	return ordered{q, c.before, c.at}
}

// spend gives the credit of a page that was read to what it links to. queue returns the queue in which a URL
// waits.
func (c *Credits) spend(from uint32, to []uint32, queue func(id uint32) *fifo) {
	n := 0
	for _, id := range to {
		if id < record.Guess {
			n++
		}
	}
	if n == 0 {
		return
	}
	c.grow(from)
	share := (c.of[from] + ownCredit) / float32(n)
	c.of[from] = 0
	for _, id := range to {
		if id >= record.Guess {
			continue
		}
		c.grow(id)
		c.of[id] += share
		if i := c.at[id]; i > 0 {
			heap.Fix(c.heap(id, queue(id)), int(i)-1)
		}
	}
}

// Credit says that a page was read and what it links to. Where the job's order is not by links it does
// nothing.
func (f *Frontier) Credit(from uint32, to []uint32) {
	f.locked(func() {
		if c := f.order.Credits; c != nil {
			c.spend(from, to, func(id uint32) *fifo { return &f.queueOf(id).front[PrioNew] })
		}
	})
}

// queueOf returns the queue of a URL that is in one. The frontier is locked.
func (f *Frontier) queueOf(id uint32) *backQueue {
	if len(f.queues) == 1 {
		for _, q := range f.queues {
			return q
		}
	}
	return f.queues[f.order.Origin(id)]
}
