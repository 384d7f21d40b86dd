// SPDX-License-Identifier: Apache-2.0

package near

import "mirrord/evolution"

// below is Dir of the nearest directory that is known.
func (s *Skips) below(dir string) (top evolution.Dir, skipped bool) {
	d, _ := s.dirs.Nearest(dir)
	return s.Dir(d)
}

// Len is how many directories have a rule.
func (r *RuleSet) Len() (n int) {
	for _, k := range r.of {
		if k >= 0 {
			n++
		}
	}
	return n
}
