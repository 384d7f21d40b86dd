// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"fmt"
	"math"
	"math/bits"
)

// DeltaOptions says what a general delta tree is made of. The zero value takes any change of any step.
type DeltaOptions struct {
	Alpha      float64 // a change counts from this DoC on, 0 to 1; 0 is any change
	Structural bool    // updates are no change
	// the steps taken, From first, To not; To 0 is all there are. A history's first step has the number 0 here
	From, To int
}

// DeltaTree is the general delta tree at one threshold: for every directory, in which steps it changed
// significantly, and in which that is not known. FoC and CoC are counted from it. It takes a bit a step for
// each directory, two where something was not looked at, in words of 64 steps, and what a walk takes
// ([History.Steps]).
type DeltaTree struct {
	DeltaOptions
	c       counts
	n       int // steps
	stride  int // words for each directory
	changed []uint64
	unknown []uint64 // nil until something is
	seen    []bool   // the directory was there before the first step, or after some step
}

// DeltaTree goes through the history.
func (h *History) DeltaTree(o DeltaOptions) (*DeltaTree, error) {
	if math.IsNaN(o.Alpha) || o.Alpha < 0 || o.Alpha > 1 {
		return nil, fmt.Errorf("delta tree: alpha %v: it has to be between 0 and 1", o.Alpha)
	}
	if o.From < 0 || o.To < 0 || (o.To > 0 && o.From > o.To) {
		return nil, fmt.Errorf("delta tree: steps %d to %d: no such range", o.From, o.To)
	}
	end := len(h.steps)
	if o.To > 0 {
		end = min(end, o.To+1)
	}
	dirs := 1
	if end > 0 {
		dirs = max(1, h.steps[end-1].known)
	}
	t := &DeltaTree{DeltaOptions: o, stride: max(0, end-1-o.From)/64 + 1, seen: make([]bool, dirs)}
	t.changed = make([]uint64, dirs*t.stride)
	for at := range end {
		step := h.step(&t.c, at)
		if at <= o.From { // the state before the first step
			for d, files := range t.c.nf {
				t.seen[d] = files > 0
			}
			continue
		}
		t.take(step)
	}
	t.seen[Root] = true
	return t, nil
}

// sureEnough is the chance from which on a step of an estimate counts as known: that of the intervals.
const sureEnough = 0.9

// Tree is the delta tree of what the looks make likely: a step counts as known when the chance that the
// directory changed in it, or that it did not, is 0.9 at least.
func (e *Estimates) Tree() *DeltaTree {
	t := &DeltaTree{n: e.n, stride: e.n/64 + 1, seen: make([]bool, len(e.mean))}
	t.changed = make([]uint64, len(e.mean)*t.stride)
	t.unknown = make([]uint64, len(e.mean)*t.stride)
	for d, mean := range e.mean {
		for s, p := range mean {
			at, bit := d*t.stride+s/64, uint64(1)<<(s%64)
			switch {
			case p >= sureEnough:
				t.changed[at] |= bit
			case p > 1-sureEnough:
				t.unknown[at] |= bit
			}
			t.seen[d] = t.seen[d] || e.size.row(Dir(d))[s] > 0
		}
	}
	return t
}

func (t *DeltaTree) take(s Step) {
	word, bit := t.n/64, uint64(1)<<(t.n%64)
	t.n++
	for d, c := range s.Changes() {
		if c.Merged() > c.Deleted {
			t.seen[d] = true
		}
		if c.Significant(t.Alpha, t.Structural) {
			t.changed[int(d)*t.stride+word] |= bit
		}
	}
	if s.Unobserved(Root) == 0 {
		return
	}
	if t.unknown == nil {
		t.unknown = make([]uint64, len(t.changed))
	}
	at := 0
	for d, lost := range s.lost {
		for at < len(s.touched) && s.touched[at] < Dir(d) {
			at++
		}
		if lost == 0 {
			continue
		}
		c := Change{Old: s.nodes(Dir(d))}
		if at < len(s.touched) && s.touched[at] == Dir(d) {
			c = s.change[at]
		}
		if s.undecided(Dir(d), c, t.Alpha, t.Structural) {
			t.unknown[d*t.stride+word] |= bit
		}
	}
}

// Len is how many steps the tree has.
func (t *DeltaTree) Len() int { return t.n }

// Dirs is how many directories it knows: those that came up in the history before its last step's end.
func (t *DeltaTree) Dirs() int { return len(t.seen) }

// Seen reports whether a directory was there at some time between the first step's beginning and the last
// one's end.
func (t *DeltaTree) Seen(d Dir) bool { return int(d) < len(t.seen) && t.seen[d] }

// Words are the bits of a directory: the steps in which it changed significantly, and those of which that is
// not known (nil when nothing is unknown in the whole tree). They must not be written.
func (t *DeltaTree) Words(d Dir) (changed, unknown []uint64) {
	from, to := int(d)*t.stride, (int(d)+1)*t.stride
	if t.unknown != nil {
		unknown = t.unknown[from:to]
	}
	return t.changed[from:to], unknown
}

// FoC is the frequency of change of a directory: of the steps in which it is known, those in which it changed
// significantly.
func (t *DeltaTree) FoC(d Dir) Frequency {
	changed, unknown := t.Words(d)
	f := Frequency{N: t.n}
	for w, v := range changed {
		if unknown != nil {
			v &^= unknown[w]
			f.N -= bits.OnesCount64(unknown[w])
		}
		f.K += bits.OnesCount64(v)
	}
	return f
}
