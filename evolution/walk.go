// SPDX-License-Identifier: Apache-2.0

package evolution

import (
	"iter"
	"slices"
)

// Step is one transition, seen while a history is gone through. It is valid until the next one.
type Step struct {
	Number int   // from 1
	Time   int64 // Unix seconds
	Known  int   // the directories that have come up so far have the numbers below this
	*counts
}

// Changes yields the directories in which or below which something changed, ascending, each with how its
// subtree did.
func (s Step) Changes() iter.Seq2[Dir, Change] {
	return func(yield func(Dir, Change) bool) {
		for i, d := range s.touched {
			if !yield(d, s.change[i]) {
				return
			}
		}
	}
}

// Change is how the subtree of one directory changed.
func (s Step) Change(d Dir) Change {
	if i, ok := slices.BinarySearch(s.touched, d); ok {
		return s.change[i]
	}
	if int(d) >= len(s.nf) {
		return Change{}
	}
	return Change{Old: s.nodes(d)}
}

// Files is how many files the subtree of a directory has after the step.
func (s Step) Files(d Dir) int {
	if int(d) >= len(s.nf) {
		return 0
	}
	return int(s.nf[d])
}

// Unobserved is how many files of the subtree, of those that are there after the step, were not looked at.
func (s Step) Unobserved(d Dir) int {
	if int(d) >= len(s.lost) {
		return 0
	}
	return int(s.lost[d])
}

// undecided reports whether it is unknown that the subtree of a directory changed significantly. What was not
// looked at may have been updated or be gone: the change would be significant with that, and is not without.
// What may have come unseen is not counted.
func (s Step) undecided(d Dir, change Change, alpha float64, structural bool) bool {
	if change.Significant(alpha, structural) || s.Unobserved(d) == 0 {
		return false
	}
	change.Deleted += int(s.lost[d] + s.dark[d])
	return change.Significant(alpha, structural)
}

// Steps goes through the history once, oldest step first. The memory is 16 bytes for each directory, 29 where
// something was not looked at; the time is that of the changes
// times their depth.
func (h *History) Steps() iter.Seq[Step] {
	return func(yield func(Step) bool) {
		var c counts
		for i := range h.steps {
			if s := h.step(&c, i); i > 0 && !yield(s) {
				return
			}
		}
	}
}

// step takes the next entry, of number n, into what the ones before came to.
func (h *History) step(c *counts, n int) Step {
	e := h.steps[n]
	c.grow(e.known)
	c.apply(&h.dirs, e.rows, e.gaps, e.joins)
	return Step{
		Number: n,
		Time:   e.time,
		Known:  e.known,
		counts: c,
	}
}
