// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"path/filepath"

	"mirrord/mirror/judge"
	"mirrord/policy"
	"mirrord/store"
)

// summary is the report of the run.
func (r *closing) summary(j *judge.Judgement) *Summary {
	sum := &Summary{
		Job:     r.Site.Name,
		Run:     r.Run.Number,
		Started: r.Started,
		Ended:   r.Now(),
		Resumed: r.Resumed,
		Verdict: j.Verdict,
		Reasons: j.Reasons,
		Left:    j.Left,
		Down:    r.found.down,
	}
	r.Counts.Report(sum)
	sum.Notes, sum.Failures = r.Notes.List()
	if !r.Options.NoFetch {
		sum.Asked, sum.Known = judge.Coverage(r.Table.Settled())
	}
	if r.found.hasPlan {
		sum.Policy = string(r.Job.Policy)
		sum.Planned = r.found.planned
		addSkips(sum, r.found.skips)
	}
	v := r.Live
	if r.published != nil {
		v, sum.Published, sum.RepairedLinks = r.published, true, r.repairedLinks
	}
	if v != nil {
		addVersion(sum, v)
		sum.Path = filepath.Join(r.Site.Dir(), "current")
		sum.Entry = r.entry()
	}
	return sum
}

// addSkips says what the plan skipped, by reason.
func addSkips(sum *Summary, skips map[policy.Why]int64) {
	for why, n := range skips {
		if sum.Spared == nil {
			sum.Spared = map[string]int64{}
		}
		sum.Spared[why.String()] = n
		sum.Skipped += n
	}
}

// addVersion says what is published.
func addVersion(sum *Summary, v *store.Version) {
	sum.Version, sum.Files, sum.Size = v.Number, v.Files, v.Bytes
	if sum.Published {
		sum.Added, sum.Changed, sum.Removed = v.Added, v.Changed, v.Removed
	}
}
