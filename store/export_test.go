// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
)

// Acquire implements Owner: a state owns the sites of one machine.
func (s *State) Acquire(site string) (Lease, error) {
	l, err := s.acquire(site, writing)
	if err != nil {
		return nil, fmt.Errorf("acquire site %s: %w", site, err)
	}
	return l, nil
}

// Token implements Lease.
func (l *siteLock) Token() uint64 { return l.token }

// Lost implements Lease.
func (l *siteLock) Lost() <-chan struct{} {
	if l.above != nil {
		return l.above.Lost()
	}
	return l.lost
}

// OnStep calls f between two changes of the disk.
func OnStep(s *Site, f func(step string)) { s.step = f }

// KeptGlance is what the file of a site has for lists, nil when it cannot be relied on.
func KeptGlance(s *State, name string) *Glance { return readGlance(s, name) }

// SeenGlance is what a copy of the database of a site has for lists, and its last version.
func SeenGlance(s *State, name string) (g *Glance, last int, err error) {
	v, err := s.openSite(name, viewing) // ViewSite would wait for a publish that is stopped
	if err != nil {
		return nil, 0, err
	}
	g, err = v.look()
	vs, verr := v.Versions.List()
	if len(vs) > 0 {
		last = vs[len(vs)-1].Number
	}
	g.Busy = v.Busy()
	return g, last, errors.Join(err, verr, v.Close())
}
