// SPDX-License-Identifier: Apache-2.0

package near

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"

	"mirrord/evolution"
)

// RuleSet is for every directory the best rule of which it is the consequent, where it has one: all that
// skipping needs. It takes 8 bytes for each directory; mining takes 4 more for each, and what the cases take
// that are looked at: on a site on which no two directories ever changed in the same of 100 steps 500 bytes
// for each directory, on real ones next to nothing. Chains are not kept without end, however the directories
// changed.
type RuleSet struct {
	// Truncated says that some chains were left out, because of Options.MaxChains or because too many would have
	// been kept for all directories: some directory may lack a rule, or have one that is not its best.
	Truncated bool
	Steps     int // that were learned from

	dirs  *evolution.Dirs
	class []int32 // of every directory
	of    []int32 // place in kinds, -1 for none
	kinds []kind
	from  *evolution.Estimates // of rules that are sampled
}

// kind is what many rules have in common.
type kind struct {
	c       counts
	classes []int32 // of the antecedent's members
}

// Mine finds the best rule for every directory.
//
// The set of antecedents that a directory may have is divided: those without the directory's parent are the
// ones that its parent may have; those with it are these, the parent added. A chain whose FoC is under MinFoC
// is left out, since FoC falls as a chain grows (CoC and confidence do not behave so). Chains that changed in
// the same steps are one chain, and directories that changed in the same steps below the same chains have the
// same rules: on a site of a million directories a few hundred cases are looked at, and the time is that of
// one pass over the directories.
func Mine(h *evolution.History, o Options) (*RuleSet, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	t, err := h.DeltaTree(evolution.DeltaOptions{
		Alpha:      o.MinDoC,
		Structural: o.Structural,
		From:       o.From,
		To:         o.To,
	})
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	return mineTree(t, h.Dirs(), &o), nil
}

func mineTree(t *evolution.DeltaTree, dirs *evolution.Dirs, o *Options) *RuleSet {
	f := &finder{
		Options: o,
		t:       t,
		n:       t.Len(),
		next:    map[[2]int32]int32{},
		found:   map[[2]int32]int32{},
	}
	return f.rules(dirs)
}

// vector is in which steps something changed significantly, and of which that is known. Bits of steps that
// are not known are clear.
type vector struct{ changed, known []uint64 }

func (v vector) and(w vector) vector {
	out := vector{make([]uint64, len(v.changed)), v.known}
	for i := range v.changed {
		out.changed[i] = v.changed[i] & w.changed[i]
	}
	if !slices.Equal(v.known, w.known) {
		out.known = make([]uint64, len(v.known))
		for i := range v.known {
			out.known[i] = v.known[i] & w.known[i]
			out.changed[i] &= out.known[i]
		}
	}
	return out
}

func ones(a []uint64) (n int) {
	for _, w := range a {
		n += bits.OnesCount64(w)
	}
	return n
}

// table counts a chain against a consequent.
func (v vector) table(y vector) (c counts) {
	for i, known := range v.known {
		known &= y.known[i]
		c.N += bits.OnesCount64(known)
		c.X += bits.OnesCount64(v.changed[i] & known)
		c.Y += bits.OnesCount64(y.changed[i] & known)
		c.XY += bits.OnesCount64(v.changed[i] & y.changed[i] & known)
	}
	return c
}

func (v vector) key(b []byte) []byte {
	b = b[:0]
	for i := range v.changed {
		b = binary.LittleEndian.AppendUint64(b, v.changed[i])
		b = binary.LittleEndian.AppendUint64(b, v.known[i])
	}
	return b
}

// chain is a set of classes on a path, and the steps in which all of them changed.
type chain struct {
	vector
	classes []int32
}

// finder works on classes, the sets of directories that changed in the same steps, and on states, the sets of
// chains that a directory has above it.
type finder struct {
	*Options
	t         *evolution.DeltaTree
	n         int
	least     int // steps that a chain has to change in
	classes   []vector
	states    [][]chain // state 0 has no chain
	next      map[[2]int32]int32
	found     map[[2]int32]int32 // state and consequent's class -> kind, -1 for none
	kinds     []kind
	room      int // chains that may still be kept
	truncated bool
}

// mostChains is how many chains are kept at least, for all directories together. No recorded site has a
// hundredth of it. chainsPerDir is the same for each directory of a larger site.
const (
	mostChains   = 1 << 18
	chainsPerDir = 16
)

// classify gives each directory the number of its class.
func (f *finder) classify() []int32 {
	class := make([]int32, f.t.Dirs())
	index := map[string]int32{}
	all := make([]uint64, (f.n+63)/64)
	for i := range all {
		all[i] = ^uint64(0)
		if left := f.n - i*64; left < 64 {
			all[i] = 1<<left - 1
		}
	}
	v := vector{make([]uint64, len(all)), make([]uint64, len(all))}
	var key []byte
	known := true
	for d := range class {
		changed, unknown := f.t.Words(evolution.Dir(d))
		for i := range all {
			v.changed[i], v.known[i] = changed[i]&all[i], all[i]
			if unknown != nil {
				v.known[i] &^= unknown[i]
				known = known && unknown[i] == 0
			}
		}
		key = v.key(key)
		n, ok := index[string(key)]
		if !ok {
			n = int32(len(f.classes))
			index[string(key)] = n
			f.classes = append(f.classes, vector{slices.Clone(v.changed), slices.Clone(v.known)})
		}
		class[d] = n
	}
	// A longer chain, and a consequent, may be known in fewer steps: only where all is known FoC bounds the
	// count.
	n := f.MinSteps
	if known {
		n = f.n
	}
	for f.least = 1; float64(f.least)/float64(max(1, n)) < f.MinFoC; {
		f.least++
	}
	return class
}

func (f *finder) rules(dirs *evolution.Dirs) *RuleSet {
	class := f.classify()
	out := &RuleSet{Steps: f.n, dirs: dirs, of: make([]int32, len(class))}
	state := make([]int32, len(class)) // of the chains above the directory
	f.states, f.room = [][]chain{nil}, max(mostChains, chainsPerDir*len(class))
	for i := range class {
		d := evolution.Dir(i)
		out.of[d] = -1
		if d == evolution.Root {
			continue
		}
		up := dirs.Parent(d)
		state[d] = f.step(state[up], class[up])
		if f.t.Seen(d) {
			out.of[d] = f.best(state[d], class[d])
		}
	}
	out.class, out.kinds, out.Truncated = class, f.kinds, f.truncated
	return out
}

// step is the state below a directory of a class, whose own state is given.
func (f *finder) step(state, class int32) int32 {
	if next, ok := f.next[[2]int32{state, class}]; ok {
		return next
	}
	old := f.states[state]
	if len(old) > f.room { // those below have the chains of those above
		f.next[[2]int32{state, class}], f.truncated = state, true
		return state
	}
	have := make(map[string]int, len(old))
	var key []byte
	for i, c := range old {
		key = c.key(key)
		have[string(key)] = i
	}
	made, same := slices.Clone(old), true
	add := func(c chain) {
		if ones(c.changed) < f.least {
			return
		}
		key = c.key(key)
		i, known := have[string(key)]
		switch {
		case known && len(made[i].classes) <= len(c.classes):
			return
		case known: // of chains that say the same the shortest is kept
			made[i] = c
		case len(made) >= f.MaxChains:
			f.truncated = true
			return
		default:
			have[string(key)] = len(made)
			made = append(made, c)
		}
		same = false
	}
	add(chain{f.classes[class], []int32{class}})
	for _, c := range old {
		add(chain{c.and(f.classes[class]), append(slices.Clip(c.classes), class)})
	}
	next := state
	if !same {
		next = int32(len(f.states))
		f.states = append(f.states, made)
		f.room -= len(made)
	}
	f.next[[2]int32{state, class}] = next
	return next
}

// best is the kind of the best rule of a directory.
func (f *finder) best(state, class int32) int32 {
	if k, ok := f.found[[2]int32{state, class}]; ok {
		return k
	}
	at, best := -1, counts{}
	y := f.classes[class]
	for i, x := range f.states[state] {
		c := x.table(y)
		if !f.accepts(c) {
			continue
		}
		if at >= 0 {
			o := better(c, best)
			if o > 0 || (o == 0 && len(x.classes) >= len(f.states[state][at].classes)) {
				continue
			}
		}
		at, best = i, c
	}
	k := int32(-1)
	if at >= 0 && !f.expired(y) {
		k = int32(len(f.kinds))
		f.kinds = append(f.kinds, kind{c: best, classes: f.states[state][at].classes})
	}
	f.found[[2]int32{state, class}] = k
	return k
}

// expired reports whether a directory was unknown for so long that it no longer has a rule.
func (f *finder) expired(y vector) bool {
	if f.Expire == 0 || f.Expire > f.n {
		return false
	}
	for i := f.n - f.Expire; i < f.n; i++ {
		if y.known[i/64]&(1<<(i%64)) != 0 {
			return false
		}
	}
	return true
}

// Has reports whether a directory has a rule.
func (r *RuleSet) Has(d evolution.Dir) bool { return int(d) < len(r.of) && r.of[d] >= 0 }

// For is the best rule of a directory.
func (r *RuleSet) For(d evolution.Dir) (Rule, bool) {
	if !r.Has(d) {
		return Rule{}, false
	}
	k := &r.kinds[r.of[d]]
	var above []evolution.Dir
	for u := d; u != evolution.Root; {
		u = r.dirs.Parent(u)
		above = append(above, u)
	}
	slices.Reverse(above)
	rule := Rule{Consequent: d, Counts: k.c, Seen: k.c.N}
	left := slices.Clone(k.classes)
	for _, u := range above { // the topmost directory of each class
		if i := slices.Index(left, r.class[u]); i >= 0 {
			rule.Antecedent = append(rule.Antecedent, u)
			left = slices.Delete(left, i, i+1)
		}
	}
	if r.from != nil {
		rule.Seen = min(rule.Seen, r.from.Seen(rule.Antecedent, d))
	}
	return rule, true
}

// All yields the best rule of every directory that has one, in the order of the directories' numbers.
func (r *RuleSet) All() iter.Seq[Rule] {
	return func(yield func(Rule) bool) {
		for d := range r.of {
			if rule, ok := r.For(evolution.Dir(d)); ok && !yield(rule) {
				return
			}
		}
	}
}
