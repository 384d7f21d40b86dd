// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// frontier holds the URLs that were admitted but not yet asked in this run; each enters once. It is Mercator's (Najork and
// Heydon; Manning, Raghavan, Schütze, lecture on crawling): front queues order by priority, each origin has one back queue,
// and a heap of back queues by the time at which each may next be asked feeds the workers. A worker waits only while no host may
// be asked. The origins of one host share its turns, but not its troubles. What is in the frontier is also in the run journal,
// which is what a resume reads.
type frontier struct {
	gate  gate
	order ordering

	mu       sync.Mutex
	cond     sync.Cond
	queues   map[string]*backQueue   // by origin
	hosts    map[string][]*backQueue // by host
	heap     hostHeap
	queued   int
	inFlight int
	stopped  bool
	timer    *time.Timer
	wakeAt   time.Time
}

// gate is the politeness of hosts, shared over all runs of the process.
type gate interface {
	// Acquire takes a turn of a host. When it is not the host's turn, again says when to ask; a release may make it earlier.
	Acquire(host string, now time.Time) (ok bool, again time.Time)
	// Paused reports whether no host gets a turn now, because the run is outside of its window.
	Paused(now time.Time) bool
}

// priority is a front queue: a lower one is served first within its host.
type priority uint8

const (
	prioSeed      priority = iota // entry points and sitemaps
	prioRequisite                 // what a page that was just retrieved needs
	prioNew                       // pages that were never retrieved
	prioKnown                     // pages of an earlier run
	prioGuess                     // what only strings in scripts name
	prioLast                      // asked once more: a page that seemed to be gone, a fetch that failed
	priorities
)

// backQueue is the queue of one origin, or of one URL that waits for a time of its own.
type backQueue struct {
	origin string
	host   string    // whose turns it needs
	next   time.Time // when the host may be asked again
	index  int       // in the heap; -1: not in it
	n      int
	free   bool // see frontier.free
	front  [priorities]fifo
}

// ordering is the order in which the pages of a host are asked. The zero value is breadth first.
type ordering struct {
	lifo bool                   // depth first: the page found last is the next one
	less func(a, b uint32) bool // else by this, when it is given
	// known takes the place of less for known pages. Without less they are asked as they were added, whoever adds them having ordered
	// them.
	known func(a, b uint32) bool
}

// of returns the order of a front queue, nil when it is that of its additions.
func (o *ordering) of(p priority) func(a, b uint32) bool {
	switch {
	case !p.ordered():
		return nil
	case p == prioKnown && o.known != nil:
		return o.known
	}
	return o.less
}

func newFrontier(g gate, o ordering) *frontier {
	f := &frontier{gate: g, order: o, queues: map[string]*backQueue{}, hosts: map[string][]*backQueue{}}
	f.cond.L = &f.mu
	return f
}

// add puts a number into the queue of its origin.
func (f *frontier) add(origin string, id uint32, p priority) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queue(origin)
	if less := f.order.of(p); less != nil {
		q.front[p].insert(id, less)
	} else {
		q.front[p].push(id)
	}
	q.n++
	f.queued++
	if q.index < 0 {
		heap.Push(&f.heap, q)
	}
	f.cond.Signal()
}

// queue returns the queue of an origin. Callers hold f.mu.
func (f *frontier) queue(origin string) *backQueue {
	q := f.queues[origin]
	if q == nil {
		q = &backQueue{origin: origin, host: hostOf(origin), index: -1}
		f.queues[origin] = q
		f.hosts[q.host] = append(f.hosts[q.host], q)
	}
	return q
}

// addAt is add for a URL that must not be asked before a time; the rest of its origin does not wait for it.
func (f *frontier) addAt(origin string, id uint32, p priority, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := &backQueue{origin: origin, host: hostOf(origin), next: at, n: 1}
	q.free = f.queue(origin).free
	q.front[p].push(id)
	f.queued++
	heap.Push(&f.heap, q)
	f.cond.Signal()
}

// next waits for a host that may be asked and returns its first URL. turn says whether a turn of the host was taken, which is not so
// for an origin that was freed. ok is false when nothing is left and nothing is in flight that could bring more, or when the frontier
// was stopped.
func (f *frontier) next(now func() time.Time) (id uint32, origin string, turn, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		if f.stopped || f.queued == 0 && f.inFlight == 0 {
			f.cond.Broadcast()
			return 0, "", false, false
		}
		if len(f.heap) > 0 {
			q, t := f.heap[0], now()
			if q.free {
				return f.take(q), q.origin, false, true
			}
			if !q.next.After(t) {
				ok, again := f.gate.Acquire(q.host, t)
				if ok {
					return f.take(q), q.origin, true, true
				}
				q.next = again
				heap.Fix(&f.heap, q.index)
				continue
			}
			f.wake(q.next, t)
		}
		f.cond.Wait()
	}
}

// another returns one more URL of an origin to whoever has the turn of its host and did not need it.
func (f *frontier) another(origin string) (id uint32, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queues[origin]
	if f.stopped || q == nil || q.n == 0 {
		return 0, false
	}
	return f.take(q), true
}

// free hands out what is queued for an origin, now and later, without waiting for turns: nobody will ask it.
func (f *frontier) free(origin string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue(origin).free = true
	for _, q := range f.heap {
		if q.origin == origin {
			q.free, q.next = true, time.Time{}
		}
	}
	heap.Init(&f.heap)
	f.cond.Broadcast()
}

// freeHost is free for all origins of a host that are known so far.
func (f *frontier) freeHost(host string) {
	f.mu.Lock()
	var origins []string
	for _, q := range f.hosts[host] {
		origins = append(origins, q.origin)
	}
	f.mu.Unlock()
	for _, o := range origins {
		f.free(o)
	}
}

func (f *frontier) take(q *backQueue) uint32 {
	for p := range q.front {
		if id, ok := q.pop(priority(p), &f.order); ok {
			q.n--
			f.queued--
			f.inFlight++
			if q.n == 0 {
				heap.Remove(&f.heap, q.index)
			}
			return id
		}
	}
	panic("mirror: a host without URLs was in the heap")
}

// pop takes the next URL of one front queue.
func (q *backQueue) pop(p priority, o *ordering) (uint32, bool) {
	less := o.of(p)
	switch {
	case less != nil:
		return q.front[p].least(less)
	case p.ordered() && o.lifo:
		return q.front[p].pop(true)
	}
	return q.front[p].pop(false)
}

// ordered reports whether the job's order holds within a front queue; seeds and requisites are always asked as they were found.
func (p priority) ordered() bool { return p == prioNew || p == prioKnown }

// wake makes sure that a worker looks again at t. Callers hold f.mu.
func (f *frontier) wake(t, now time.Time) {
	if !f.wakeAt.IsZero() && !t.Before(f.wakeAt) {
		return
	}
	f.wakeAt = t
	if f.timer != nil {
		f.timer.Stop()
	}
	f.timer = time.AfterFunc(t.Sub(now), func() {
		f.mu.Lock()
		f.wakeAt = time.Time{}
		f.mu.Unlock()
		f.cond.Broadcast()
	})
}

// release tells that a turn of an origin's host ended; the URL is still in flight.
func (f *frontier) release(origin string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wake := func(q *backQueue) {
		q.next = time.Time{}
		if q.index >= 0 {
			heap.Fix(&f.heap, q.index)
		}
	}
	for _, q := range f.hosts[hostOf(origin)] {
		if q.origin != origin { // first: who had this turn comes last
			wake(q)
		}
	}
	if q := f.queues[origin]; q != nil {
		wake(q)
	}
	f.cond.Signal()
}

// done tells that all effects of a URL are known.
func (f *frontier) done() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inFlight--
	if f.inFlight == 0 && f.queued == 0 {
		f.cond.Broadcast()
	}
}

func (f *frontier) isStopped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopped
}

// short reports whether fewer than low URLs are queued, or one of several origins has none and there are not yet very many.
func (f *frontier) short(low int, origins []string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || f.queued < low || len(origins) < 2 || f.queued >= 8*low {
		return !f.stopped && f.queued < low
	}
	for _, o := range origins {
		if q := f.queues[o]; q == nil || q.n == 0 {
			return true
		}
	}
	return false
}

// stop makes every worker come back with nothing.
func (f *frontier) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	if f.timer != nil {
		f.timer.Stop()
	}
	f.cond.Broadcast()
}

// drop forgets the queues, which are empty or not wanted any more.
func (f *frontier) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queues, f.hosts, f.heap, f.queued = nil, nil, nil, 0
}

// frontierState is what a progress line shows.
type frontierState struct {
	queued, inFlight int
	waitHost         string    // the host that is waited for, "" when none
	waitUntil        time.Time // when it may be asked
}

func (f *frontier) state(now time.Time) frontierState {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := frontierState{queued: f.queued, inFlight: f.inFlight}
	if f.inFlight == 0 && len(f.heap) > 0 && f.heap[0].next.After(now) {
		s.waitHost, s.waitUntil = f.heap[0].host, f.heap[0].next
	}
	return s
}

// run calls work for every URL on n goroutines until nothing is left or ctx ends, and waits for them.
func (f *frontier) run(ctx context.Context, n int, now func() time.Time, work func(id uint32, origin string, turn bool)) {
	defer context.AfterFunc(ctx, f.stop)()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for {
				id, origin, turn, ok := f.next(now)
				if !ok {
					return
				}
				work(id, origin, turn)
				f.done()
			}
		})
	}
	wg.Wait()
}

// fifo is a queue of numbers that gives memory back.
type fifo struct {
	head int
	q    []uint32
}

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

// insert and least make the queue a binary heap; it is then used in no other way.
func (q *fifo) insert(id uint32, less func(a, b uint32) bool) {
	q.q = append(q.q, id)
	for i := len(q.q) - 1; i > 0; {
		up := (i - 1) / 2
		if !less(q.q[i], q.q[up]) {
			break
		}
		q.q[i], q.q[up] = q.q[up], q.q[i]
		i = up
	}
}

func (q *fifo) least(less func(a, b uint32) bool) (uint32, bool) {
	n := len(q.q) - 1
	if n < 0 {
		return 0, false
	}
	id := q.q[0]
	q.q[0], q.q = q.q[n], q.q[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c+1 < n && less(q.q[c+1], q.q[c]) {
			c++
		}
		if c >= n || !less(q.q[c], q.q[i]) {
			return id, true
		}
		q.q[i], q.q[c] = q.q[c], q.q[i]
		i = c
	}
}

// hostHeap orders back queues by the time at which their host may be asked.
type hostHeap []*backQueue

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
