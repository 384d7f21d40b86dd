// SPDX-License-Identifier: Apache-2.0

package store

import "errors"

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
