// SPDX-License-Identifier: Apache-2.0

package objectstest

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"

	"mirrord/cluster/objects"
)

// Failure is what happens to one call of a Faulty.
type Failure int

// The faults.
const (
	None   Failure = iota
	Before         // it fails, and nothing is done
	After          // it is done, and its answer is lost
	Dead           // it fails, and so do all calls after it: the process or the network has died
)

// ErrFault is the error of a call that fails.
var ErrFault = errors.New("503 Slow Down")

// Faulty is a store that fails on demand. Safe for concurrent use.
type Faulty struct {
	objects.Store
	// Decide says what happens to a call; nil is nothing. n counts the calls from 0. One call is decided at a
	// time.
	Decide func(n int, op, name string) Failure

	mu   sync.Mutex
	n    int
	dead bool
}

// Calls is how many calls there were.
func (f *Faulty) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

func (f *Faulty) fault(op, name string) Failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.n
	f.n++
	if f.dead {
		return Dead
	}
	if f.Decide == nil {
		return None
	}
	fault := f.Decide(n, op, name)
	f.dead = fault == Dead
	return fault
}

// call makes a call, unless it fails before.
func (f *Faulty) call(op, name string, do func() error) error {
	fault := f.fault(op, name)
	if fault == Before || fault == Dead {
		return ErrFault
	}
	if err := do(); err != nil {
		return err
	}
	if fault == After {
		return ErrFault
	}
	return nil
}

// Put implements objects.Store.
func (f *Faulty) Put(
	ctx context.Context, name string, data *io.SectionReader, c objects.Condition,
) (etag string, err error) {
	err = f.call("put", name, func() (err error) {
		etag, err = f.Store.Put(ctx, name, data, c)
		return err
	})
	return etag, err
}

// Get implements objects.Store.
func (f *Faulty) Get(
	ctx context.Context, name string, from, n int64,
) (b []byte, info objects.Info, err error) {
	err = f.call("get", name, func() (err error) {
		b, info, err = f.Store.Get(ctx, name, from, n)
		return err
	})
	return b, info, err
}

// Delete implements objects.Store.
func (f *Faulty) Delete(ctx context.Context, name string) error {
	return f.call("delete", name, func() error { return f.Store.Delete(ctx, name) })
}

// List implements objects.Store.
func (f *Faulty) List(ctx context.Context, prefix string) iter.Seq2[objects.Info, error] {
	if fault := f.fault("list", prefix); fault != None {
		return func(yield func(objects.Info, error) bool) { yield(objects.Info{}, ErrFault) }
	}
	return f.Store.List(ctx, prefix)
}
