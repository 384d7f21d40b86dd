// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"runtime"
	"slices"
	"sync"
)

// outbox sends the requests of the connections to one host, several at a time while there is much else to
// do. A server on the same machine, or the interrupt of the network, takes the processor from whoever has
// just sent something: each request costs two switches then, and what both have in the caches. It is safe
// for concurrent use; the zero value is ready.
type outbox struct {
	mu   sync.Mutex
	left []*directConn
}

// mostLeft is how many requests are left for later at most.
const mostLeft = 8

// send sends the request of a connection: when all goroutines that can run now have run, or so many are
// left. c.sent has the result then. What is left is always sent, since each request that is the first, or
// comes after many, has a sender that takes many.
func (o *outbox) send(c *directConn) {
	switch n := o.leave(c); {
	case n == 1: // this one sends what others leave in the meantime
		runtime.Gosched()
	case n < mostLeft:
		return
	}
	var room [mostLeft]*directConn
	for _, c := range room[:o.take(room[:])] {
		c.send()
	}
}

// leave adds to what is left, and returns how many are.
func (o *outbox) leave(c *directConn) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left = append(o.left, c)
	return len(o.left)
}

// take takes what is left, of which others may take a part.
func (o *outbox) take(to []*directConn) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n = copy(to, o.left)
	o.left = slices.Delete(o.left, 0, n)
	return n
}
