// SPDX-License-Identifier: Apache-2.0

package frontier

import "mirrord/store/record"

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

// push and pop make a queue a binary heap; it is then used in no other way.
func (c *Credits) push(q *fifo, id uint32) {
	c.grow(id)
	q.q = append(q.q, id)
	c.up(q, len(q.q)-1)
}

func (c *Credits) pop(q *fifo) (uint32, bool) {
	n := len(q.q) - 1
	if n < 0 {
		return 0, false
	}
	id, last := q.q[0], q.q[n]
	q.q = q.q[:n]
	c.at[id] = 0
	if n > 0 {
		c.down(q, last)
	}
	return id, true
}

// up puts the URL at place i where it belongs, which is there or further to the front.
func (c *Credits) up(q *fifo, i int) {
	id := q.q[i]
	for i > 0 {
		up := (i - 1) / 2
		if !c.before(id, q.q[up]) {
			break
		}
		q.q[i] = q.q[up]
		c.at[q.q[i]] = uint32(i) + 1
		i = up
	}
	q.q[i] = id
	c.at[id] = uint32(i) + 1
}

// down puts a URL where it belongs when the first place is free.
func (c *Credits) down(q *fifo, id uint32) {
	i := 0
	for {
		next := 2*i + 1
		if next+1 < len(q.q) && c.before(q.q[next+1], q.q[next]) {
			next++
		}
		if next >= len(q.q) || !c.before(q.q[next], id) {
			break
		}
		q.q[i] = q.q[next]
		c.at[q.q[i]] = uint32(i) + 1
		i = next
	}
	q.q[i] = id
	c.at[id] = uint32(i) + 1
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
			c.up(queue(id), int(i)-1)
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
