// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// sink is a connection that takes requests, or fails.
type sink struct {
	net.Conn
	err    error
	sent   atomic.Int64
	closed atomic.Bool
}

func (s *sink) Write(p []byte) (int, error) {
	if s.err == nil {
		s.sent.Add(1)
	}
	return len(p), s.err
}

func (s *sink) Close() error {
	s.closed.Store(true)
	return nil
}

func connOver(s *sink) *directConn {
	return &directConn{Conn: s, out: []byte("GET"), sent: make(chan error, 1)}
}

// One request is sent by its sender. When many are left, the last one sends them all; one that fails is
// closed, and the others do not learn of it.
func TestOutbox(t *testing.T) {
	var o outbox
	one := new(sink)
	c := connOver(one)
	o.send(c)
	if err := <-c.sent; err != nil || one.sent.Load() != 1 || one.closed.Load() {
		t.Errorf("%v, sent %d times, closed %v", err, one.sent.Load(), one.closed.Load())
	}
	lost := errors.New("lost")
	var conns []*directConn
	for i := range mostLeft {
		s := new(sink)
		if i == 3 {
			s.err = lost
		}
		conns = append(conns, connOver(s))
		if i < mostLeft-1 {
			o.leave(conns[i])
		}
	}
	o.send(conns[mostLeft-1])
	for i, c := range conns {
		want := error(nil)
		if i == 3 {
			want = lost
		}
		if err := <-c.sent; err != want || c.Conn.(*sink).closed.Load() != (want != nil) {
			t.Errorf("request %d: %v", i, err)
		}
	}
}

// However many send at once, each request is sent, and once.
func TestOutboxLeavesNone(t *testing.T) {
	var o outbox
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			s := new(sink)
			c := connOver(s)
			for i := range int64(500) {
				o.send(c)
				if err := <-c.sent; err != nil || s.sent.Load() != i+1 {
					t.Errorf("%v, sent %d times of %d", err, s.sent.Load(), i+1)
					return
				}
			}
		})
	}
	wg.Wait()
	if len(o.left) > 0 {
		t.Errorf("%d are left", len(o.left))
	}
}
