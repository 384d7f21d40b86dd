// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"
	"strings"
	"testing"
)

// An old key of a job file is warned of in the log, at each change, and in the status.
func TestOldKeysAreWarnedOf(t *testing.T) {
	files := []File{
		makeJob(t, "a", "@daily", "UTC", "limits.max_ratio = 500\n"),
		makeJob(t, "b", "@daily", "UTC", ""),
	}
	inBubble(t, Options{}, files, func(t *testing.T, r *rig) {
		count := func() (n int) {
			r.log.mu.Lock()
			defer r.log.mu.Unlock()
			for _, m := range r.log.others {
				if m == "old key in job file" {
					n++
				}
			}
			return n
		}
		if n := count(); n != 1 {
			t.Errorf("%d warnings after the start, want 1", n)
		}
		if w := r.job("a").Warnings; len(w) != 1 || !strings.Contains(w[0], "limits.max_ratio is an old key") {
			t.Errorf("status: %q", w)
		}
		if w := r.job("b").Warnings; len(w) > 0 {
			t.Errorf("status without old keys: %q", w)
		}
		r.Apply(Resolve(slices.Clone(files), r.Config()))
		if n := count(); n != 1 {
			t.Errorf("%d warnings after a reload that changed nothing, want 1", n)
		}
	})
}
