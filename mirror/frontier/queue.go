// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"container/heap"
	"time"
)

// Priority is a front queue: a lower one is served first within its host.
type Priority uint8

// The priorities, in the order in which they are served.
const (
	PrioSeed      Priority = iota // entry points and sitemaps
	PrioFirst                     // pages that have priority by the job; see firstsInRow
	PrioRequisite                 // what a page that was just retrieved needs
	PrioNew                       // pages that were never retrieved
	PrioKnown                     // pages of an earlier run
	PrioGuess                     // what only strings in scripts name
	PrioLast                      // a second turn: a page that seemed to be gone, a fetch that failed
	priorities
)

// backQueue is the queue of one origin, or of one URL that waits for a time of its own.
type backQueue struct {
	origin string
	host   string    // whose turns it needs
	next   time.Time // when the host is due
	index  int       // in the heap; -1: not in it
	n      int
	free   bool // see Frontier.Free
	// see Frontier.AddAt
	optional bool
	front    [priorities]fifo
	firsts   int  // of PrioFirst in a row
	kept     fifo // what no helper may have, see Frontier.Lend; served after PrioSeed
}

// Ordering is the order in which the pages of a host are requested. The zero value is breadth first. Less and
// Known are called with the lock of the frontier held.
type Ordering struct {
	LIFO bool                   // depth first: the page found last is the next one
	Less func(a, b uint32) bool // else by this, when it is given
	// Known takes the place of Less for known pages. Without either they come as they were added: the caller
	// orders them.
	Known func(a, b uint32) bool
	// Credits, when they are given, order new pages instead of all else; Origin is that of a URL then
	Credits *Credits
	Origin  func(id uint32) string
}

// put adds a URL to a front queue.
func (q *backQueue) put(p Priority, id uint32, o *Ordering) {
	if h := o.of(p, id, &q.front[p]); h != nil {
		heap.Push(h, id)
	} else {
		q.front[p].push(id)
	}
}

// of returns a front queue as a heap, of which a number may become part; nil for one in the order of
// additions.
func (o *Ordering) of(p Priority, id uint32, q *fifo) heap.Interface {
	switch {
	case p == PrioNew && o.Credits != nil:
		return o.Credits.heap(id, q)
	case p == PrioKnown && o.Known != nil:
		return ordered{fifo: q, less: o.Known}
	case p.ordered() && o.Less != nil:
		return ordered{fifo: q, less: o.Less}
	}
	return nil
}

// pop takes the next URL of one front queue.
func (q *backQueue) pop(p Priority, o *Ordering) (uint32, bool) {
	if h := o.of(p, 0, &q.front[p]); h == nil {
		return q.front[p].pop(p.ordered() && o.LIFO)
	} else if h.Len() > 0 {
		return heap.Pop(h).(uint32), true
	}
	return 0, false
}

// firstsInRow is how many pages that have priority by the job come before one of the others does, of those
// that wait with them: Mercator's biased choice among front queues. Without it a run that is cut short has
// little but them, not even what they need to be shown (TestOrdersBiased).
const firstsInRow = 7

// take takes the next URL of all front queues.
func (q *backQueue) take(o *Ordering) (id uint32, ok bool) {
	from := PrioSeed
	if q.front[PrioSeed].len() == 0 && q.front[PrioFirst].len() > 0 {
		if q.firsts++; q.firsts > firstsInRow {
			q.firsts, from = 0, PrioRequisite
		}
	}
	for p := from; p < priorities; p++ {
		if p > PrioSeed {
			id, ok = q.kept.pop(false)
		}
		if !ok {
			id, ok = q.pop(p, o)
		}
		if ok {
			return id, true
		}
	}
	return q.pop(PrioFirst, o)
}

// ordered reports whether the job's order holds within a front queue; seeds and
// requisites always come as they were found.
func (p Priority) ordered() bool { return p == PrioNew || p == PrioKnown }

// fifo is a queue of numbers that gives memory back.
type fifo struct {
	head int
	q    []uint32
}

// len is how many numbers wait.
func (q *fifo) len() int { return len(q.q) - q.head }

func (q *fifo) push(id uint32) { q.q = append(q.q, id) }

func (q *fifo) pop(last bool) (uint32, bool) {
	if q.head == len(q.q) {
		return 0, false
	}
	var id uint32
	if last {
		id = q.q[len(q.q)-1]
		q.q = q.q[:len(q.q)-1]
	} else {
		id = q.q[q.head]
		q.head++
	}
	switch {
	case q.head == len(q.q):
		q.head, q.q = 0, q.q[:0]
	case q.head >= 1024 && q.head*2 > len(q.q):
		q.q = q.q[:copy(q.q, q.q[q.head:])]
		q.head = 0
	}
	return id, true
}

// ordered is a fifo as a binary heap, which is then used in no other way.
type ordered struct {
	*fifo
	less func(a, b uint32) bool
	at   []uint32 // by number: its place, plus 1; 0: it is not there. May be nil
}

func (h ordered) Len() int           { return len(h.q) }
func (h ordered) Less(i, j int) bool { return h.less(h.q[i], h.q[j]) }

func (h ordered) Swap(i, j int) {
	h.q[i], h.q[j] = h.q[j], h.q[i]
	h.note(i)
	h.note(j)
}

// note notes which number has a place.
func (h ordered) note(i int) {
	if h.at != nil {
		h.at[h.q[i]] = uint32(i) + 1
	}
}

func (h ordered) Push(x any) {
	h.q = append(h.q, x.(uint32))
	h.note(len(h.q) - 1)
}

func (h ordered) Pop() any {
	last := len(h.q) - 1
	id := h.q[last]
	if h.q = h.q[:last]; h.at != nil {
		h.at[id] = 0
	}
	return id
}

// hostHeap orders back queues by the time at which their host may be asked.
type hostHeap []*backQueue

// due reports whether a queue is.
func (h hostHeap) due(now time.Time) bool { return len(h) > 0 && !h[0].next.After(now) }

func (h hostHeap) Len() int           { return len(h) }
func (h hostHeap) Less(i, j int) bool { return h[i].next.Before(h[j].next) }
func (h hostHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *hostHeap) Push(x any) {
	q := x.(*backQueue)
	q.index = len(*h)
	*h = append(*h, q)
}
func (h *hostHeap) Pop() any {
	old := *h
	q := old[len(old)-1]
	*h = old[:len(old)-1]
	q.index = -1
	return q
}
