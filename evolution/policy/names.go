// SPDX-License-Identifier: Apache-2.0

package policy

import "slices"

// Units of one name in several directories are often one thing: the same page of several releases, the same
// picture at several sizes. A change of one is evidence for the others, within the run, as far as it is a
// surprise: that of a front page, which changes in each run, says nothing of the index.html of an archive.

// namesakes times the square of the share of hits among units of one name is expected of the others: after
// one hit, some 17 misses end it.
const namesakes = 0.3

// A run in which others of their names mostly are as they were expects less of the rest. This is what counts
// as much as so many of them that were expected to have changed.
const trustShrink = 10

// A hit looks at so many units of its name at most: a site has as many index.html as directories.
const maxNamesakes = 1 << 12

// names finds units by name.
type names struct {
	first []uint32 // by hash: where its units begin in units, and one more
	units []ID
	seen  map[uint32]tally

	hoped, came float64 // of looks for which the name is the reason: changes expected, and found
}

// tally is what was told of the units of a name. A hit counts less the more often its unit changes.
type tally struct {
	outcomes int
	hits     float64
}

func newNames(m *Model) names {
	lists := 1
	for lists < m.Units()/32 { // a list is read at the first hit of a name only
		lists *= 2
	}
	n := names{first: make([]uint32, lists+1), seen: map[uint32]tally{}}
	list := func(u int) int { return int(m.name[u]) & (lists - 1) }
	named := func(u int) bool { return m.name[u] != 0 && m.flags[u]&present != 0 }
	for u := range m.name {
		if named(u) {
			n.first[list(u)+1]++
		}
	}
	for i := range lists {
		n.first[i+1] += n.first[i]
	}
	n.units = make([]ID, n.first[lists])
	end := slices.Clone(n.first)
	for u := range m.name {
		if named(u) {
			l := list(u)
			n.units[end[l]] = ID(u)
			end[l]++
		}
	}
	return n
}

// tell takes an outcome. The first change of a name returns the others of that name which were not requested.
func (n *names) tell(m *Model, u ID, hit bool, state []handling) (out []ID) {
	name := m.name[u]
	if name == 0 {
		return nil
	}
	t := n.seen[name]
	t.outcomes++
	first := hit && t.hits == 0
	if hit {
		t.hits += 1 - float64(m.edits(u).c/(m.exposure(u).n+1))
	}
	n.seen[name] = t
	if !first {
		return nil
	}
	l := int(name) & (len(n.first) - 2)
	list := n.units[n.first[l]:n.first[l+1]]
	for _, v := range list[:min(len(list), maxNamesakes)] {
		if m.name[v] == name && state[v] == 0 {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, m.ByKey)
	return out
}

// raise is the chance p after what was told of a name.
func (n *names) raise(p float64, name uint32) float64 {
	trust := min(1, (n.came+trustShrink)/(n.hoped+trustShrink))
	return 1 - (1-p)*(1-trust*n.expect(name))
}

// expect is the chance by its name alone.
func (n *names) expect(name uint32) float64 {
	t := n.seen[name]
	if name == 0 || t.hits == 0 {
		return 0
	}
	x := t.hits / float64(t.outcomes+1)
	return namesakes * x * x
}

// check takes the outcome of a unit of which p was expected without its name. It comes before tell.
func (n *names) check(name uint32, p float64, hit bool) {
	more := n.expect(name)
	if more <= 2*p {
		return
	}
	if n.hoped += more; hit {
		n.came++
	}
}
