// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"

	"mirrord/evolution"
	"mirrord/evolution/policy"
	"mirrord/near"
)

// A job mines its rules again before each run, from what its runs observed, and audits what they skip. A
// replay of near with Options.Relearn does the same; without, the rules are those of the training.

// jobAudits is how many pages of each skipped directory a run of a job requests all the same; jobSteps is in
// how many runs a directory must have been observed before a rule counts.
const (
	jobAudits = 2
	jobSteps  = 5
)

// relearner mines rules from what a replay has observed.
type relearner struct {
	o    near.Options
	h    *evolution.History
	of   []evolution.Dir // by policy.Dir; 0: not in it yet
	back []policy.Dir    // by evolution.Dir
}

func newRelearner(o near.Options) *relearner {
	o.MinSteps, o.From, o.To = jobSteps, 0, 0
	return &relearner{o: o, h: new(evolution.History), back: []policy.Dir{policy.Root}}
}

// take takes what a run has observed, before the model learns it.
func (r *relearner) take(d *driver, time int64) error {
	rec := r.h.Record(time)
	missed := map[evolution.Dir]int{}
	for u, s := range d.seen {
		unit := d.units[u]
		if unit.dir >= 0 {
			continue
		}
		dir := r.dir(rec, d, d.DirOf(unit.page))
		in := d.m.In(policy.ID(u))
		switch {
		case s&left != 0:
			if in {
				rec.Delete(dir, 1)
			}
		case s&entered != 0:
			if !in {
				rec.Insert(dir, 1)
			}
		case s&changed != 0 && in:
			rec.Update(dir, 1)
		case s == 0 && in:
			missed[dir]++
		}
	}
	for dir, n := range missed {
		rec.Miss(dir, n)
	}
	if err := rec.Commit(); err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	return nil
}

func (r *relearner) dir(rec *evolution.Recorder, d *driver, dir Dir) evolution.Dir {
	for len(r.of) <= int(dir) {
		r.of = append(r.of, evolution.Root)
	}
	if dir == Root || r.of[dir] != evolution.Root {
		return r.of[dir]
	}
	// Those above it first, so that each new number of the history has its own number here.
	r.dir(rec, d, d.Parent(dir))
	r.of[dir] = rec.Dir(d.DirPath(dir))
	for len(r.back) <= int(r.of[dir]) {
		r.back = append(r.back, policy.Root)
	}
	r.back[r.of[dir]] = policy.Dir(dir)
	return r.of[dir]
}

// skips are the directories that have a rule now.
func (r *relearner) skips() (out []policy.Skip, err error) {
	rules, err := near.Mine(r.h, r.o)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	for d := range rules.Skips().Top() {
		out = append(out, policy.Skip{Dir: r.back[d], Rule: len(out)})
	}
	return out, nil
}
