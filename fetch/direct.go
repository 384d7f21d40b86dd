// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// direct makes exchanges of plain HTTP/1.1 with origins, without a proxy. A request is written and its
// answer read by the goroutine that wants it: net/http has two goroutines for each connection, to which each
// exchange is handed over. Answers are read by net/http's own parser. It is safe for concurrent use.
type direct struct {
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	perHost  int   // connections to one host at a time; 0 is any number
	mostIdle int   // of all hosts
	mostHead int64 // bytes of the heads of an answer

	mu      sync.Mutex // guards what follows, and the hosts
	hosts   map[string]*directHost
	idle    int
	closing bool // nothing is kept that becomes idle; until the next request
	sweeps  bool // sweep will be called
}

// directHost has the connections to one host and port.
type directHost struct {
	idle    []*directConn // in the order in which they became so
	open    int           // those that are idle, in use, or being made
	waiting []chan *directConn
	out     outbox
}

const idleTime = 90 * time.Second

// roundTrip makes one exchange under a watch. A request whose used connection ends before a byte of an
// answer comes is repeated once, on a new connection. A fresh request has a connection of its own, which
// counts for no limit.
func (d *direct) roundTrip(w *watch, r *http.Request, fresh bool) (*http.Response, error) {
	addr := r.URL.Host
	if r.URL.Port() == "" {
		addr = net.JoinHostPort(r.URL.Hostname(), "80")
	}
	for unused := false; ; unused = true {
		c, err := d.take(w, addr, unused, fresh)
		if err != nil {
			return nil, err
		}
		w.gotDirect(c)
		w.guard(c.abort)
		resp, err := c.exchange(r)
		if err == nil {
			b := &directBody{
				d:     d,
				c:     c,
				watch: w,
				inner: resp.Body,
				keep:  !resp.Close && !c.fresh && resp.StatusCode != http.StatusSwitchingProtocols,
			}
			if resp.Body = b; resp.ContentLength == 0 {
				b.end(true)
			}
			return resp, nil
		}
		w.release()
		again := c.used && !c.answered && w.why() == nil
		d.drop(c)
		if !again {
			return nil, err
		}
	}
}

// take returns a connection for one request: one that is idle, else, or for unused, a new one, once the limit
// of connections lets it.
func (d *direct) take(w *watch, addr string, unused, fresh bool) (*directConn, error) {
	if fresh {
		return d.connect(w.own(), addr, nil)
	}
	for {
		c, wait := d.takeIdle(addr, unused)
		if wait != nil {
			ctx := w.own()
			select {
			case c = <-wait:
			case <-ctx.Done():
				d.giveUp(addr, wait)
				return nil, context.Cause(ctx)
			}
		}
		switch {
		case c.Conn == nil:
			return d.connect(w.own(), addr, c.host)
		case !unused && c.isGood():
			c.used, c.answered = true, false
			return c, nil
		}
		d.drop(c)
	}
}

// takeIdle returns a connection that is idle, a place for a new one (without Conn), or where either will
// come.
func (d *direct) takeIdle(addr string, unused bool) (*directConn, chan *directConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closing = false
	h := d.hosts[addr]
	if h == nil {
		if d.hosts == nil {
			d.hosts = map[string]*directHost{}
		}
		h = &directHost{}
		d.hosts[addr] = h
	}
	full := d.perHost > 0 && h.open >= d.perHost
	if n := len(h.idle); n > 0 && (full || !unused) {
		c := h.idle[n-1]
		h.idle[n-1] = nil
		h.idle = h.idle[:n-1]
		d.idle--
		return c, nil
	}
	if full {
		wait := make(chan *directConn, 1)
		h.waiting = append(h.waiting, wait)
		return nil, wait
	}
	h.open++
	return &directConn{host: h, addr: addr}, nil
}

// giveUp ends a wait. What came in the meantime goes to somebody else.
func (d *direct) giveUp(addr string, wait chan *directConn) {
	d.mu.Lock()
	if h := d.hosts[addr]; h != nil {
		if i := slices.Index(h.waiting, wait); i >= 0 {
			h.waiting = slices.Delete(h.waiting, i, i+1)
		}
	}
	d.mu.Unlock()
	select {
	case c := <-wait:
		d.drop(c)
	default:
	}
}

// connect makes a connection, for which there is a place with the host; a fresh one has none.
func (d *direct) connect(ctx context.Context, addr string, h *directHost) (*directConn, error) {
	c := &directConn{
		host:  h,
		addr:  addr,
		fresh: h == nil,
	}
	conn, err := d.dial(ctx, "tcp", addr)
	if err != nil {
		d.drop(c)
		return nil, err
	}
	c.begin(conn, d.mostHead)
	return c, nil
}

// drop closes a connection, and gives its place to who waits for one.
func (d *direct) drop(c *directConn) {
	if c.Conn != nil {
		c.Close()
	}
	h := c.host
	if h == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(h.waiting) > 0 {
		h.hand(&directConn{host: h, addr: c.addr})
		return
	}
	if h.open--; h.open == 0 {
		delete(d.hosts, c.addr)
	}
}

// hand gives a connection or a place to who has waited longest.
func (h *directHost) hand(c *directConn) {
	h.waiting[0] <- c
	h.waiting = slices.Delete(h.waiting, 0, 1)
}

// put takes a connection back whose answer was read to its end.
func (d *direct) put(c *directConn) {
	if !d.keep(c) {
		d.drop(c)
	}
}

func (d *direct) keep(c *directConn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(c.host.waiting) > 0 {
		c.since = time.Now()
		c.host.hand(c)
		return true
	}
	if d.closing || d.idle >= d.mostIdle {
		return false
	}
	c.since = time.Now()
	c.host.idle = append(c.host.idle, c)
	d.idle++
	if !d.sweeps {
		d.sweeps = true
		time.AfterFunc(idleTime, d.sweep)
	}
	return true
}

// sweep closes what has been idle for long.
func (d *direct) sweep() {
	d.mu.Lock()
	old := d.takeOld(time.Now().Add(-idleTime))
	if d.sweeps = d.idle > 0; d.sweeps {
		time.AfterFunc(idleTime/2, d.sweep)
	}
	d.mu.Unlock()
	for _, c := range old {
		d.drop(c)
	}
}

// takeOld removes the connections that became idle before a time. It is called under the lock.
func (d *direct) takeOld(before time.Time) (old []*directConn) {
	for _, h := range d.hosts {
		n := 0
		for n < len(h.idle) && !h.idle[n].since.After(before) {
			n++
		}
		old = append(old, h.idle[:n]...)
		h.idle = slices.Delete(h.idle, 0, n)
		d.idle -= n
	}
	return old
}

// close closes what is idle, and what becomes so before the next request.
func (d *direct) close() {
	d.mu.Lock()
	d.closing = true
	old := d.takeOld(time.Now())
	d.mu.Unlock()
	for _, c := range old {
		d.drop(c)
	}
}
