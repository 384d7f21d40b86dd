// SPDX-License-Identifier: Apache-2.0

package policy

// Units of one name in several directories are often one thing: the same page of several releases, the same
// picture at several sizes. A change of one is evidence for the others, within the run.

// namesakes times the square of the share of hits among units of one name is expected of the others: after
// one hit, some 17 misses end it.
const namesakes = 0.3

// A hit looks at so many units of its name at most: a site has as many index.html as directories.
const maxNamesakes = 1 << 12

// names finds units by name.
type names struct {
	heads []uint32 // by hash: one plus a unit
	next  []uint32 // by unit: one plus the next of its chain
	seen  map[uint32]tally
}

// tally is what was told of the units of a name.
type tally struct{ outcomes, hits int }

func newNames(m *Model) names {
	n := names{heads: make([]uint32, 1), next: make([]uint32, m.Units()), seen: map[uint32]tally{}}
	for len(n.heads) < m.Units()/32 { // a chain is walked at the first hit of a name only
		n.heads = make([]uint32, len(n.heads)*2)
	}
	for u := m.Units() - 1; u >= 0; u-- {
		if m.name[u] != 0 && m.flags[u]&present != 0 {
			h := &n.heads[int(m.name[u])&(len(n.heads)-1)]
			n.next[u], *h = *h, uint32(u)+1
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
	if hit {
		t.hits++
	}
	n.seen[name] = t
	if !hit || t.hits > 1 {
		return nil
	}
	steps := 0
	for v := n.heads[int(name)&(len(n.heads)-1)]; v != 0 &&
		steps < maxNamesakes; v, steps = n.next[v-1], steps+1 {
		if m.name[v-1] == name && state[v-1] == 0 {
			out = append(out, ID(v-1))
		}
	}
	return out
}

// raise is the chance p after what was told of a name.
func (n *names) raise(p float64, name uint32) float64 {
	if name == 0 {
		return p
	}
	if t := n.seen[name]; t.hits > 0 {
		x := float64(t.hits) / float64(t.outcomes+1)
		p = 1 - (1-p)*(1-namesakes*x*x)
	}
	return p
}
