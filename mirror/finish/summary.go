// SPDX-License-Identifier: Apache-2.0

package finish

import (
	"fmt"
	"path/filepath"
	"time"

	"mirrord/evolution/policy"
	"mirrord/internal/count"
	"mirrord/mirror/result"
	"mirrord/mirror/run"
	"mirrord/mirror/verdict"
	"mirrord/store/record"
)

// Summary is the report of the run.
func (c *Closing) Summary(j *verdict.Judgement) *result.Summary {
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
		Held:    j.Rejection,

		WaitUntil: c.found.Waits,
	}
	c.Counts.Report(sum)
	sum.Notes, sum.Failures = c.Notes.List()
	if !c.Options.NoFetch {
		sum.Asked, sum.Known = verdict.Coverage(c.Table.Settled())
	}
	if c.found.HasPlan {
		sum.Policy = string(c.Job.Policy)
		sum.Planned = c.found.Planned
		addSkips(sum, c.found.Skips)
		sum.OldestLook, sum.LatestLook = c.found.OldestLook, c.found.LatestLook
	}
	if c.Options.NoFetch || sum.Asked < sum.Known || sum.Failed > 0 {
		var err error
		if sum.Verified, err = VerifiedSince(c.Site); err != nil {
			c.Log.Error("staleness is not known", "err", err)
		}
	}
	v := c.Live
	if c.published != nil {
		v, sum.Published, sum.RepairedLinks, sum.NewBytes = c.published, true, c.repairedLinks, c.newBytes
		sum.RolledBackTo = v.Restores
		list, err := rollbacksOf(c.Session)
		sum.Undone = (v.Restores > 0) && (err == nil) && (verdict.HoldsAt(list, v) == nil)
	}
	if v != nil {
		addVersion(sum, v)
		sum.Path = filepath.Join(c.Site.Dir, "current")
		sum.Entry = c.entry()
	}
	return sum
}

// HeldBack is the report of a run that looked at some pages only, because the run before was held back and
// nothing is different.
func (c *Closing) HeldBack(h *run.Held, asked int) *result.Summary {
	since := time.Unix(h.Since, 0).UTC().Format("2006-01-02 15:04 MST")
	why := fmt.Sprintf(stillHeld, since, count.Of(asked, "was", "were"))
	sum := c.Summary(&verdict.Judgement{
		Verdict: result.Suspicious,
		Reasons: append([]string{why}, h.Reasons...),
	})
	sum.Run, sum.HeldSince = h.Run, h.Since
	sum.Asked, sum.Known = int64(asked), h.Known
	return sum
}

const stillHeld = "still held for review since %s: the entry page and pages that would be lost answer as " +
	"before (%s requested; all are once a day, or with --full)"

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

// addVersion adds the published version.
func addVersion(sum *result.Summary, v *record.Version) {
	sum.Version, sum.Files, sum.Size, sum.VersionTime = v.Number, v.Files, v.Bytes, v.Time
	if sum.Published {
		sum.Added, sum.Changed, sum.Removed = v.Added, v.Changed, v.Removed
	}
}
