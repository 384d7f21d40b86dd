// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"mirrord/cluster/lease"
	"mirrord/store/disk"
	"mirrord/store/home"
)

var _ home.Owner = (*Engine)(nil)

// ErrAway reports that the node has no session. No site can be acquired then: it counts as locked.
var ErrAway = fmt.Errorf("the cluster cannot be reached: %w", disk.ErrLocked)

// siteLease is the lease of one site. One without lost is about to be given out.
type siteLease struct {
	from       holdings
	site, host string
	token      uint64
	lost       chan struct{}
	ending     sync.Once
}

func (l *siteLease) end() { l.ending.Do(func() { close(l.lost) }) }

// Token implements store.Lease.
func (l *siteLease) Token() uint64 { return l.token }

// Lost implements store.Lease.
func (l *siteLease) Lost() <-chan struct{} { return l.lost }

// Release implements store.Lease.
func (l *siteLease) Release() error {
	if l.from.t.release(l) {
		l.from.give(context.Background(), l.host)
	} else {
		kick(l.from.changed)
	}
	return nil
}

// acquireWithin is how long the lease of a site may take to get, when the keepers choose a new leader. What a
// leader that died was asked for is never answered: it is asked again after firstAnswer, then after twice the
// time.
const (
	acquireWithin = 15 * time.Second
	firstAnswer   = 2 * time.Second
)

// Acquire implements store.Owner. The lease implies the site's main host. Where the session has that already,
// the keepers are not asked.
func (e *Engine) Acquire(site string) (_ home.Lease, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("acquire site %s: %w", site, err)
		}
	}()
	if !e.t.reserve(site) {
		return nil, disk.ErrLocked
	}
	defer e.t.unreserve(site)
	ctx, cancel := context.WithTimeout(context.Background(), acquireWithin)
	defer cancel()
	select {
	case <-e.t.beginning():
	case <-ctx.Done():
		return nil, ErrAway
	}
	var floor uint64
	if e.Floor != nil {
		floor = e.Floor(site)
	}
	host, _ := e.t.hostOf(site)
	if session, token, ok := e.t.again(host, floor); ok {
		if l := e.t.lease(session, site, host, token, holdings{e}); l != nil {
			return l, nil
		}
	}
	for within := firstAnswer; ; within *= 2 {
		short, stop := context.WithTimeout(ctx, within)
		session, token, err := holdings{e}.take(short, host, floor)
		stop()
		if err == nil {
			if l := e.t.lease(session, site, host, token, holdings{e}); l != nil {
				return l, nil
			}
			err = ErrAway
		}
		if errors.Is(err, disk.ErrLocked) || errors.Is(err, ErrAway) || !pause(ctx, askAgain) {
			return nil, err
		}
	}
}

// host is one that the session has.
type host struct {
	entry    lease.Entry
	revision uint64
	tokens   lease.Tokens
	quiet    time.Duration // when the first request may be made
	uses     int           // leases of sites
	lent     int           // turns that other nodes have
	kept     bool          // it was this node's by the partition
	used     time.Duration // last
	since    time.Duration // when it was taken
	leaves   bool          // it is another node's by the partition: no further request begins
}

func (h *host) busy() bool { return h.uses > 0 || h.lent > 0 }
