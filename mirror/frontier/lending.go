// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"cmp"
	"slices"
	"time"

	"mirrord/fetch"
	"mirrord/mirror/urls"
)

// A helper is a host that may be requested instead of an origin's. While the origin's host is not due, a
// helper whose turn it is takes the next URL of the origin that it may have: the faster a host gives turns
// back, the more it gets. What a helper may not have, or does not give, only the origin is asked for.

// Helper is one host that helps an origin. All methods are called with the lock of the frontier held.
type Helper interface {
	Origin() string               // of the helper
	Wish(last bool) urls.LentWish // last: the origin's last URLs wait, which are not lent
	Begin(w urls.LentWish)        // a turn for that was taken
	Can(id uint32) bool           // whether it may be requested for a URL of the origin
	Took() time.Duration          // the mean time of its answers: the fastest helper comes first
}

// Lent is a turn of a helper's host, with what it is for.
type Lent struct {
	Helper Helper
	Wish   urls.LentWish
	ID     uint32 // of urls.WishURL
	Of     string // origin whose URL it is
}

// helping is a helper of one origin.
type helping struct {
	Helper
	of   string // the origin that it helps
	host string
	next time.Time // when the host is due
}

const (
	lendFrom = 4  // URLs must wait for an origin, or helpers get none: the last ones are its own
	lendLook = 64 // URLs at most are looked at in one turn of a helper to find one that it may have
)

// Lend makes hosts helpers of an origin. serve does what a turn is for, and releases it.
func (f *Frontier) Lend(of string, helpers []Helper, serve func(Lent)) {
	f.locked(func() {
		f.serve = serve
		for _, h := range helpers {
			f.helpers = append(f.helpers, &helping{Helper: h, of: of, host: fetch.HostOf(h.Origin())})
		}
	})
}

// lend takes a turn of a helper that is due and has use for it. The frontier is locked.
func (f *Frontier) lend(now time.Time) (l Lent, ok bool) {
	h, wish, again := f.dueHelper(now)
	if h == nil {
		if !again.IsZero() {
			f.wake(again, now)
		}
		return l, false
	}
	l = Lent{Helper: h.Helper, Wish: wish, Of: h.of}
	if l.Wish == urls.WishURL {
		if l.ID, ok = f.queues[h.of].lend(h.Can, &f.order); !ok {
			f.turns.Release(h.Origin(), fetch.Observation{Unused: true})
			return l, false
		}
		f.queued--
	}
	h.Begin(l.Wish)
	f.inFlight++
	f.flying[h.host]++
	return l, true
}

// dueHelper takes a turn of the fastest helper that is due and has use for it; else again says when the first
// one is due, the zero time if none waits for its turn. The frontier is locked.
func (f *Frontier) dueHelper(now time.Time) (_ *helping, wish urls.LentWish, again time.Time) {
	if len(f.helpers) > 1 {
		slices.SortStableFunc(f.helpers, func(a, b *helping) int { return cmp.Compare(a.Took(), b.Took()) })
	}
	for _, h := range f.helpers {
		q := f.queues[h.of]
		if q == nil || q.free || q.n == 0 {
			continue
		}
		last := q.n < lendFrom || q.n == q.kept.len()
		if wish = h.Wish(last); wish == urls.NoWish || (last && wish == urls.WishURL) {
			continue
		}
		if !h.next.After(now) {
			var ok bool
			if ok, h.next = f.turns.Acquire(h.Origin(), now); ok {
				return h, wish, time.Time{}
			}
		}
		if again.IsZero() || h.next.Before(again) {
			again = h.next
		}
	}
	return nil, urls.NoWish, again
}

// lend takes the next URL that a helper may have. What comes before it is the origin's.
func (q *backQueue) lend(can func(id uint32) bool, o *Ordering) (id uint32, ok bool) {
	looked := 0
	for p := PrioFirst; p <= PrioKnown; p++ {
		for ; looked < lendLook; looked++ {
			id, ok := q.pop(p, o)
			if !ok {
				break
			}
			if can(id) {
				q.n-- // some are left, see lendFrom: it stays in the heap
				return id, true
			}
			q.kept.push(id)
		}
	}
	return 0, false
}

// Keep puts a URL back that a helper did not give: it is the origin's next one.
func (f *Frontier) Keep(origin string, id uint32) { f.put(origin, id, (*backQueue).keep) }

// keep puts a URL among those that only the origin is asked for.
func (q *backQueue) keep(id uint32) { q.kept.push(id) }

// releaseLent ends a turn of a helper's host.
func (f *Frontier) releaseLent(of Helper) {
	f.Release(of.Origin())
	f.locked(func() {
		for _, h := range f.helpers {
			if h.host == fetch.HostOf(of.Origin()) {
				h.next = time.Time{}
			}
		}
		f.cond.Signal()
	})
}
