// SPDX-License-Identifier: Apache-2.0

package space

import (
	"cmp"
	"slices"
	"strings"
)

// Holders know which mirrors of a space hold a URL, as the space was when they were opened. They are safe for
// concurrent use, until Close.
type Holders struct {
	space   *update
	without string
	done    func()
}

// OpenHolders reads what a space knows of its mirrors but one. fs.ErrNotExist says that there is no space.
func OpenHolders(state, name, without string) (*Holders, error) {
	u, done, err := look(state, name)
	if err != nil {
		return nil, err
	}
	return &Holders{u, without, done}, nil
}

// Of names the mirrors that hold a URL: that whose scope is the narrowest around it first, then by name.
func (h *Holders) Of(url string) []string {
	var found []*mirror
	sum := h.space.seed.of(url)
	for name, m := range h.space.mirrors {
		if _, ok := m.held.find(sum); ok && name != h.without {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b *mirror) int {
		return cmp.Or(narrowness(b.Places, url)-narrowness(a.Places, url), strings.Compare(a.Name, b.Name))
	})
	names := make([]string, len(found))
	for i, m := range found {
		names[i] = m.Name
	}
	return names
}

// Close lets go of the space.
func (h *Holders) Close() { h.done() }
