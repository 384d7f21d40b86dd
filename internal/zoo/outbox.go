// SPDX-License-Identifier: Apache-2.0

package zoo

import (
	"net"
	"sync"
)

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

// send writes what is queued, and closes the connection after the last of it.
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

// Close lets what is queued go out first. It does not wait for that.
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
