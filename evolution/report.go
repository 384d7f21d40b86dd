// SPDX-License-Identifier: Apache-2.0

package evolution

import "fmt"

// DirReport is what a history says of one directory.
type DirReport struct {
	Dir        Dir
	Files      int       // of the subtree, after the last step
	Unobserved int       // of Files, not looked at in the last step
	FoC        Frequency // over the steps in which it is known whether the subtree changed significantly
	Edits      int       // D over all steps: nodes of the subtree that came, went or changed
	Mean, Max  float64   // DoC, over the steps in which anything changed
	Last       int64     // when it last changed, Unix seconds; 0: never
}

// Report goes through the steps that the options choose and reports on every directory that was there at some
// time, in the order of their numbers.
func (h *History) Report(o DeltaOptions) ([]DirReport, error) {
	t, err := h.DeltaTree(o)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if len(h.steps) == 0 {
		return nil, nil
	}
	all := make([]DirReport, t.Dirs())
	steps := make([]int, len(all))
	for s := range h.Steps() {
		if s.Number <= o.From || (o.To > 0 && s.Number > o.To) {
			continue
		}
		for d, c := range s.Changes() {
			by := c.Distance(o.Structural)
			if by == 0 {
				continue
			}
			r := &all[d]
			r.Edits += by
			r.Mean += c.DoC(o.Structural)
			r.Max = max(r.Max, c.DoC(o.Structural))
			r.Last = s.Time
			steps[d]++
		}
	}
	out, now := all[:0], Step{counts: &t.c}
	for d, r := range all {
		if !t.Seen(Dir(d)) {
			continue
		}
		r.Dir, r.Files, r.FoC = Dir(d), now.Files(Dir(d)), t.FoC(Dir(d))
		r.Unobserved = now.Unobserved(Dir(d))
		if steps[d] > 0 {
			r.Mean /= float64(steps[d])
		}
		out = append(out, r)
	}
	return out, nil
}
