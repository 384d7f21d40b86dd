// SPDX-License-Identifier: Apache-2.0

package closing

import (
	"path/filepath"

	"mirrord/mirror/judge"
	"mirrord/mirror/result"
	"mirrord/policy"
	"mirrord/store"
)

// Summary is the report of the run.
func (c *Closing) Summary(j *judge.Judgement) *result.Summary {
	sum := &result.Summary{
		Job:     c.Site.Name,
		Run:     c.Run.Number,
		Started: c.Started,
		Ended:   c.Now(),
		Resumed: c.Resumed,
		Closed:  c.Expired,
		Verdict: j.Verdict,
		Reasons: j.Reasons,
		Left:    j.Left,
		Gaps:    j.Gaps,
		Down:    c.found.Down,

		WaitUntil: c.found.Waits,
	}
	c.Counts.Report(sum)
	sum.Notes, sum.Failures = c.Notes.List()
	if !c.Options.NoFetch {
		sum.Asked, sum.Known = judge.Coverage(c.Table.Settled())
	}
	if c.found.HasPlan {
		sum.Policy = string(c.Job.Policy)
		sum.Planned = c.found.Planned
		addSkips(sum, c.found.Skips)
		sum.OldestLook, sum.LatestLook = c.found.OldestLook, c.found.LatestLook
	}
	v := c.Live
	if c.published != nil {
		v, sum.Published, sum.RepairedLinks = c.published, true, c.repairedLinks
	}
	if v != nil {
		addVersion(sum, v)
		sum.Path = filepath.Join(c.Site.Dir(), "current")
		sum.Entry = c.entry()
	}
	return sum
}

// addSkips says what the plan skipped, by reason.
func addSkips(sum *result.Summary, skips map[policy.Why]int64) {
	for why, n := range skips {
		if sum.Spared == nil {
			sum.Spared = map[string]int64{}
		}
		sum.Spared[why.String()] = n
		sum.Skipped += n
	}
}

// addVersion says what is published.
func addVersion(sum *result.Summary, v *store.Version) {
	sum.Version, sum.Files, sum.Size = v.Number, v.Files, v.Bytes
	if sum.Published {
		sum.Added, sum.Changed, sum.Removed = v.Added, v.Changed, v.Removed
	}
}
