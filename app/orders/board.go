// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"mirrord/app/shares"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
)

// Facts keeps orders, and under OrderID{} what holds for all of them: those of one machine (OnMachine), or of
// a cluster (InCluster). Its methods may be called from several goroutines, and the facts of several nodes at
// a time.
type Facts interface {
	// Next returns an ID for a new order. One of that ID may be there already, when the node has lost its disk.
	Next() (OrderID, error)
	// Change replaces a value by what change makes of it, unless another process writes it meanwhile; nil
	// stands for none. An error of change leaves all as it was. change may be called several times, must not
	// keep what it is given, and must not use the facts.
	Change(k OrderID, change func(was []byte) ([]byte, error)) error
	// All returns all values, with all changes of these facts. Those of other nodes may be missing for a moment.
	All() (map[OrderID][]byte, error)
	// Watch calls changed with values that others have changed; nil: removed; again and again with some that
	// were known; until ctx ends.
	Watch(ctx context.Context, changed func(k OrderID, value []byte))
}

// ErrKeepers says that the keepers do not answer: what nodes share of orders is not known now.
var ErrKeepers = control.WithCode(errors.New("the keepers of the cluster do not answer"), control.ErrConflict)

// board is the local copy of all orders, which may be a moment old. Changes
// are made by what the facts are, see update. Safe for concurrent use.
type board struct {
	facts Facts
	log   *slog.Logger
	wake  chan struct{} // holds one: there may be something to do

	mu     sync.Mutex // guards what follows
	all    queue
	terms  terms
	active map[OrderID]working
}

// working is what this process does for an order.
type working struct {
	claim Claim
	end   context.CancelCauseFunc
}

func newBoard(facts Facts, log *slog.Logger) (*board, error) {
	b := &board{
		facts:  facts,
		log:    log,
		wake:   make(chan struct{}, 1),
		all:    queue{},
		terms:  terms{Limits: DefaultLimits()},
		active: map[OrderID]working{},
	}
	kept, err := facts.All()
	for k, value := range kept {
		b.hear(k, value)
	}
	return b, err
}

// hear applies a value that another process has written.
func (b *board) hear(k OrderID, value []byte) {
	switch {
	case value == nil:
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.all, k)
		b.tell()
	case k == OrderID{}:
		t, err := readTerms(value)
		if err != nil {
			b.log.Error("the limits of orders cannot be read", "err", err)
			return
		}
		b.putTerms(t)
	default:
		x, err := readOrder(k, value)
		if err != nil {
			b.log.Error("an order cannot be read", "order", k.Ref(), "err", err)
			return
		}
		b.put(x)
	}
}

func readOrder(k OrderID, value []byte) (*Ordered, error) {
	x := new(Ordered)
	err := json.Unmarshal(value, x)
	if k.Node == "" && x.SameNode == x.Node { // of a machine that was a node
		x.SameNode = ""
	}
	x.OrderID = k
	x.Result.Archives = slices.DeleteFunc(x.Result.Archives, func(a ArchiveFile) bool {
		return a.Name != filepath.Base(a.Name) // a name must not reach other files of the node's disk
	})
	return x, err
}

func readTerms(value []byte) (terms, error) {
	t := terms{Limits: DefaultLimits()}
	if value == nil {
		return t, nil
	}
	err := json.Unmarshal(value, &t)
	return t, err
}

// put stores an order, unless a newer state of it is known.
func (b *board) put(x *Ordered) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.all[x.OrderID]
	if was != nil && was.Rev > x.Rev {
		return
	}
	if was != nil && x.State == Runs {
		x.Progress = was.Progress
	}
	b.all[x.OrderID] = x
	if w, ok := b.active[x.OrderID]; ok && x.Stop {
		w.end(errCancelled)
	}
	b.tell()
}

func (b *board) putTerms(t terms) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.Rev >= b.terms.Rev {
		b.terms = t
		b.tell()
	}
}

// create makes an order under an ID that no order has; it reports whether that was so.
func (b *board) create(x *Ordered) (made bool, err error) {
	x.Rev = 1
	v, err := json.Marshal(x)
	if err != nil {
		return false, err
	}
	there := errors.New("there is one")
	err = b.facts.Change(x.OrderID, func(was []byte) ([]byte, error) {
		if was != nil && !bytes.Equal(was, v) { // else the answer to the first attempt was lost
			return nil, there
		}
		return v, nil
	})
	if err == nil {
		y := *x
		b.put(&y)
	}
	if errors.Is(err, there) {
		return false, nil
	}
	return err == nil, err
}

// update changes the stored order, also while others change it, and returns it. An
// error of change leaves it as it was.
func (b *board) update(k OrderID, change func(x *Ordered) error) (Ordered, error) {
	var now *Ordered
	err := b.facts.Change(k, func(was []byte) (_ []byte, err error) {
		if was == nil {
			return nil, ErrNone
		}
		if now, err = readOrder(k, was); err != nil {
			return nil, err
		}
		if err := change(now); err != nil {
			return nil, err
		}
		now.Rev++
		return json.Marshal(now)
	})
	if err != nil {
		return Ordered{}, err
	}
	out := *now
	b.put(now)
	return out, nil
}

// forget removes an order.
func (b *board) forget(k OrderID) error {
	err := b.facts.Change(k, func([]byte) ([]byte, error) { return nil, nil })
	if err == nil {
		b.hear(k, nil)
	}
	return err
}

// agree changes the terms, by what they are where they are kept.
func (b *board) agree(change func(t *terms) error) error {
	var now terms
	err := b.facts.Change(OrderID{}, func(was []byte) (_ []byte, err error) {
		if now, err = readTerms(was); err != nil {
			return nil, err
		}
		if err := change(&now); err != nil {
			return nil, err
		}
		now.Rev++
		return json.Marshal(&now)
	})
	if err == nil {
		b.putTerms(now)
	}
	return err
}

// tell says that something may have changed.
func (b *board) tell() { shares.Kick(b.wake) }

// read calls f with the local copy, which f must not change, nor keep. It must not call methods of the board.
func (b *board) read(f func(all queue, t *terms)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b.all, &b.terms)
}

// progress notes where a run stands.
func (b *board) progress(k OrderID, p *status.Progress, tell bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x := b.all[k]; x != nil {
		now := *x
		now.Progress = p
		b.all[k] = &now
	}
	if tell {
		b.tell()
	}
}

// works reports whether this process works on an order.
func (b *board) works(k OrderID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.active[k]
	return ok
}

// begins notes that this process works on an order until ended is called. end cancels that.
func (b *board) begins(k OrderID, claim Claim, end context.CancelCauseFunc) (ended func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active[k] = working{claim, end}
	if x := b.all[k]; x != nil && x.Stop {
		end(errCancelled)
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.active, k)
		b.tell()
	}
}

// busy counts the previews and runs of this process.
func (b *board) busy() (looking, running int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k := range b.active {
		if x := b.all[k]; x != nil && x.State == Looking {
			looking++
		} else {
			running++
		}
	}
	return looking, running
}

// lost ends local work under other sessions than one.
func (b *board) lost(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.active {
		if w.claim.Session != session {
			w.end(errLost)
		}
	}
}

// Limits are those in force.
func (b *board) Limits() (l Limits) {
	b.read(func(_ queue, t *terms) { l = t.Limits })
	return l
}

// SetLimits puts others in force.
func (b *board) SetLimits(l Limits) error {
	if err := l.check(); err != nil {
		return err
	}
	return b.agree(func(t *terms) error {
		t.Limits = l
		return nil
	})
}

// Get is an order, with the result of the one whose run it shares.
func (b *board) Get(k OrderID) (x Ordered, err error) {
	b.read(func(all queue, _ *terms) { x, err = all.get(k) })
	return x, err
}

// List are the orders that a user may see, newest first.
func (b *board) List(by User) (out []Ordered) {
	user := by.Name
	if by.Operator {
		user = ""
	}
	b.read(func(all queue, _ *terms) { out = all.of(user) })
	return out
}

// keeps is how long archives stay.
func (b *board) keeps() time.Duration {
	l := b.Limits()
	return l.keeps()
}
