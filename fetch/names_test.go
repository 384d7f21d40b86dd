// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mirrord/fetch/reach"
)

// oracle is a resolver whose answer is changed by the test.
type oracle struct {
	mu    sync.Mutex
	addr  string // "": the name does not exist
	fails bool
	delay time.Duration
	asked int
}

func (o *oracle) lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	o.mu.Lock()
	o.asked++
	delay := o.delay
	o.mu.Unlock()
	if err := sleep(ctx, delay); err != nil {
		return nil, &net.DNSError{Err: err.Error(), Name: name, IsTimeout: true}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.fails:
		return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
	case o.addr == "":
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr(o.addr)}, nil
}

// names is a cache of the answers.
func (o *oracle) names() *nameCache {
	return &nameCache{lookup: o.lookup, names: map[string]*cachedName{}}
}

func (o *oracle) set(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

// asks is the beginning of a test: want looks a name up, and says which address is expected ("" for none),
// and how often the resolver was asked until then.
func asks(t *testing.T, o *oracle) (c *nameCache, want func(addr string, asked int)) {
	c = o.names()
	return c, func(addr string, asked int) {
		t.Helper()
		got, err := c.Lookup(t.Context(), "a.test")
		synctest.Wait() // what was asked beside it
		o.mu.Lock()
		defer o.mu.Unlock()
		if s := ""; err == nil {
			s = got[0].String()
			if s != addr || o.asked != asked {
				t.Errorf("%s after %d questions, want %q after %d", s, o.asked, addr, asked)
			}
		} else if addr != "" || o.asked != asked {
			t.Errorf("%v after %d questions, want %q after %d", err, o.asked, addr, asked)
		}
	}
}

// A name is asked for once a minute.
func TestNamesAreHeldForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracle{addr: "192.0.2.1"}
		_, want := asks(t, o)
		want("192.0.2.1", 1)
		o.addr = "192.0.2.2"
		want("192.0.2.1", 1)
		time.Sleep(heldFor - time.Second)
		want("192.0.2.1", 1)
		time.Sleep(2 * time.Second)
		want("192.0.2.2", 2)
		time.Sleep(heldFor + time.Second)
		o.addr = "192.0.2.3"
		want("192.0.2.3", 3)
	})
}

// A name that does not exist is asked for once a minute, and its old addresses are void.
func TestNamesThatDoNotExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracle{addr: "192.0.2.1"}
		_, want := asks(t, o)
		want("192.0.2.1", 1)
		time.Sleep(heldFor + time.Second)
		o.addr = ""
		want("", 2)
		want("", 2)
		time.Sleep(heldFor + time.Second)
		o.fails = true
		want("", 3)
		want("", 4) // a failure is not kept
		o.fails = false
		want("", 5)
		o.addr = "192.0.2.2"
		time.Sleep(heldFor + time.Second)
		want("192.0.2.2", 6)
	})
}

// While the resolver fails, the old addresses are used for a day and it is asked every 30 s.
func TestOldNamesWhileTheResolverFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracle{addr: "192.0.2.1"}
		_, want := asks(t, o)
		want("192.0.2.1", 1)
		o.fails = true
		time.Sleep(heldFor + time.Second)
		want("192.0.2.1", 2)
		want("192.0.2.1", 2)
		time.Sleep(failurePay + time.Second)
		want("192.0.2.1", 3)
		time.Sleep(failurePay + time.Second)
		o.fails, o.addr = false, "192.0.2.2"
		want("192.0.2.2", 4)
		o.fails = true
		time.Sleep(heldFor + oldAnswers - time.Minute)
		want("192.0.2.2", 5)
		time.Sleep(2 * time.Minute)
		want("", 6)
	})
}

// A slow resolver does not delay requests to a name with an old address, and its answer counts when it
// arrives.
func TestOldNamesWhileTheResolverIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracle{addr: "192.0.2.1"}
		c, want := asks(t, o)
		want("192.0.2.1", 1)
		time.Sleep(heldFor + time.Second)
		o.set(func() { o.addr, o.delay = "192.0.2.2", 10*time.Second })
		for _, wait := range []time.Duration{patience, 0} {
			start := time.Now()
			if got, err := c.Lookup(t.Context(), "a.test"); err != nil || got[0].String() != "192.0.2.1" {
				t.Errorf("%v, %v", got, err)
			}
			if d := time.Since(start); d != wait {
				t.Errorf("an old answer after %v, want %v", d, wait)
			}
		}
		time.Sleep(10 * time.Second)
		want("192.0.2.2", 2)

		o.set(func() { o.delay = time.Hour }) // for ever: the question ends, and no address is left
		time.Sleep(oldAnswers + time.Minute)
		start := time.Now()
		want("", 3)
		if d := time.Since(start); d != lookupTime {
			t.Errorf("gave up after %v", d)
		}
	})
}

// Who waits for the same name asks once, and who gives up leaves the question to the others.
func TestNamesAskedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracle{addr: "192.0.2.1", delay: 3 * time.Second}
		c, want := asks(t, o)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := c.Lookup(ctx, "A.test")
			var d *net.DNSError
			if !errors.As(err, &d) || !d.IsTimeout || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
		})
		for range 5 {
			wg.Go(func() {
				if _, err := c.Lookup(t.Context(), "a.test"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		want("192.0.2.1", 1)
	})
}

// An address that cannot be connected to is asked for again, and used if the resolver fails.
func TestNamesOfUnreachableAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracle{addr: "192.0.2.1"}
		c, want := asks(t, o)
		want("192.0.2.1", 1)
		c.unreachable(netip.MustParseAddr("192.0.2.9"))
		want("192.0.2.1", 1)
		c.unreachable(netip.MustParseAddr("::ffff:192.0.2.1"))
		o.fails = true
		want("192.0.2.1", 2)
		time.Sleep(failurePay)
		o.fails, o.addr = false, "192.0.2.2"
		want("192.0.2.2", 3)
	})
}

// The cache does not grow without end.
func TestNamesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &oracle{addr: "192.0.2.1"}
		c, want := asks(t, o)
		want("192.0.2.1", 1)
		for i := range mostNames - 1 {
			if _, err := c.Lookup(t.Context(), fmt.Sprintf("n%d.test", i)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		want("192.0.2.1", 1+mostNames)
		if _, err := c.Lookup(t.Context(), "one-more.test"); err != nil {
			t.Fatal(err)
		}
		want("192.0.2.1", 2+mostNames) // its answer holds: it was not forgotten
		c.mu.Lock()
		defer c.mu.Unlock()
		if n := len(c.names); n > mostNames*3/4+1 {
			t.Errorf("%d names", n)
		}
	})
}

// The machine's network asks again for the name of an address that refuses connections.
func TestSystemDoubtsRefusedAddresses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	o := &oracle{addr: "127.0.0.1"}
	s := system{o.names()}
	g := NewGuard(Options{Network: s, Reach: reach.Policy{All: true}})
	_, port, _ := net.SplitHostPort(closed)
	for want := 1; want <= 2; want++ {
		if _, err := g.Dial(t.Context(), "tcp", "gone.test:"+port); err == nil {
			t.Fatal("connected")
		}
		o.mu.Lock()
		if o.asked != want {
			t.Errorf("%d questions, want %d", o.asked, want)
		}
		o.mu.Unlock()
	}
}
