// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"mirrord/internal/timed"
)

// NodeSessions is what orders need to know of the nodes of a cluster. engine.Sessions is one. Its methods may
// be called from several goroutines.
type NodeSessions interface {
	// Me is the name of this node.
	Me() string
	// Members are the names of the nodes that are part of the cluster now.
	Members() []string
	// Session is the name of this node's session; "": it has none now, and may not work.
	Session() string
	// Over reports whether a session of a node is over: its owner has stopped.
	Over(ctx context.Context, node, session string) (bool, error)
	// Drained reports whether this node is to take no further work.
	Drained() bool
}

var (
	errLost  = errors.New("the session of this node in the cluster is over")
	errTaken = errors.New("another node works on the order now")
)

// claims decides which orders this node works on. All of them are in one queue; a node that works on an
// order has written so into it, by a change that fails when another node was first. A claim counts as long
// as the session under which it was made: a node that loses its session stops before others may see that it
// is over, as with sites (package lease). Only one goroutine uses claims.
type claims struct {
	*Options
	over   map[Claim]time.Time   // since when a session was seen to be over
	unsure bool                  // of another one that is not known
	free   map[OrderID]time.Time // since when an order waits for a node without being worked on
}

// stale is how much older than the last write what a keeper says may be.
const stale = 2 * time.Second

// claim is the one with which this node takes an order; ok is false when it may take none.
func (c *claims) claim(was Claim) (_ Claim, ok bool) {
	if c.Cluster == nil {
		return Claim{Token: was.Token + 1}, true
	}
	session := c.Cluster.Session()
	return Claim{Node: c.Cluster.Me(), Session: session, Token: was.Token + 1}, session != ""
}

// look finds which of the sessions under which orders are worked on are over.
func (c *claims) look(ctx context.Context, held []Claim) {
	now := time.Now()
	was := c.over
	c.over, c.unsure = map[Claim]time.Time{}, false
	for _, h := range held {
		over, err := c.Cluster.Over(ctx, h.Node, h.Session)
		if err != nil {
			c.Log.Debug("whether a node works on an order is not known", "node", h.Node, "err", err)
			c.unsure = true
		}
		if err != nil || !over {
			continue
		}
		if c.over[h] = was[h]; c.over[h].IsZero() {
			c.over[h] = now
		}
	}
}

// isFree reports whether no node works on an order.
func (c *claims) isFree(x *Ordered, now time.Time) bool {
	if c.Cluster == nil || x.Claim.Session == "" || x.Claim.Session == c.Cluster.Session() {
		return true // this process took it, and no longer works on it
	}
	since, over := c.over[x.Claim]
	return over && now.Sub(since) >= min(stale, c.Patience)
}

// wait is how long this node leaves an order to others, which come before it; 0: it is this node's now. The
// first one is the node that worked on it last, whose disk may have a part of it, or on which it was made.
func (c *claims) wait(x *Ordered, now time.Time) time.Duration {
	if c.Cluster == nil {
		return 0
	}
	since, ok := c.free[x.OrderID]
	if !ok {
		since = now
		c.free[x.OrderID] = now
	}
	return max(0, time.Duration(c.rank(x))*c.Patience-now.Sub(since))
}

// rank is how many nodes come before this one for an order.
func (c *claims) rank(x *Ordered) (before int) {
	if c.Cluster == nil {
		return 0
	}
	me := c.Cluster.Me()
	weight := func(node string) uint64 {
		switch node {
		case x.Claim.Node:
			return 1<<64 - 1
		case x.Node:
			return 1<<64 - 2
		}
		h := fnv.New64a()
		h.Write([]byte(x.Ref() + "\x00" + node))
		return h.Sum64() >> 1
	}
	mine := weight(me)
	for _, node := range c.Cluster.Members() {
		if w := weight(node); node != me && (w > mine || (w == mine && node < me)) {
			before++
		}
	}
	return before
}

// errNoSession says why nothing begins.
var errNoSession = errors.New("this node is not part of the cluster now")

// follow ends local work under a session that is over, and has the other orders taken care of when nodes
// come or go, until ctx ends.
func follow(ctx context.Context, c NodeSessions, b *board) {
	var was, stood string
	for timed.Wait(ctx, 500*time.Millisecond) == nil {
		session, names := c.Session(), c.Members()
		if session != was {
			was = session
			b.lost(session)
		}
		slices.Sort(names)
		if now := fmt.Sprintf("%q %v %q", session, c.Drained(), names); now != stood {
			stood = now
			b.tell()
		}
	}
}
