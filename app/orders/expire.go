// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"context"
	"log/slog"
	"time"
)

// expire removes what has been there for long enough. In a cluster each order is expired by one node, and
// each node removes from its disk files that are no longer needed.
func (s *Orders) expire(ctx context.Context) {
	if s.Cluster != nil && s.Cluster.Session() == "" {
		return // the local copy may be days old
	}
	now := s.Now()
	due := map[OrderID]func(x *Ordered) error{}
	var forget []OrderID
	s.read(func(all queue, _ *terms) {
		for k, x := range all {
			same := all[x.twinID()]
			change := aged(x, same, now)
			switch {
			case x.State.Ended() && !x.Ended.IsZero() && x.State != Done && now.Sub(x.Ended) > toldFor,
				x.Same != 0 && same == nil && s.node == "",
				x.Same != 0 && same == nil && now.Sub(x.Placed) > beingFor:
				if s.claims.rank(x) == 0 {
					forget = append(forget, k)
				}
			case change != nil && s.claims.rank(x) == 0:
				due[k] = change
			}
		}
	})
	for _, k := range forget {
		if err := s.forget(k); err != nil {
			s.Log.Error("an order is not forgotten", "order", k.Ref(), "err", err)
			return // others would have to wait, too
		}
	}
	for k, change := range due {
		x, err := s.update(k, change)
		switch {
		case err != nil:
			s.Log.Log(ctx, levelOf(err), "an order is not kept", "order", k.Ref(), "err", err)
			if levelOf(err) == slog.LevelError {
				return
			}
		case x.State == Expired:
			s.drop(k, filesDir, stateDir)
			if s.inDepot(&x) {
				s.group.Go(func() { s.withdraw(ctx, x) })
			}
		}
	}
	s.tidy(now)
	s.sweep(ctx, now)
}

// aged is the change of an order that is due by its age; nil: nothing.
func aged(x, same *Ordered, now time.Time) func(x *Ordered) error {
	state := x.State
	expired := func(y *Ordered) error {
		if y.State != state || (state == Done && !now.After(y.Expires)) {
			return errTaken
		}
		if y.State = Expired; state == Done {
			y.Result.Archives = nil
		} else {
			y.Ended = now
		}
		return nil
	}
	switch {
	case state == Done && now.After(x.Expires), state == Draft && now.Sub(x.At) > draftFor:
		return expired
	case state == Waits && same != nil && (same.State == Cancelled ||
		(same.Placed.IsZero() && now.Sub(x.Placed) > beingFor)):
		return func(y *Ordered) error { // it was to share a run that is not made
			y.Same, y.SameNode, y.Expires = 0, "", time.Time{}
			return nil
		}
	}
	return nil
}
