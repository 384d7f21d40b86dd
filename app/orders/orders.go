// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"mirrord/app/access"
	"mirrord/app/env"
	"mirrord/cluster/objects"
	"mirrord/fetch"
	"mirrord/internal/count"
	"mirrord/job"
	"mirrord/mirror/result"
	"mirrord/scheduler/control"
)

// Options are what orders need.
type Options struct {
	App     *env.App // its State is where the folder orders lies; its Hosts are shared; required
	Facts   Facts    // required
	Free    func() (int64, error)
	Own     []netip.Prefix // the networks of this machine
	Workers int            // runs at a time; default 2
	// what mirrors and orders may take on the disk, and what mirrors take; nil: no limit
	Room    func() (most, taken int64, err error)
	Silence time.Duration // that a site may keep before it answers; 0: as in a job
	Now     func() time.Time
	Log     *slog.Logger
	// Mail sends one message; nil: mail cannot be ordered
	Mail func(ctx context.Context, to, subject, text string) error
	// Reload puts a new job file in force
	Reload func() error
	// Cluster is the one that this machine is a node of; Facts are its facts then. nil without a cluster
	Cluster NodeSessions
	// Depot is where archives lie beside the disk of a node of a cluster. nil: nowhere
	Depot objects.Store
	// Again is the pause after archives that did not get there; default a minute
	Again time.Duration
	// Patience is how long a node leaves an order to each one that comes before it; default 2 s
	Patience time.Duration
}

// Orders are all orders of a daemon, or of all nodes of a cluster. It is safe for concurrent use.
type Orders struct {
	Options
	app    *env.App
	claims *claims
	group  sync.WaitGroup
	*shelf
}

// Errors of orders.
var (
	ErrNone = control.WithCode(errors.New("there is no such order, or it belongs to another user"),
		control.ErrNotFound)

	errCancelled = errors.New("the order was cancelled")
	errRequests  = errors.New("it has made as many requests as it may in a day")
)

// cannot says that the state of an order does not allow the operation.
func (x *Ordered) cannot(be string) error {
	err := fmt.Errorf("order %s cannot be %s: its state is now “%s”", x.Ref(), be, x.State.Words())
	return control.WithCode(err, control.ErrConflict)
}

// New takes over the orders of the process before. It starts nothing: Run does.
func New(o Options) (*Orders, error) {
	o.Workers = cmp.Or(o.Workers, 2)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Patience, o.Again = cmp.Or(o.Patience, 2*time.Second), cmp.Or(o.Again, time.Minute)
	s := &Orders{Options: o}
	s.claims = &claims{Options: &s.Options, over: map[Claim]time.Time{}, free: map[OrderID]time.Time{}}
	board, err := newBoard(o.Facts, o.Log)
	if err != nil {
		return nil, fmt.Errorf("orders: %w", err)
	}
	s.shelf = &shelf{board: board, options: &s.Options, depot: newDepotShelf(o.Depot)}
	if o.Cluster != nil {
		s.node = o.Cluster.Me()
	}
	a := *o.App
	inner := a.Network
	if inner == nil {
		inner = fetch.System()
	}
	a.Network, a.Warn, a.Note = outside{inner, o.Own}, nil, nil
	a.Owner = nil // an order has a state of its own, and a claim
	s.app = &a
	return s, nil
}

// Left is what a user may still have today.
func (s *Orders) Left(user string) (r Limits) {
	now := s.Now()
	s.read(func(all queue, t *terms) { r = t.left(user, all, t.unseen(all, OrderID{}, now), now) })
	return r
}

// Suggest is what a user orders who chooses nothing but an address.
func (s *Orders) Suggest(who User) Wish {
	l := s.Limits()
	files := l.Files
	if !who.Operator {
		files = max(1, s.Left(who.Name).Files)
	}
	return Wish{
		Scope: "directory",
		Files: files,
		Size:  l.Size,
		Delay: max(l.Delay.Duration(), 250*time.Millisecond),
		Forms: []string{"phm"},
	}
}

// Seen is an order, by its name as users write it (OrderID.Ref), if a user may see it: operators see all,
// others their own. A number alone is one of this node.
func (s *Orders) Seen(by User, ref string) (Ordered, error) {
	k, err := s.named(ref)
	if err != nil {
		return Ordered{}, err
	}
	x, err := s.Get(k)
	if err == nil && x.By != by.Name && !by.Operator {
		return Ordered{}, ErrNone
	}
	return x, err
}

// Place says where an order stands.
func (s *Orders) Place(k OrderID) (p QueuePlace) {
	s.read(func(all queue, _ *terms) { p = all.place(k, s.Now()) })
	workers := s.Workers
	if s.Cluster != nil {
		workers *= max(1, len(s.Cluster.Members()))
	}
	p.Wait /= time.Duration(workers)
	p.Wait = max(p.Wait, p.early)
	return p
}

// User is a user who orders.
type User struct {
	Name     string
	Operator bool
	Base     string // where the console was reached
}

// Draft begins an order: it is looked at, and waits to be placed.
func (s *Orders) Draft(who User, w Wish) (Ordered, error) {
	now, l := s.Now(), s.Limits()
	if err := w.check(&l, now); err != nil {
		return Ordered{}, err
	}
	if w.Mail != "" && s.Mail == nil {
		return Ordered{}, env.Usagef("mail: this daemon sends no mail")
	}
	if !who.Operator && s.Left(who.Name).Looks < 1 {
		return Ordered{}, env.Usagef("you have had %s within a day, which is as many as one may",
			count.Of(l.Looks, "preview"))
	}
	for {
		k, err := s.Facts.Next()
		if err != nil {
			return Ordered{}, err
		}
		x := Ordered{Free: who.Operator, Base: who.Base, Want: w}
		x.OrderID, x.By, x.At, x.State = k, who.Name, now, Looking
		made, err := s.create(&x)
		if err != nil || made {
			return x, err
		}
	}
}

// PlaceOrder places a draft: it runs in its turn. With ask, an order that exceeds the user's limits is put
// before an operator. An order that was placed before, and whose archives are there or will be, is not run
// again.
func (s *Orders) PlaceOrder(k OrderID, who User, ask bool) error {
	x, err := s.Get(k)
	switch {
	case err != nil:
		return err
	case x.State != Draft:
		return x.cannot("placed")
	case x.Look != nil && x.Look.Problem != "":
		return env.Usagef("%s", x.Why)
	}
	if err := s.room(&x.Want); err != nil {
		return err
	}
	now := s.Now()
	err = s.agree(func(t *terms) (err error) {
		x.Placed, x.State, x.Why = now, Waits, ""
		x.Same, x.SameNode, x.Expires = 0, "", time.Time{} // of an attempt that lost to another process
		s.read(func(all queue, _ *terms) { err = s.place(&x, t, all, who, ask) })
		if err == nil && x.Same == 0 {
			t.begin(&x, now)
		}
		return err
	})
	if err != nil {
		return err
	}
	_, err = s.update(k, func(y *Ordered) error {
		if y.State != Draft {
			return y.cannot("placed")
		}
		y.Placed, y.State, y.Why, y.Expires = x.Placed, x.State, x.Why, x.Expires
		y.Same, y.SameNode = x.Same, x.SameNode
		return nil
	})
	if err != nil || x.Same == 0 {
		return err
	}
	_, err = s.update(x.twinID(), func(y *Ordered) error {
		if !y.Expires.IsZero() {
			y.Expires = x.Expires
		}
		return nil
	})
	return err
}

// place decides how an order stands that is being placed: it shares the run of another one, waits for its
// turn, or for an operator.
func (s *Orders) place(x *Ordered, t *terms, all queue, who User, ask bool) error {
	now, being := x.Placed, t.unseen(all, x.OrderID, x.Placed)
	if y := all.twin(x, now, s.canBeHad); y != nil {
		x.Same, x.SameNode, x.Expires = y.Number, y.Node, now.Add(t.keeps())
		return nil
	}
	wish := x.Want.digest()
	for _, p := range being {
		if p.Wish == wish && (!p.Asks || p.By == x.By) && !x.Want.Start.After(now) {
			x.Same, x.SameNode, x.Expires = p.Number, p.Node, now.Add(t.keeps())
			return nil
		}
	}
	if who.Operator {
		return nil
	}
	why := t.over(x, t.left(x.By, all, being, now))
	if why == "" {
		why = x.tooLarge()
	}
	if why == "" && t.Approve {
		why, ask = "each order is approved by an operator", true
	}
	if why == "" {
		return nil
	}
	if !ask {
		return env.Usagef("%s; an operator can allow more", why)
	}
	x.State, x.Why = Asks, why
	return nil
}

// room refuses orders when the disk fills up, or what all mirrors may take, before jobs have to stop.
func (s *Orders) room(w *Wish) error {
	if err := s.share(w); err != nil {
		return err
	}
	if s.Free == nil {
		return nil
	}
	free, err := s.Free()
	if err != nil {
		return err
	}
	floor := 2 * int64(job.Default().Limits.MinFree)
	if need := floor + 2*int64(w.Size); free < need {
		err := fmt.Errorf("the disk of the mirror host is nearly full: %s are free, and an order of %s needs %s; "+
			"order less, or try again later", result.Bytes(free), w.Size, result.Bytes(need))
		return control.WithCode(err, control.ErrConflict)
	}
	return nil
}

// share refuses an order that would take, with the archives of all orders and what others may still take,
// room that the mirrors are limited to.
func (s *Orders) share(w *Wish) error {
	if s.Room == nil {
		return nil
	}
	most, taken, err := s.Room()
	if err != nil || most <= 0 {
		return err
	}
	s.read(func(all queue, _ *terms) { taken += all.room(s.isHere) })
	if need := 2 * int64(w.Size); taken+need > most {
		err := fmt.Errorf("the mirrors of this host may take %s, and with the orders %s are taken: "+
			"an order of %s needs %s; order less, or try again later", result.Bytes(most), result.Bytes(taken), w.Size,
			result.Bytes(need))
		return control.WithCode(err, control.ErrConflict)
	}
	return nil
}

// keeps is how long archives stay.
func (l *Limits) keeps() time.Duration { return time.Duration(l.Days) * 24 * time.Hour }

// Cancel ends an order, or removes its archives.
func (s *Orders) Cancel(k OrderID) error {
	var now Ordered
	var err error
	shared := false
	s.read(func(all queue, _ *terms) {
		now, err = all.get(k)
		shared = all.shared(k)
	})
	switch {
	case err != nil:
		return err
	case now.State.Ended():
		return now.cannot("cancelled")
	case now.Same == 0 && shared:
		return control.WithCode(fmt.Errorf("order %s cannot be cancelled: other orders use its run", k.Ref()),
			control.ErrConflict)
	}
	_, err = s.update(k, func(x *Ordered) error {
		switch {
		case x.State.Ended():
			return x.cannot("cancelled")
		case x.underWay() && (x.Claim.Session != "" || s.works(k)):
			x.Stop = true // put ends it, where it is worked on
		default:
			x.State, x.Ended = Cancelled, s.Now()
		}
		return nil
	})
	return err
}

// Judge approves an order, or a mirror that is to be kept fresh, or refuses it with a reason.
func (s *Orders) Judge(k OrderID, operator string, yes bool, why string) error {
	why = access.Clip(why)
	keep := false
	_, err := s.update(k, func(x *Ordered) error {
		switch keep = false; {
		case x.State == Asks:
			x.Judged = operator
			if x.State, x.Why = Waits, ""; !yes {
				x.State, x.Why, x.Ended = Refused, why, s.Now()
			}
		case x.Keep.State == Asks && !yes:
			x.Keep.State, x.Keep.Why = Refused, why
		case x.Keep.State == Asks:
			keep, x.Keep = true, Keeping{State: Runs, At: s.Now()}
		default:
			return x.cannot("approved or refused")
		}
		return nil
	})
	if err == nil && keep {
		err = s.makeJob(k)
	}
	return err
}
