// SPDX-License-Identifier: Apache-2.0

package care

import (
	"slices"
	"testing"

	"mirrord/phm"
	"mirrord/store/upkeep"
)

// Of two checks of a site that changes, a problem that only one found has gone; what both found
// is damage.
func TestKeepCommonProblems(t *testing.T) {
	found := func(subjects ...string) *Verified {
		v := &Verified{Report: new(phm.Report), Kept: &upkeep.Stats{Problems: len(subjects)}}
		for _, s := range subjects {
			v.KeptProblems = append(v.KeptProblems, upkeep.Problem{Kind: upkeep.BadFrame, Subject: s})
		}
		return v
	}
	again := found("gone now", "damaged")
	again.keepCommon(found("gone before", "damaged"))
	left := slices.Collect(func(yield func(string) bool) {
		for _, p := range again.KeptProblems {
			if !yield(p.Subject) {
				return
			}
		}
	})
	if !slices.Equal(left, []string{"damaged"}) || again.Count() != 1 {
		t.Errorf("left are %q, %d", left, again.Count())
	}
	ruined := found("a", "b")
	ruined.Kept.Problems = 5000 // more than are listed
	if ruined.keepCommon(found("c")); ruined.Count() != 5000 || len(ruined.KeptProblems) != 2 {
		t.Errorf("of a ruined site %d are left, %d are listed", ruined.Count(), len(ruined.KeptProblems))
	}
}
