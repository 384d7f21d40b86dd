// SPDX-License-Identifier: Apache-2.0

// Package places shares out what a server makes on demand and sends as it makes it, such as archives. Some are
// made at a time, one for each client, and none of them waits for its reader while it has a place.
package places

import (
	"context"
	"errors"
	"sync"
	"time"
)

var (
	// ErrBusy says that all places are taken.
	ErrBusy = errors.New("all places are taken")
	// ErrOwn says that the client has a place already.
	ErrOwn = errors.New("the client has a place already")
)

// Places are what may be made at a time. They are safe for concurrent use.
type Places struct {
	free chan struct{}
	wait time.Duration

	mu   sync.Mutex
	keys map[string]bool // of clients who have one
	all  int             // with those that wait for their readers
}

// mostEach is how many are under way for each place, with those that wait for their readers.
const mostEach = 16

// New makes n places. Who finds none free waits for some time.
func New(n int, wait time.Duration) *Places {
	return &Places{
		free: make(chan struct{}, n),
		wait: wait,
		keys: map[string]bool{},
	}
}

// Place is the place of a client.
type Place struct {
	p   *Places
	key string
	in  bool // it is one of those that are made
}

// Take gives a place to a client; its key is "" when nobody knows who it is. Release takes it back.
func (p *Places) Take(ctx context.Context, key string) (*Place, error) {
	p.mu.Lock()
	if key != "" && p.keys[key] {
		p.mu.Unlock()
		return nil, ErrOwn
	}
	if p.all >= mostEach*cap(p.free) {
		p.mu.Unlock()
		return nil, ErrBusy
	}
	p.all++
	if key != "" {
		p.keys[key] = true
	}
	p.mu.Unlock()
	ctx, end := context.WithTimeout(ctx, p.wait)
	defer end()
	if err := p.enter(ctx); err != nil {
		p.forget(key)
		return nil, ErrBusy
	}
	return &Place{p: p, key: key, in: true}, nil
}

func (p *Places) enter(ctx context.Context) error {
	select {
	case p.free <- struct{}{}:
		return nil
	default:
	}
	select {
	case p.free <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *Places) forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	delete(p.keys, key)
}

// Release ends the work of a client.
func (x *Place) Release() {
	x.leave()
	x.p.forget(x.key)
}

// leave gives the place to others, as long as its client waits.
func (x *Place) leave() {
	if x.in {
		<-x.p.free
		x.in = false
	}
}

func (x *Place) again(ctx context.Context) error {
	err := x.p.enter(ctx)
	x.in = err == nil
	return err
}
