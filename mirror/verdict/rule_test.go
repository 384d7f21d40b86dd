// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"slices"
	"testing"

	"mirrord/internal/parts"
	"mirrord/mirror/result"
)

// Toy is a rule of this file alone, which does the recipe of CONTRIBUTING.md: that it is applied shows that a
// rule needs no other edit.
func (rules) Toy() rule {
	return rule{at: Publishing, place: 99, judge: func(c *Case) (r Ruling, _ error) {
		if c.Limits.MaxFiles == 4711 {
			r.suspicious("limits.max_files is 4711")
		}
		return r, nil
	}}
}

func TestToyRule(t *testing.T) {
	c := first(t)
	c.Limits.MaxFiles = 4711
	wantReasons(t, Publishing, c, result.Suspicious, "limits.max_files is 4711")
	c.Limits.MaxFiles = 0
	wantReasons(t, Publishing, c, result.Complete)
}

// Rules of one stage have different places, so that the order of reasons does not depend on names.
func TestPlaces(t *testing.T) {
	seen := map[[2]int]bool{}
	for _, x := range parts.Of[rule](rules{}) {
		at := [2]int{int(x.at), x.place}
		if seen[at] {
			t.Errorf("two rules of stage %d have place %d", x.at, x.place)
		}
		seen[at] = true
	}
}

func TestJudgement(t *testing.T) {
	var j Judgement
	j.Partial("a %d", 1)
	j.Add(Ruling{Verdict: result.Suspicious, Reasons: []string{"b"}}, Ruling{Restart: true})
	if (j.Verdict != result.Suspicious) || !slices.Equal(j.Reasons, []string{"a 1", "b"}) || !j.StartsOver() {
		t.Errorf("got %+v", j)
	}
	for _, tc := range []struct {
		j    Judgement
		want bool
	}{
		{Judgement{}, false},
		{Judgement{Verdict: result.Partial}, false},
		{Judgement{Verdict: result.Partial, Restart: true}, true},
		{Judgement{Verdict: result.Partial, Restart: true, Left: 1}, false},
		{Judgement{Verdict: result.Suspicious, Left: 1}, true},
	} {
		if got := tc.j.StartsOver(); got != tc.want {
			t.Errorf("%+v: starts over %v", tc.j, got)
		}
	}
}
