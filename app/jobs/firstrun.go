// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"time"

	"mirrord/app/env"
	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/scheduler/status"
	"mirrord/store"
)

// firstRuns says when a daemon makes the first run of a job.
type firstRuns struct {
	now    time.Time
	daemon bool                        // one runs
	empty  func(name string) bool      // a mirror has no run and no version
	recs   map[string]scheduler.Record // of jobs
}

// newFirstRuns looks at the state. It returns nil where that does not tell: it cannot be read, or a cluster
// shares the job files, so that another node may have the mirror.
func newFirstRuns(a *env.App) *firstRuns {
	if env.JobsShared(a) {
		return nil
	}
	st, ok, err := a.OpenState()
	if err != nil {
		return nil
	}
	f := &firstRuns{now: a.Clock(), empty: func(string) bool { return true }}
	if !ok {
		return f
	}
	defer st.Close()
	if f.recs, err = (Records{Kept: st.Shared, Log: a.Log}).LoadRecords(); err != nil {
		return nil
	}
	if _, f.daemon, err = env.DaemonOf(st.Dir); err != nil {
		return nil
	}
	full := map[string]bool{}
	names, err := st.Sites()
	if err != nil {
		return nil
	}
	for _, name := range names {
		full[name] = !store.EmptySite(st, name)
	}
	f.empty = func(name string) bool { return !full[name] }
	return f
}

// of returns what completes "the job …", such as "runs now"; "" for a job that has run, has a version, is
// paused or runs by hand.
func (f *firstRuns) of(name string, j *job.Job) string {
	if f == nil || !f.empty(name) || f.recs[name].Paused {
		return ""
	}
	clock, err := scheduler.NewClock(j, time.Local, -1)
	switch {
	case err != nil || clock.Manual():
		return ""
	case !clock.Open(f.now):
		return "runs at " + status.TimeText(clock.Opens(f.now)) + ", when its window opens"
	case !f.daemon:
		return "runs when the daemon starts"
	}
	return "runs now"
}
