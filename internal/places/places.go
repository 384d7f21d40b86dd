// SPDX-License-Identifier: Apache-2.0

// Package places shares out what a server has: the work for answers that are made on demand, such as
// archives, its connections, and its descriptors. Who does not read, or does not send, keeps none of it from
// others.
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

// Seats are what may be made at a time. They are safe for concurrent use.
type Seats struct {
	free chan struct{}
	wait time.Duration

	mu   sync.Mutex
	keys map[string]chan struct{} // of clients who have one; closed when they have it no more
	all  int                      // with those that wait for their readers
}

// mostEach is how many are under way for each place, with those that wait for their readers.
const mostEach = 16

// New makes n places. Who finds none free waits for some time.
func New(n int, wait time.Duration) *Seats {
	return &Seats{
		free: make(chan struct{}, n),
		wait: wait,
		keys: map[string]chan struct{}{},
	}
}

// Seat is the place of a client.
type Seat struct {
	p   *Seats
	key string
	in  bool // it is one of those that are made
}

// Take gives a place to a client; its key is "" for an unknown client. Release takes it back.
func (p *Seats) Take(ctx context.Context, key string) (*Seat, error) {
	ctx, end := context.WithTimeout(ctx, p.wait)
	defer end()
	for {
		own, err := p.join(key)
		if err != nil {
			return nil, err
		}
		if own == nil {
			break
		}
		select {
		case <-own:
		case <-ctx.Done():
			return nil, ErrOwn
		}
	}
	if err := p.enter(ctx); err != nil {
		p.forget(key)
		return nil, ErrBusy
	}
	return &Seat{p: p, key: key, in: true}, nil
}

// join notes a client, or returns the channel that is closed when its place is free again.
func (p *Seats) join(key string) (own chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if own = p.keys[key]; own != nil {
		return own, nil
	}
	if p.all >= mostEach*cap(p.free) {
		return nil, ErrBusy
	}
	p.all++
	if key != "" {
		p.keys[key] = make(chan struct{})
	}
	return nil, nil
}

func (p *Seats) enter(ctx context.Context) error {
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

func (p *Seats) forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if own := p.keys[key]; own != nil {
		close(own)
		delete(p.keys, key)
	}
}

// Release ends the work of a client.
func (x *Seat) Release() {
	x.leave()
	x.p.forget(x.key)
}

// leave gives the place to others, as long as its client waits.
func (x *Seat) leave() {
	if x.in {
		<-x.p.free
		x.in = false
	}
}

func (x *Seat) again(ctx context.Context) error {
	err := x.p.enter(ctx)
	x.in = err == nil
	return err
}
