// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch/reach"
)

func TestGuardDial(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := l.Addr().String()
	for _, tc := range []struct {
		name string
		o    Options
		good bool
	}{
		{"loopback", Options{}, false},
		{"all of another job", Options{Reach: allowing(t, "localhost")}, false},
		{"allowed host", Options{Reach: named("http://" + addr)}, true},
		{"another port", Options{Reach: named("http://127.0.0.1:1")}, false},
		{"all allowed", Options{Reach: reach.Policy{All: true}}, true},
	} {
		conn, err := NewGuard(tc.o).Dial(context.Background(), "tcp", addr)
		if conn != nil {
			conn.Close()
		}
		if tc.good != (err == nil) || (!tc.good && !errors.Is(err, ErrForbiddenAddress)) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// The next address is tried when one has failed, or has not answered for a quarter of a second; who comes
// second is hung up on.
func TestRace(t *testing.T) {
	addrs := func(n int) (out []netip.AddrPort) {
		for i := range n {
			out = append(out, netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 80))
		}
		return out
	}
	type answer struct {
		after time.Duration // negative: never
		good  bool
	}
	for _, tt := range []struct {
		name    string
		answers []answer
		won     int // -1: none
		after   time.Duration
	}{
		{"one", []answer{{time.Second, true}}, 0, time.Second},
		{"the first", []answer{{stagger / 2, true}, {0, true}}, 0, stagger / 2},
		{"a silent first", []answer{{-1, false}, {0, true}}, 1, stagger},
		{"a broken first", []answer{{0, false}, {time.Second, true}}, 1, time.Second},
		{"a slow first", []answer{{stagger * 3 / 2, true}, {stagger, true}}, 0, stagger * 3 / 2},
		{"none", []answer{{stagger * 2, false}, {0, false}, {0, false}}, -1, stagger * 2},
		{"only the last", []answer{{0, false}, {0, false}, {0, false}, {0, true}}, 3, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				open := map[net.Conn]int{}
				var mu sync.Mutex
				connect := func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
					n := int(to.Addr().As4()[3])
					a := tt.answers[n]
					if a.after < 0 {
						a.after = time.Hour
					}
					if err := sleep(ctx, a.after); err != nil {
						return nil, err
					}
					if !a.good {
						return nil, fmt.Errorf("address %d fails", n)
					}
					mu.Lock()
					defer mu.Unlock()
					c, _ := net.Pipe()
					open[c] = n
					return c, nil
				}
				start := time.Now()
				conn, err := race(t.Context(), addrs(len(tt.answers)), connect)
				switch {
				case tt.won < 0 && (err == nil || err.Error() != "address 0 fails"):
					t.Errorf("%v, want the error of the first address", err)
				case tt.won >= 0 && (err != nil || open[conn] != tt.won):
					t.Fatalf("%d, %v, want %d", open[conn], err, tt.won)
				}
				if d := time.Since(start); d != tt.after {
					t.Errorf("after %v, want %v", d, tt.after)
				}
				for c, n := range open {
					if err := c.SetDeadline(time.Time{}); c != conn && !errors.Is(err, io.ErrClosedPipe) {
						t.Errorf("the connection to address %d stays open: %v", n, err)
					}
				}
			})
		})
	}
}
