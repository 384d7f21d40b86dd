// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// roomWait is what was said of jobs that are due and wait for room on the disk. Their last runs ended well,
// so that no message says it otherwise.
type roomWait struct {
	waits bool            // some job does
	told  map[string]bool // receivers who know it, by their keys
}

// note logs when jobs begin to wait for space, and when none does. It tells each receiver once,
// however many of the jobs name it; its end is reported when the job of that message is well again.
func (w *roomWait) note(s *state, jobs []*entry, now time.Time) {
	slices.SortFunc(jobs, func(a, b *entry) int { return strings.Compare(a.name, b.name) })
	names := make([]string, len(jobs))
	for i, e := range jobs {
		names[i] = e.name
	}
	list, waits := strings.Join(names, " "), len(jobs) > 0
	switch {
	case waits && !w.waits:
		const what = "jobs wait for room on the disk: free some space (mirrord gc), or lower limits.min_free in " +
			"their files"
		s.log.Warn(what, "jobs", list)
	case w.waits && !waits:
		s.log.Info("no job waits for free space on the disk now")
	}
	if w.waits != waits {
		w.waits, w.told = waits, map[string]bool{}
	}
	if !waits || s.Teller == nil {
		return
	}
	for _, e := range jobs { // what the process before told, or a run that stopped for the disk
		stopped := e.Told.Open() && e.Last != nil && e.Last.Cause == status.DiskFull
		if stopped || e.Told.Kind == status.TellRoom {
			w.told[receivers(e.job())] = true
		}
	}
	for _, e := range jobs {
		j := e.job()
		to := receivers(j)
		if w.told[to] || e.Told.Quiet(now) || !s.Teller.HasReceiver(j) {
			continue
		}
		st := e.status(now)
		if len(jobs) > 1 {
			st.Problems = append(slices.Clip(st.Problems), "these jobs wait for room on the disk: "+list)
		}
		w.told[to] = true
		e.Told, e.dirty = status.Told{Kind: status.TellRoom, At: now}, true
		s.Teller.Tell(status.TellRoom, j, st)
	}
}

// receivers is a key of those whom a job tells.
func receivers(j *job.Job) string {
	n := j.Notify
	return fmt.Sprintf("%q", []any{n.Command, n.Webhook, n.Email})
}
