// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"mirrord/fetch/reach"
)

// How long answers of the resolver are used. Crawlers spend much of their time on names when each connection
// asks again (Najork and Heydon, Mercator §3.5; Manning, Raghavan, Schütze, lecture on crawling: DNS).
const (
	heldFor = time.Minute // as in curl: package net does not say how long an answer holds

	// RFC 8767 §5: use of old answers while the resolver fails
	oldAnswers = 24 * time.Hour          // after the end of heldFor
	patience   = 1800 * time.Millisecond // before an old answer is used
	failurePay = 30 * time.Second        // until a resolver that failed is asked again

	lookupTime = 30 * time.Second // of one question, for all who wait for it
	mostNames  = 1 << 14          // remembered
)

// nameCache asks a resolver once for each name and heldFor, also for one that does not exist. It only says
// what addresses a name has: the [Guard] judges them at each connection, old ones like new ones, and connects
// to no other. While the resolver fails, an old answer is used for up to a day. A name that does not exist is
// no failure. It is safe for concurrent use.
type nameCache struct {
	lookup func(ctx context.Context, name string) ([]netip.Addr, error) // the resolver

	mu    sync.Mutex
	names map[string]*cachedName
}

// cachedName is the cache entry of a name.
type cachedName struct {
	addrs  []netip.Addr // of the last good answer
	absent error        // instead of addrs: the name does not exist
	until  time.Time    // when the answer is asked for again
	calm   time.Time    // until when an old answer is used without asking
	asking *question    // under way; nil: none
}

// question is a lookup under way. addrs and err are set when done is closed.
type question struct {
	done  chan struct{}
	addrs []netip.Addr
	err   error
}

// newNameCache returns a cache of what a resolver says. Names below localhost have the addresses of localhost
// (RFC 6761 §6.3), which few resolvers know, but browsers do.
func newNameCache(r *net.Resolver) *nameCache {
	return &nameCache{
		names: map[string]*cachedName{},
		lookup: func(ctx context.Context, name string) ([]netip.Addr, error) {
			if reach.IsLocalhost(name) {
				name = "localhost"
			}
			return r.LookupNetIP(ctx, "ip", name)
		},
	}
}

// Lookup returns the addresses of a name. It waits for the resolver only if no answer holds.
func (c *nameCache) Lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	c.mu.Lock()
	n, now := c.name(name), time.Now()
	if n.holds(now) {
		defer c.mu.Unlock()
		return slices.Clone(n.addrs), n.absent
	}
	old := n.old(now)
	if old != nil && now.Before(n.calm) {
		c.mu.Unlock()
		return old, nil
	}
	if n.asking == nil {
		c.ask(name, n)
	}
	q := n.asking
	c.mu.Unlock()

	var enough <-chan time.Time
	if old != nil {
		t := time.NewTimer(patience)
		defer t.Stop()
		enough = t.C
	}
	select {
	case <-q.done:
		if q.err != nil && old != nil && !notFound(q.err) {
			return old, nil
		}
		return slices.Clone(q.addrs), q.err
	case <-enough:
		c.mu.Lock()
		n.calm = time.Now().Add(failurePay)
		c.mu.Unlock()
		return old, nil
	case <-ctx.Done():
		late := errors.Is(ctx.Err(), context.DeadlineExceeded)
		return nil, &net.DNSError{
			Err:         ctx.Err().Error(),
			Name:        name,
			IsTimeout:   late,
			UnwrapErr:   ctx.Err(),
			IsTemporary: late,
		}
	}
}

// unreachable ends the use of answers with an address that could not be connected to: a site that has
// moved may have another one.
func (c *nameCache) unreachable(addr netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	same := func(a netip.Addr) bool { return a.Unmap() == addr.Unmap() }
	for _, n := range c.names {
		if n.holds(now) && slices.ContainsFunc(n.addrs, same) {
			n.until = now
		}
	}
}

// holds reports whether the answer may be used without asking.
func (n *cachedName) holds(now time.Time) bool { return now.Before(n.until) }

// old returns the last addresses of a name if they may be used while the resolver fails, nil if not.
func (n *cachedName) old(now time.Time) []netip.Addr {
	if n.until.IsZero() || now.After(n.until.Add(oldAnswers)) {
		return nil
	}
	return slices.Clone(n.addrs)
}

// name returns the entry of a name. The caller holds c.mu.
func (c *nameCache) name(name string) *cachedName {
	key := strings.ToLower(name) // with its dot at the end, which keeps it out of the search domains
	n := c.names[key]
	if n == nil {
		if len(c.names) >= mostNames {
			c.forgetSome()
		}
		n = new(cachedName)
		c.names[key] = n
	}
	return n
}

// forgetSome makes room: names whose answers have ended go first. The caller holds c.mu.
func (c *nameCache) forgetSome() {
	now := time.Now()
	for _, all := range []bool{false, true} {
		for key, n := range c.names {
			if len(c.names) <= mostNames*3/4 {
				return
			}
			if n.asking == nil && (all || !n.holds(now)) {
				delete(c.names, key)
			}
		}
	}
}

// ask begins a lookup, which outlives the callers that wait for it, for at most lookupTime. The
// caller holds c.mu.
func (c *nameCache) ask(name string, n *cachedName) {
	q := &question{done: make(chan struct{})}
	n.asking = q
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
		defer cancel()
		addrs, err := c.lookup(ctx, name)
		if err == nil && len(addrs) == 0 {
			err = &net.DNSError{Err: "no address", Name: name, IsNotFound: true}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		q.addrs, q.err = addrs, err
		n.learn(q, time.Now())
		n.asking = nil
		close(q.done)
	}()
}

// learn takes in an answer. The caller holds the lock of the cache.
func (n *cachedName) learn(q *question, now time.Time) {
	switch {
	case q.err == nil:
		n.addrs, n.absent, n.until, n.calm = q.addrs, nil, now.Add(heldFor), time.Time{}
	case notFound(q.err):
		n.addrs, n.absent, n.until, n.calm = nil, q.err, now.Add(heldFor), time.Time{}
	case n.old(now) != nil:
		n.calm = now.Add(failurePay)
	}
}

// notFound reports whether the resolver says that a name does not exist.
func notFound(err error) bool {
	var d *net.DNSError
	return errors.As(err, &d) && d.IsNotFound
}
