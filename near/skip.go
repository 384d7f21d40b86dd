// SPDX-License-Identifier: Apache-2.0

package near

import (
	"iter"

	"mirrord/evolution"
)

// Skips says what of a site is skipped: the topmost directories that have a rule, each with everything below
// it, also what comes up there later. It takes 4 bytes for each directory.
type Skips struct {
	dirs *evolution.Dirs
	top  []evolution.Dir // the skipped directory that a directory is or lies below; Root: none
}

// Skips goes through the directories from the top down. Rules whose consequent, or part of whose antecedent,
// is in a skipped directory are never applied.
func (r *RuleSet) Skips() *Skips {
	s := &Skips{r.dirs, make([]evolution.Dir, len(r.of))}
	for d := evolution.Dir(1); int(d) < len(r.of); d++ {
		if up := s.top[r.dirs.Parent(d)]; up != evolution.Root {
			s.top[d] = up
		} else if r.of[d] >= 0 {
			s.top[d] = d
		}
	}
	return s
}

// Top yields the skipped directories, none of which lies below another, in the order of their numbers.
func (s *Skips) Top() iter.Seq[evolution.Dir] {
	return func(yield func(evolution.Dir) bool) {
		for d, top := range s.top {
			if top == evolution.Dir(d) && top != evolution.Root && !yield(top) {
				return
			}
		}
	}
}

// Dir is the skipped directory that a directory is or lies below. A directory that came up after the rules
// were mined is found by its number too.
func (s *Skips) Dir(d evolution.Dir) (top evolution.Dir, skipped bool) {
	for int(d) >= len(s.top) {
		d = s.dirs.Parent(d)
	}
	return s.top[d], s.top[d] != evolution.Root
}
