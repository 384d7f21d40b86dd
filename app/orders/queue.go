// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"maps"
	"slices"
	"time"
)

// queue has all orders, also those that have ended. What it points to is not changed. It is not safe for
// concurrent use.
type queue map[OrderID]*Ordered

// get is an order, with the result of the one whose run it shares.
func (q queue) get(k OrderID) (Ordered, error) {
	x := q[k]
	if x == nil {
		return Ordered{}, ErrNone
	}
	out := *x
	if same := q[x.twinID()]; same != nil && x.State != Cancelled {
		out.State, out.Why, out.Result, out.Progress = same.State, same.Why, same.Result, same.Progress
		out.Started, out.Ended, out.Look = same.Started, same.Ended, same.Look
		out.Claim, out.Held, out.Depot = same.Claim, same.Held, same.Depot
	}
	return out, nil
}

// of lists the orders of a user, or with "" of all, newest first.
func (q queue) of(user string) (out []Ordered) {
	for _, k := range slices.SortedFunc(maps.Keys(q), compareIDs) {
		if user == "" || q[k].By == user {
			x, _ := q.get(k)
			out = append(out, x)
		}
	}
	slices.Reverse(out)
	return out
}

// QueuePlace is the place of an order in the queue.
type QueuePlace struct {
	Ahead int           // orders that come before
	Wait  time.Duration // about how long they take; 0 when nothing is known

	early time.Duration // until the time before which it does not begin
}

// place says where an order stands, as if one worked at a time.
func (q queue) place(k OrderID, now time.Time) (p QueuePlace) {
	x := q[k]
	if x == nil {
		return p
	}
	if same := q[x.twinID()]; same != nil {
		x = same
	}
	for _, y := range q {
		before := y.State == Runs || (y.State == Waits && y.Same == 0 && y.before(x))
		if y == x || !before {
			continue
		}
		p.Ahead++
		p.Wait += y.takes()
	}
	p.early = max(0, x.Want.Start.Sub(now))
	return p
}

// before orders the queue.
func (o *Ordered) before(x *Ordered) bool {
	return o.Placed.Before(x.Placed) || (o.Placed.Equal(x.Placed) && compareIDs(o.OrderID, x.OrderID) < 0)
}

// takes is about how long the run of an order takes.
func (o *Ordered) takes() time.Duration {
	if o.Look == nil {
		return 0
	}
	files := min(o.Look.Least, o.Want.Files)
	return time.Duration(files) * max(o.Want.Delay, o.Look.Gap())
}

// twin finds an order that makes the same archives: it is in the queue, or its archives are of this day and
// can be had.
func (q queue) twin(x *Ordered, now time.Time, had func(*Ordered) bool) *Ordered {
	for _, y := range q {
		if y.OrderID == x.OrderID || y.Same != 0 || !y.Want.same(&x.Want) {
			continue
		}
		switch y.State {
		case Waits, Runs, Asks:
			if !y.Want.Start.After(now) && !x.Want.Start.After(now) && (y.State != Asks || y.By == x.By) {
				return y
			}
		case Done:
			if now.Sub(y.Started) < 24*time.Hour && y.Expires.After(now) && had(y) {
				return y
			}
		}
	}
	return nil
}

// shared reports whether other orders wait for the run of this one.
func (q queue) shared(k OrderID) bool {
	for _, y := range q {
		if y.twinID() == k && y.State != Cancelled {
			return true
		}
	}
	return false
}

// room is what archives take here, and what orders that were placed may still take.
func (q queue) room(here func(*Ordered) bool) (bytes int64) {
	for _, o := range q {
		if !here(o) {
			continue
		}
		bytes += o.Stored()
		if o.Same == 0 && (o.State == Waits || o.State == Runs) {
			bytes += 2 * int64(o.Want.Size)
		}
	}
	return bytes
}
