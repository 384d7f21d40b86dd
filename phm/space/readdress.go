// SPDX-License-Identifier: Apache-2.0

package space

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mirrord/internal/regular"
	"mirrord/phm"
)

// Neighbour is another mirror of a space.
type Neighbour struct {
	Name   string
	Places []string // what its scope surrounds, as in Member
}

// Neighbours lists the other mirrors of the space, sorted by name.
func (o *Overlay) Neighbours() (all []Neighbour, err error) {
	root, err := regular.OpenRoot(o.state)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	d := &disk{root: root, name: o.Space}
	names, err := d.names(notesFolder, ".json")
	for _, name := range names {
		var n note
		if _, nerr := d.readJSON(d.note(name, ".json"), &n); nerr != nil {
			err = errors.Join(err, nerr)
		} else if name != o.job && !n.Gone {
			all = append(all, Neighbour{Name: name, Places: n.Places})
		}
	}
	return all, err
}

// Around returns those whose scope surrounds a URL, the narrowest first, then by name.
func Around(all []Neighbour, u string) (around []Neighbour) {
	for _, n := range all {
		if narrowness(n.Places, u) > 0 {
			around = append(around, n)
		}
	}
	slices.SortStableFunc(around, func(a, b Neighbour) int {
		narrower := cmp.Compare(narrowness(b.Places, u), narrowness(a.Places, u))
		return cmp.Or(narrower, strings.Compare(a.Name, b.Name))
	})
	return around
}

// Readdress returns a published page in which links to other sites lead to the address that a function gives
// for them, "" where they stay; changed is false when all do.
func Readdress(
	f *phm.File, raw []byte, address func(u string) string,
) (out []byte, changed bool, err error) {
	var p pages
	ok, err := p.scan("", f, raw)
	if !ok || err != nil {
		return nil, false, err
	}
	target := func(i int) ([]byte, bool, bool) {
		if l := &p.doc.Links[i]; leaves(l) {
			if to := address(string(l.URL)); to != "" {
				changed = true
				return fmt.Append(nil, to), true, true
			}
		}
		return nil, false, false
	}
	out = p.doc.Splice(nil, raw, target)
	return out, changed, nil
}
