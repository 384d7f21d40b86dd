// SPDX-License-Identifier: Apache-2.0

// Package badnet is a network that fails on demand, for tests: a proxy on this machine that can stop to pass
// on what one side sends, or both.
package badnet

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Wire is a proxy in front of a server. Safe for concurrent use.
type Wire struct {
	Address string // where it listens
	to      string

	mu       sync.Mutex
	change   *sync.Cond
	up, down bool // what the client, the server sends arrives
	ended    bool
	conns    []net.Conn
	working  sync.WaitGroup
}

// Open makes a wire to an address until the test ends.
func Open(t testing.TB, to string) *Wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{
		Address: listener.Addr().String(),
		to:      to,
		up:      true,
		down:    true,
	}
	w.change = sync.NewCond(&w.mu)
	w.working.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			w.working.Go(func() { w.serve(c) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		w.end()
		w.working.Wait()
	})
	return w
}

// Pass says which side's bytes arrive from now on. Those that do not are not lost: they arrive when they may,
// as on a network that drops packets.
func (w *Wire) Pass(up, down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.up, w.down = up, down
	w.change.Broadcast()
}

func (w *Wire) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for _, c := range w.conns {
		c.Close()
	}
	w.change.Broadcast()
}

// own keeps a connection until the end; false when that has come.
func (w *Wire) own(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, c)
	return !w.ended
}

func (w *Wire) serve(client net.Conn) {
	defer client.Close()
	server, err := net.DialTimeout("tcp", w.to, 5*time.Second)
	if err != nil {
		return
	}
	defer server.Close()
	if !w.own(client) || !w.own(server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { w.copy(server, client, &w.up) })
	both.Go(func() { w.copy(client, server, &w.down) })
	both.Wait()
}

// copy passes on what arrives, when it may.
func (w *Wire) copy(to, from net.Conn, passes *bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		w.mu.Lock()
		for !*passes && !w.ended {
			w.change.Wait()
		}
		w.mu.Unlock()
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			if c, ok := to.(*net.TCPConn); ok && err == io.EOF {
				c.CloseWrite()
				return
			}
			to.Close()
			from.Close()
			return
		}
	}
}
