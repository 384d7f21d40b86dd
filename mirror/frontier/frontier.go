// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"mirrord/fetch"
	"mirrord/scheduler/status"
)

// Frontier holds the URLs that were admitted but not yet requested in this run; each enters once. It is
// Mercator's (Najork and Heydon; Manning, Raghavan, Schütze, lecture on crawling): front queues order by
// priority, each origin has one back queue, and a heap of back queues by the time at which each is due feeds
// the workers. A worker waits only while no host is due. The origins of one host share its turns, but not its
// troubles. The run journal also has the content of the frontier; a resumed run reads it there. Safe for
// concurrent use.
type Frontier struct {
	turns turns
	order Ordering
	long  func(host string, until time.Time) // leaves a host for which the job does not wait; nil: it waits

	mu       sync.Mutex
	cond     sync.Cond
	queues   map[string]*backQueue   // by origin
	hosts    map[string][]*backQueue // by host
	heap     hostHeap
	queued   int // without optional ones, which do not hold the run, see AddAt
	inFlight int
	flying   map[string]int // URLs in flight, by host
	idle     int            // workers that wait
	held     bool           // nothing is handed out, see Hold
	stopped  bool
	timer    *time.Timer
	wakeAt   time.Time
	helpers  []*helping // see Lend
	serve    func(Lent) // of helpers
}

// NewFrontier returns an empty frontier whose URLs take turns of g.
func NewFrontier(g turns, o Ordering) *Frontier {
	f := &Frontier{
		turns:  g,
		order:  o,
		queues: map[string]*backQueue{},
		hosts:  map[string][]*backQueue{},
		flying: map[string]int{},
	}
	f.cond.L = &f.mu
	return f
}

// Add puts a number into the queue of its origin.
func (f *Frontier) Add(origin string, id uint32, p Priority) {
	f.put(origin, id, func(q *backQueue, id uint32) {
		if c := f.order.Credits; c != nil && p == PrioSeed {
			c.enter(id)
		}
		q.put(p, id, &f.order)
	})
}

// locked calls do while nothing else changes the frontier.
func (f *Frontier) locked(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// put lets push put a number into the queue of its origin.
func (f *Frontier) put(origin string, id uint32, push func(q *backQueue, id uint32)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queue(origin)
	push(q, id)
	q.n++
	f.queued++
	if q.index < 0 {
		heap.Push(&f.heap, q)
	}
	f.cond.Signal()
}

// queue returns the queue of an origin. The caller holds f.mu.
func (f *Frontier) queue(origin string) *backQueue {
	q := f.queues[origin]
	if q == nil {
		q = &backQueue{origin: origin, host: fetch.HostOf(origin), index: -1}
		f.queues[origin] = q
		f.hosts[q.host] = append(f.hosts[q.host], q)
	}
	return q
}

// AddAt adds a URL, behind all others, that must not be requested before a time; the rest of its origin does
// not wait for it. One that is optional is requested only if something else keeps the run going until then.
func (f *Frontier) AddAt(origin string, id uint32, at time.Time, optional bool) {
	q := &backQueue{
		origin:   origin,
		host:     fetch.HostOf(origin),
		next:     at,
		n:        1,
		optional: optional,
	}
	q.front[PrioLast].push(id)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !optional {
		f.queued++
		q.free = f.queue(origin).free
	}
	heap.Push(&f.heap, q)
	f.cond.Signal()
}

// handed is what a worker is given: a URL of an origin, or what a helper does.
type handed struct {
	id     uint32
	origin string
	turn   bool // a turn of the host was taken, which is not so for an origin that was freed
	lent   Lent // of a helper; else without one
}

// next waits for a host that is due and returns its first URL, or what a helper does that is due. ok is false
// when nothing is left and nothing is in flight that could bring more, or when the frontier was stopped.
func (f *Frontier) next(now func() time.Time) (h handed, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		if f.stopped || (f.queued == 0 && f.inFlight == 0 && !f.heap.due(now())) {
			f.cond.Broadcast()
			return handed{}, false
		}
		if len(f.heap) > 0 && !f.held {
			q, t := f.heap[0], now()
			if q.free {
				return handed{id: f.take(q), origin: q.origin}, true
			}
			if !q.next.After(t) {
				if f.join(q) {
					continue
				}
				ok, again := f.turns.Acquire(q.origin, t)
				if ok {
					return handed{id: f.take(q), origin: q.origin, turn: true}, true
				}
				q.next = again
				heap.Fix(&f.heap, q.index)
				if f.long != nil && f.turns.TooLong(again, t) {
					f.mu.Unlock()
					f.long(q.host, again) // it frees the host
					f.mu.Lock()
				}
				continue
			}
			if lent, ok := f.lend(t); ok {
				return handed{origin: lent.Helper.Origin(), lent: lent}, true
			}
			f.wake(q.next, t)
		}
		f.idle++
		f.cond.Wait()
		f.idle--
	}
}

// join puts a URL that has waited for its time behind the others of its origin, if there are any, and reports
// that: they have not had a turn. The caller holds f.mu.
func (f *Frontier) join(q *backQueue) bool {
	all := f.queues[q.origin]
	if q.optional || q == all || all == nil || all.n == 0 {
		return false
	}
	heap.Remove(&f.heap, q.index)
	for p := range q.front {
		for id, ok := q.pop(Priority(p), &f.order); ok; id, ok = q.pop(Priority(p), &f.order) {
			all.front[PrioLast].push(id)
			all.n++
		}
	}
	return true
}

// Hold says whether URLs are handed out; those that wait for that stay where they are.
func (f *Frontier) Hold(held bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = held
	f.cond.Broadcast()
}

// Pause reports whether a URL could be handed out now, were the frontier not held; else p says what the run
// waits for. While something is in flight that is ForSlow, because its end may bring more. No Why says that
// the frontier is about to end.
func (f *Frontier) Pause(now time.Time) (can bool, p Pause) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.heap) > 0 && f.idle > 0 && !f.stopped {
		q := f.heap[0]
		if q.free {
			return true, p
		}
		if q.next.After(now) {
			break
		}
		ok, again := f.turns.Acquire(q.origin, now)
		if ok {
			f.turns.Release(q.origin, fetch.Observation{Unused: true})
			return true, p
		}
		if f.long != nil && f.turns.TooLong(again, now) {
			return true, p // next leaves the host
		}
		q.next = again
		heap.Fix(&f.heap, q.index)
	}
	var soon time.Time // when a helper is due
	if f.idle > 0 && !f.stopped {
		h, _, again := f.dueHelper(now)
		if h != nil {
			f.turns.Release(h.Origin(), fetch.Observation{Unused: true})
			return true, p
		}
		soon = again
	}
	switch {
	case f.stopped, f.queued == 0 && f.inFlight == 0: // an optional URL is not waited for
	case f.inFlight > 0:
		p.Why = status.ForSlow
		for host, n := range f.flying {
			if m := f.flying[p.Host]; n > m || (n == m && host < p.Host) {
				p.Host = host
			}
		}
	case len(f.heap) > 0:
		p = pauseFor(f.turns, f.heap[0].origin, f.heap[0].next, now)
		if !soon.IsZero() && soon.Before(p.Until) {
			p.Until = soon
		}
	}
	return false, p
}

// Another returns one more URL of an origin to a worker that has the turn of its host and did not need it.
func (f *Frontier) Another(origin string) (id uint32, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queues[origin]
	if f.stopped || f.held || q == nil || q.n == 0 {
		return 0, false
	}
	return f.take(q), true
}

// Free hands out the queued URLs of an origin, now and later, without waiting for turns: no request follows.
func (f *Frontier) Free(origin string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue(origin).free = true
	for _, q := range f.heap {
		if q.origin == origin && !q.optional {
			q.free, q.next = true, time.Time{}
		}
	}
	heap.Init(&f.heap)
	f.cond.Broadcast()
}

// FreeHost is Free for all origins of a host that are known so far.
func (f *Frontier) FreeHost(host string) {
	f.mu.Lock()
	var origins []string
	for _, q := range f.hosts[host] {
		origins = append(origins, q.origin)
	}
	f.mu.Unlock()
	for _, o := range origins {
		f.Free(o)
	}
}

func (f *Frontier) take(q *backQueue) uint32 {
	id, ok := q.take(&f.order)
	if !ok {
		panic("crawl: a host without URLs was in the heap")
	}
	q.n--
	if !q.optional {
		f.queued--
	}
	f.inFlight++
	f.flying[q.host]++
	if q.n == 0 {
		heap.Remove(&f.heap, q.index)
	}
	return id
}

// wake makes sure that a worker looks again at t. The caller holds f.mu.
func (f *Frontier) wake(t, now time.Time) {
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

// Release ends a turn of an origin's host; the URL is still in flight.
func (f *Frontier) Release(origin string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wake := func(q *backQueue) {
		q.next = time.Time{}
		if q.index >= 0 {
			heap.Fix(&f.heap, q.index)
		}
	}
	for _, q := range f.hosts[fetch.HostOf(origin)] {
		if q.origin != origin { // first: who had this turn comes last
			wake(q)
		}
	}
	if q := f.queues[origin]; q != nil {
		wake(q)
	}
	f.cond.Signal()
}

// Done says that all effects of a URL of an origin are known: it is no longer in flight.
func (f *Frontier) Done(origin string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inFlight--
	host := fetch.HostOf(origin)
	if f.flying[host]--; f.flying[host] <= 0 {
		delete(f.flying, host)
	}
	if f.inFlight == 0 && f.queued == 0 {
		f.cond.Broadcast()
	}
}

// IsStopped reports whether Stop was called.
func (f *Frontier) IsStopped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopped
}

// Short reports whether fewer than low URLs are queued, or one of several origins has none and there are not
// yet very many.
func (f *Frontier) Short(low int, origins []string) bool {
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

// Stop makes every worker come back with nothing.
func (f *Frontier) Stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopped = true
	if f.timer != nil {
		f.timer.Stop()
	}
	f.cond.Broadcast()
}

// Drop forgets the queues, which are empty or no longer wanted.
func (f *Frontier) Drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queues, f.hosts, f.heap, f.queued, f.order.Credits = nil, nil, nil, 0, nil
}

// Run calls work for every URL on n goroutines until nothing is left or ctx ends, and waits for them. turn
// says whether work has a turn of the origin's host, which it must release.
func (f *Frontier) Run(
	ctx context.Context, n int, now func() time.Time, work func(id uint32, origin string, turn bool),
) {
	defer context.AfterFunc(ctx, f.Stop)()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for {
				h, ok := f.next(now)
				if !ok {
					return
				}
				if h.lent.Helper != nil {
					f.serve(h.lent)
				} else {
					work(h.id, h.origin, h.turn)
				}
				f.Done(h.origin)
			}
		})
	}
	wg.Wait()
}
