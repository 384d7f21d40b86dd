// SPDX-License-Identifier: Apache-2.0

package space

import (
	"fmt"
	"maps"
	"slices"
)

// mirrorSet is the mirrors of a space, by name.
type mirrorSet map[string]*mirror

// sorted returns them by name.
func (s mirrorSet) sorted() []*mirror { return slices.SortedFunc(maps.Values(s), byName) }

func (s mirrorSet) close() {
	for _, m := range s {
		m.close()
	}
}

// resolve says where a link of a mirror's page to another site leads: to the mirror whose scope is the
// narrowest around the URL, then by name; nowhere when the mirror itself holds it. From a last copy of the
// mirror the links to the mirror itself are absolute too.
func (s mirrorSet) resolve(by seed, owner, raw string, ofLast bool) (Landing, bool, error) {
	sum := by.of(raw)
	var best *mirror
	var at held
	narrow, seen := 0, int64(0)
	repairs := s[owner] != nil && s[owner].Repair
	for name, m := range s {
		h, ok := m.held.find(sum)
		if !ok {
			continue
		}
		n, last := narrowness(m.Places, raw), m.lastOf(raw)
		switch {
		case last.URL != "" && !repairs:
			continue
		case last.URL != "":
			n = -1 // any other copy is newer
		case name == owner && !ofLast:
			return Landing{}, false, nil
		}
		newer := last.Seen > seen || (last.Seen == seen && best != nil && name < best.Name)
		if best == nil || n > narrow || (n == narrow && newer) {
			best, at, narrow, seen = m, h, n, last.Seen
		}
	}
	if best == nil {
		return Landing{}, false, nil
	}
	f, err := best.lineAt(at.at)
	if err != nil {
		return Landing{}, false, err
	}
	if by.of(f.Path) != at.path {
		return Landing{}, false, fmt.Errorf("what the space knows of %s is of two versions", best.Name)
	}
	return Landing{Mirror: best.Name, Path: f.Path, part: best.Parts[raw]}, true, nil
}

// want reports whether a page of a mirror that repairs links to a URL.
func (s mirrorSet) want(url uint64) bool {
	for _, m := range s {
		found := false
		if m.Repair {
			m.links.to(url, func(uint64) { found = true })
		}
		if found {
			return true
		}
	}
	return false
}

// countWanted counts the links of a mirror to URLs that no mirror holds, by host.
func (s mirrorSet) countWanted(m *mirror, hosts map[string]int) {
	for i := range m.links.len() {
		l, held := m.links.at(i), false
		for _, other := range s {
			_, here := other.held.find(l.url)
			held = held || here
		}
		if !held {
			hosts[m.links.hosts[l.host]]++
		}
	}
}
