// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"path/filepath"

	"mirrord/mirror/judge"
)

// summary is the report of the run.
func (r *run) summary(j *judge.Judgement) *Summary {
	sum := &Summary{
		Job:     r.site.Name,
		Run:     r.state.Number,
		Started: r.started,
		Ended:   r.now(),
		Resumed: r.resumed,
		Verdict: j.Verdict,
		Reasons: j.Reasons,
		Left:    j.Left,
		Down:    r.troubles.DownEntries(),
	}
	r.stats.Report(sum)
	sum.Notes, sum.Failures = r.notes.List()
	if !r.o.NoFetch {
		sum.Asked, sum.Known = judge.Coverage(r.table.Settled())
	}
	if r.planner != nil {
		r.reportPlan(sum)
	}
	r.reportVersion(sum)
	r.noteSources(sum)
	return sum
}

// reportPlan says what the plan requested and skipped.
func (r *run) reportPlan(sum *Summary) {
	sum.Policy = string(r.job.Policy)
	sum.Planned = r.planner.HandedOut()
	for why, n := range r.skips {
		if sum.Spared == nil {
			sum.Spared = map[string]int64{}
		}
		sum.Spared[why.String()] = n
		sum.Skipped += n
	}
}

// reportVersion says what is published.
func (r *run) reportVersion(sum *Summary) {
	v := r.live
	if r.published != nil {
		v, sum.Published = r.published, true
		sum.Added, sum.Changed, sum.Removed = v.Added, v.Changed, v.Removed
		sum.RepairedLinks = r.repairedLinks
	}
	if v == nil {
		return
	}
	sum.Version, sum.Files, sum.Size = v.Number, v.Files, v.Bytes
	sum.Path = filepath.Join(r.site.Dir(), "current")
	sum.Entry = r.entry()
}
