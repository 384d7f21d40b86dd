// SPDX-License-Identifier: Apache-2.0

package places

import (
	"math"
	"net"
	"net/http"
	"sync"
)

// Bounded is a listener with a bounded number of connections, of which one client has at most a quarter. It
// is for a http.Server that has State as its ConnState. When all are open, the one that is idle for longest
// is closed, and without one new clients wait.
type Bounded struct {
	net.Listener
	most int
	key  func(remote string) string // of a client; "": many may come from the address

	mu      sync.Mutex
	changed sync.Cond
	open    map[net.Conn]*guest
	of      map[string]int // by key
	turns   uint64
	closed  bool
}

// guest is the state of a connection.
type guest struct {
	key  string
	idle uint64 // when it began to be idle, in turns; 0: it is not
}

// Bound bounds the connections of a listener. It is the outermost one: State must get the connections that
// Accept returns.
func Bound(l net.Listener, most int, key func(remote string) string) *Bounded {
	b := &Bounded{
		Listener: l,
		most:     most,
		key:      key,
		open:     map[net.Conn]*guest{},
		of:       map[string]int{},
	}
	b.changed.L = &b.mu
	return b
}

// Accept returns the next connection.
func (b *Bounded) Accept() (net.Conn, error) {
	for {
		if !b.room() {
			return nil, net.ErrClosed
		}
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if b.enter(c) {
			return c, nil
		}
		c.Close()
	}
}

// room waits until a connection fits; false says that the listener is closed.
func (b *Bounded) room() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.open) >= b.most && !b.closed {
		var oldest net.Conn
		since := uint64(math.MaxUint64)
		for c, g := range b.open {
			if g.idle > 0 && g.idle < since {
				oldest, since = c, g.idle
			}
		}
		if oldest == nil {
			b.changed.Wait()
			continue
		}
		b.leave(oldest)
		oldest.Close()
	}
	return !b.closed
}

func (b *Bounded) enter(c net.Conn) bool {
	key := b.key(c.RemoteAddr().String())
	b.mu.Lock()
	defer b.mu.Unlock()
	if key != "" && b.of[key] >= max(b.most/4, 1) {
		return false
	}
	b.open[c] = &guest{key: key}
	b.of[key]++
	return true
}

// leave forgets a connection. The caller holds the lock.
func (b *Bounded) leave(c net.Conn) {
	g := b.open[c]
	if g == nil {
		return
	}
	delete(b.open, c)
	if b.of[g.key]--; b.of[g.key] == 0 {
		delete(b.of, g.key)
	}
	b.changed.Broadcast()
}

// State follows a connection.
func (b *Bounded) State(c net.Conn, s http.ConnState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.open[c]
	switch {
	case g == nil:
	case s == http.StateClosed || s == http.StateHijacked:
		b.leave(c)
	case s == http.StateIdle:
		b.turns++
		g.idle = b.turns
		b.changed.Broadcast()
	default:
		g.idle = 0
	}
}

// Close closes the listener, and leaves its connections.
func (b *Bounded) Close() error {
	b.mu.Lock()
	b.closed = true
	b.changed.Broadcast()
	b.mu.Unlock()
	return b.Listener.Close()
}
