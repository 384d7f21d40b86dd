// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"net"
	"sync"
)

// openLimit bounds the connections that are open to an address at a time. http.Transport bounds them too, but
// counts a connection as gone before it closes it: while a server that ends its connections is busy, one more
// than the limit is open for a moment, and a server that counts (nginx: limit_conn) refuses it.
//
// Its methods may be called concurrently.
type openLimit struct {
	most  int
	slots sync.Map // by address: a channel that has an element for each open connection
}

// dialFunc is what http.Transport calls for a connection.
type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// within returns a dialFunc that waits until another connection may be open to the address.
func (l *openLimit) within(connect dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		release, err := l.take(ctx, addr)
		if err != nil {
			return nil, err
		}
		conn, err := connect(ctx, network, addr)
		if err != nil {
			release()
			return nil, err
		}
		return &openSlot{Conn: conn, release: release}, nil
	}
}

// take waits for a slot until ctx ends, and returns what gives it back.
func (l *openLimit) take(ctx context.Context, addr string) (release func(), err error) {
	of, _ := l.slots.LoadOrStore(addr, make(chan struct{}, l.most))
	taken := of.(chan struct{})
	select {
	case taken <- struct{}{}:
		return sync.OnceFunc(func() { <-taken }), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// openSlot is a connection that gives its slot back when it is closed.
type openSlot struct {
	net.Conn
	release func()
}

// Close closes the connection, and lets the next one be made.
func (c *openSlot) Close() error {
	defer c.release()
	return c.Conn.Close()
}
