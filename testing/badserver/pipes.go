// SPDX-License-Identifier: Apache-2.0

package badserver

import (
	"context"
	"net"
	"net/netip"
	"sync"
)

// Pipes is a listener within the process: a server that listens there, and its clients, can live in a bubble
// of testing/synctest, in which no wait takes any time.
type Pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewPipes returns a listener without connections.
func NewPipes() *Pipes { return &Pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Pipe returns both sides of a connection. Writes of the server never wait for the client.
func Pipe() (client, server net.Conn) {
	client, pipe := net.Pipe()
	return client, newOutbox(pipe)
}

// Offer hands the side of the server to Accept.
func (p *Pipes) Offer(ctx context.Context, server net.Conn) error {
	select {
	case p.conns <- server:
		return nil
	case <-p.closed:
		return net.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Lookup is that of fetch.Network: every name has the same public address.
func (p *Pipes) Lookup(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.AddrFrom4([4]byte{93, 184, 216, 34})}, nil
}

// Connect is that of fetch.Network.
func (p *Pipes) Connect(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
	client, server := Pipe()
	if err := p.Offer(ctx, server); err != nil {
		server.Close()
		return nil, err
	}
	return client, nil
}

// Accept is that of net.Listener.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close is that of net.Listener.
func (p *Pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr is that of net.Listener.
func (p *Pipes) Addr() net.Addr { return &net.TCPAddr{} }

// outbox is a connection whose writes never wait for the other side to read, as those of a real one do not
// as long as they are small: both sides of a net.Pipe may write at a time and then wait for one another for
// ever.
type outbox struct {
	net.Conn
	mu     sync.Mutex
	more   *sync.Cond
	queue  []byte
	closed bool
}

// newOutbox wraps a connection. Its goroutine ends when the connection is closed.
func newOutbox(c net.Conn) *outbox {
	o := &outbox{Conn: c}
	o.more = sync.NewCond(&o.mu)
	go o.send()
	return o
}

// send writes the queue, and closes the connection after the last of it.
func (o *outbox) send() {
	defer o.Conn.Close()
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.closed {
			o.more.Wait()
		}
		b, last := o.queue, o.closed
		o.queue = nil
		o.mu.Unlock()
		if len(b) > 0 {
			if _, err := o.Conn.Write(b); err != nil {
				o.end()
				return
			}
		}
		if last {
			return
		}
	}
}

// Write queues b.
func (o *outbox) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return 0, net.ErrClosed
	}
	o.queue = append(o.queue, b...)
	o.more.Signal()
	return len(b), nil
}

// Close sends the queue first. It does not wait for that.
func (o *outbox) Close() error {
	o.end()
	return nil
}

func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.more.Signal()
}
