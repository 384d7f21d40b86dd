// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"mirrord/internal/count"
	"mirrord/mirror/result"
)

// The parts of an order's folder.
const (
	stateDir = "state" // while it runs
	filesDir = "files" // its archives
)

// How long things take and stay.
const (
	every    = time.Minute         // between two looks at the clock
	retry    = 10 * time.Minute    // after a run that ended early
	tries    = 3                   // runs of one order
	draftFor = 24 * time.Hour      // a draft stays
	toldFor  = 90 * 24 * time.Hour // an order that has ended is shown
	looks    = 2                   // previews at a time
	tellGap  = 500 * time.Millisecond
	noteGap  = 20 * time.Second // between two notes of how many requests a run has made
)

// Run works until ctx ends, and then waits for work in progress. Interrupted orders continue after the next
// start, or on another node.
func (s *Orders) Run(ctx context.Context) {
	defer s.group.Wait()
	s.group.Go(func() { s.Facts.Watch(ctx, s.hear) })
	if s.Cluster != nil {
		s.group.Go(func() { follow(ctx, s.Cluster, s.board) })
	}
	for {
		s.expire(ctx)
		again := s.begin(ctx)
		s.tellTwins(ctx)
		s.upload(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(again):
		case <-s.wake:
		}
	}
}

// begin starts what this node is to do, and returns when to look again.
func (s *Orders) begin(ctx context.Context) (again time.Duration) {
	var held []Claim
	s.read(func(all queue, _ *terms) {
		for k, x := range all {
			if _, ours := s.active[k]; x.underWay() && x.Claim.Session != "" && !ours {
				held = append(held, x.Claim)
			}
		}
	})
	if s.Cluster != nil {
		s.claims.look(ctx, held)
		if s.Cluster.Drained() {
			return every
		}
	}
	for {
		x, wait := s.next()
		if x == nil || ctx.Err() != nil {
			return wait
		}
		if err := s.start(ctx, x); err != nil {
			s.Log.Log(ctx, levelOf(err), "an order does not begin here", "order", x.Ref(), "err", err)
			return min(wait, s.Patience)
		}
	}
}

// levelOf distinguishes usual conflicts among nodes from errors that an operator should see.
func levelOf(err error) slog.Level {
	if errors.Is(err, errTaken) || errors.Is(err, errNoSession) || errors.Is(err, ErrNone) {
		return slog.LevelDebug
	}
	return slog.LevelError
}

// next is the order that this node is to begin now; nil: none now, but there may be one after wait.
func (s *Orders) next() (next *Ordered, wait time.Duration) {
	looking, running := s.busy()
	now, at := s.Now(), time.Now()
	wait = every
	free := map[OrderID]bool{}
	s.read(func(all queue, _ *terms) {
		for _, k := range slices.SortedFunc(maps.Keys(all), compareIDs) {
			x := all[k]
			_, ours := s.active[k]
			look := x.State == Looking
			waits := x.State == Runs || (x.State == Waits && x.Same == 0 && !x.Want.Start.After(now))
			if ours || (!look && !waits) {
				continue
			}
			if x.underWay() && !s.claims.isFree(x, at) {
				if _, over := s.claims.over[x.Claim]; over || s.claims.unsure {
					wait = min(wait, stale, s.Patience)
				}
				continue
			}
			free[k] = true
			if (look && looking >= looks) || (waits && running >= s.Workers) {
				continue
			}
			if mine := s.claims.wait(x, at); mine > 0 {
				wait = min(wait, mine)
				continue
			}
			first := next == nil || (look && next.State != Looking) ||
				(!look && next.State != Looking && x.before(next))
			if first {
				next = x
			}
		}
	})
	maps.DeleteFunc(s.claims.free, func(id OrderID, _ time.Time) bool { return !free[id] })
	return next, wait
}

// start begins to work on an order, unless another node was first.
func (s *Orders) start(ctx context.Context, x *Ordered) error {
	claim, ok := s.claims.claim(x.Claim)
	if !ok {
		return errNoSession
	}
	o := *x
	if s.Cluster != nil || x.State != Looking {
		var err error
		o, err = s.update(x.OrderID, func(y *Ordered) error {
			switch {
			case y.Claim != x.Claim || y.State != x.State:
				return errTaken
			case y.Stop:
				y.State, y.Ended, y.Stop = Cancelled, s.Now(), false
			case y.State != Looking:
				y.State, y.Started = Runs, s.Now()
			}
			y.Claim = claim
			return nil
		})
		if err != nil || o.State == Cancelled {
			return err
		}
	}
	work, end := context.WithCancelCause(ctx)
	ended := s.begins(o.OrderID, o.Claim, end)
	if !s.holds(o.Claim) { // the session ended before it could be told
		end(errLost)
	}
	s.group.Go(func() {
		defer ended()
		defer end(nil)
		if o.State == Looking {
			s.look(work, o)
			return
		}
		m := making{s, o}
		m.run(work)
	})
	return nil
}

// holds reports whether a claim of this process counts.
func (s *Orders) holds(c Claim) bool { return s.Cluster == nil || s.Cluster.Session() == c.Session }

// change changes an order that this process works on, or had worked on at last, and keeps it. While keepers
// do not answer it tries again, as long as the claim counts: else what a run came to would be lost.
func (s *Orders) change(o Ordered, f func(x *Ordered)) Ordered {
	for {
		x, err := s.update(o.OrderID, func(x *Ordered) error {
			if x.Claim.Token != o.Claim.Token || x.Claim.Node != o.Claim.Node {
				return errTaken
			}
			f(x)
			return nil
		})
		if err == nil {
			return x
		}
		s.Log.Log(context.Background(), levelOf(err), "an order is not kept", "order", o.Ref(), "err", err)
		if !errors.Is(err, ErrKeepers) || !s.holds(o.Claim) {
			return o
		}
		time.Sleep(s.Patience)
	}
}

// tellTwins sends the mail of orders whose archives another order made.
func (s *Orders) tellTwins(ctx context.Context) {
	for _, y := range s.List(User{Operator: true}) {
		if y.Same == 0 || y.Mailed != "" || y.Want.Mail == "" || (y.State != Done && y.State != Failed) ||
			s.claims.rank(&y) > 0 {
			continue
		}
		_, err := s.update(y.OrderID, func(x *Ordered) error {
			if x.Mailed != "" {
				return errTaken
			}
			x.Mailed = "being sent to " + x.Want.Mail
			return nil
		})
		if err == nil {
			s.group.Go(func() { s.mail(ctx, y) })
		}
	}
}

// mail notifies the user how an order ended.
func (s *Orders) mail(ctx context.Context, o Ordered) {
	if o.Want.Mail == "" || s.Mail == nil {
		return
	}
	subject, text := o.message()
	went := "sent to " + o.Want.Mail
	if err := s.Mail(ctx, o.Want.Mail, subject, text); err != nil {
		went = fmt.Sprintf("not sent to %s: %v", o.Want.Mail, err)
		s.Log.Error("mail of an order was not sent", "order", o.Ref(), "err", err)
	}
	_, err := s.update(o.OrderID, func(x *Ordered) error {
		x.Mailed = went
		return nil
	})
	if err != nil {
		s.Log.Error("how mail of an order went is not kept", "order", o.Ref(), "err", err)
	}
}

// message is the mail of an order that has ended.
func (o *Ordered) message() (subject, text string) {
	subject = fmt.Sprintf("order %s: the mirror of %s is ready", o.Ref(), o.Want.URL)
	if o.State == Failed {
		subject = fmt.Sprintf("order %s: the mirror of %s failed", o.Ref(), o.Want.URL)
		return subject, fmt.Sprintf("%s\n\n%s/orders/%s\n", o.Why, o.Base, o.Path())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s, %s.\n", o.Want.URL, count.Of(o.Result.Files, "file"),
		result.Bytes(o.Result.Bytes),
		o.Result.Verdict)
	for _, why := range o.Result.Reasons {
		fmt.Fprintf(&b, "  %s\n", why)
	}
	fmt.Fprintf(&b, "\nDownload it until %s, after a login:\n\n  %s/orders/%s\n\n",
		o.Expires.UTC().Format("2006-01-02 15:04 UTC"), o.Base, o.Path())
	for _, a := range o.Result.Archives {
		fmt.Fprintf(&b, "  %s, %s\n", a.Name, result.Bytes(a.Bytes))
	}
	return subject, b.String()
}
