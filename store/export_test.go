// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"sync"

	"mirrord/store/home"
)

// Acquire implements Owner: a state owns the sites of one machine.
func (s *State) Acquire(site string) (home.Lease, error) {
	f, err := s.acquire(site, writing)
	if err != nil {
		return nil, fmt.Errorf("acquire site %s: %w", site, err)
	}
	return &leaseOf{opening: f}, nil
}

// leaseOf is the lease of a site that is open for nothing else.
type leaseOf struct {
	*opening
	once sync.Once
	err  error
}

// Token implements Lease.
func (l *leaseOf) Token() uint64 { return l.Lease.Token }

// Lost implements Lease.
func (l *leaseOf) Lost() <-chan struct{} {
	if l.Lease.Above != nil {
		return l.Lease.Above.Lost()
	}
	return l.Lease.Ended
}

// Release implements Lease.
func (l *leaseOf) Release() error {
	l.once.Do(func() { l.err = l.opening.Release() })
	return l.err
}

// OnStep calls f between two changes of the disk.
func OnStep(s *Site, f func(step string)) { s.Step = f }

// KeptGlance is what the file of a site has for lists, nil when it cannot be relied on.
func KeptGlance(s *State, name string) *Glance { return readGlance(s, name) }

// SeenGlance is what a copy of the database of a site has for lists, and its last version.
func SeenGlance(s *State, name string) (g *Glance, last int, err error) {
	v, err := s.openSite(name, viewing) // ViewSite would wait for a publish that is stopped
	if err != nil {
		return nil, 0, err
	}
	g, err = look(v.Folder)
	vs, verr := v.Versions.List()
	if len(vs) > 0 {
		last = vs[len(vs)-1].Number
	}
	g.Busy = v.DB.Busy
	return g, last, errors.Join(err, verr, v.Close())
}
