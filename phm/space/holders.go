// SPDX-License-Identifier: Apache-2.0

package space

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"mirrord/internal/regular"
)

// Holders know which mirrors of a space hold a URL, as the space was when they were opened. They are safe for
// concurrent use, until Close.
type Holders struct {
	seed    seed
	mirrors []*mirror
}

// OpenHolders reads what a space knows of its mirrors but one. fs.ErrNotExist says that there is no space.
func OpenHolders(state, name, without string) (*Holders, error) {
	root, err := regular.OpenRoot(state)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	d := &disk{root: root, name: name}
	data, err := root.ReadFile(d.at(seedName), mostRead)
	if err != nil {
		return nil, err
	}
	h := &Holders{seed: seedOf(data)}
	names, err := d.names(notesFolder, ".json")
	for _, n := range names {
		if n == without {
			continue
		}
		m := new(mirror)
		if _, err = d.readJSON(d.note(n, ".json"), &m.note); err == nil {
			m.held, err = openHeld(root, d.note(n, ".held"))
		}
		if errors.Is(err, errIndex) { // it is made again by the next update
			err = nil
			continue
		}
		if err != nil {
			break
		}
		h.mirrors = append(h.mirrors, m)
	}
	if err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// Of names the mirrors that hold a URL: that whose scope is the narrowest around it first, then by name.
func (h *Holders) Of(url string) []string {
	var found []*mirror
	sum := h.seed.of(url)
	for _, m := range h.mirrors {
		if _, ok := m.held.find(sum); ok {
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
func (h *Holders) Close() {
	for _, m := range h.mirrors {
		m.held.close()
	}
}
