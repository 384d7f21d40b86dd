// SPDX-License-Identifier: Apache-2.0

// Package storetest has one suite of tests for each interface of package store that may have several
// implementations, and implementations in memory.
package storetest

import (
	"fmt"
	"sync"

	"mirrord/store/disk"
	"mirrord/store/home"
)

// Owner is a store.Owner in memory, whose leases can be lost on demand. Safe for concurrent use. The zero
// value owns nothing.
type Owner struct {
	mu     sync.Mutex
	tokens map[string]uint64
	leases map[string]*lease // that have not ended
}

type lease struct {
	owner *Owner
	site  string
	token uint64
	lost  chan struct{}
}

// Acquire implements store.Owner.
func (o *Owner) Acquire(site string) (home.Lease, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.leases[site] != nil {
		return nil, fmt.Errorf("acquire site %s: %w", site, disk.ErrLocked)
	}
	if o.tokens == nil {
		o.tokens, o.leases = map[string]uint64{}, map[string]*lease{}
	}
	o.tokens[site]++
	l := &lease{
		owner: o,
		site:  site,
		token: o.tokens[site],
		lost:  make(chan struct{}),
	}
	o.leases[site] = l
	return l, nil
}

// Lose takes a site from its holder.
func (o *Owner) Lose(site string) {
	o.mu.Lock()
	l := o.leases[site]
	o.mu.Unlock()
	if l != nil {
		l.end()
	}
}

func (l *lease) end() {
	l.owner.mu.Lock()
	defer l.owner.mu.Unlock()
	if l.owner.leases[l.site] == l {
		delete(l.owner.leases, l.site)
		close(l.lost)
	}
}

func (l *lease) Token() uint64         { return l.token }
func (l *lease) Lost() <-chan struct{} { return l.lost }

func (l *lease) Release() error {
	l.end()
	return nil
}
