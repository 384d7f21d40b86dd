// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"

	"mirrord/app/env"
	"mirrord/job"
	"mirrord/mirror/report"
	"mirrord/scheduler"
	"mirrord/store"
	"mirrord/store/home"
)

// checkLeaving says for each job, as a warning, how many files of its mirror the next run removes because the
// rules of the job changed. It reads views of the sites: a run of the job is not disturbed.
func checkLeaving(a *env.App, files []scheduler.File) map[*job.Job]string {
	st, ok, err := a.OpenState()
	if (err != nil) || !ok {
		return nil // checkReach has logged it
	}
	defer st.Close()
	out := map[*job.Job]string{}
	for _, f := range files {
		if (f.Err != nil) || (f.Job == nil) {
			continue
		}
		var leaving report.Leaving
		err := env.View(st, f.Job.Name, func(s *store.Site) (err error) {
			leaving, err = report.LeavingOf(f.Job, s)
			return err
		})
		switch {
		case errors.Is(err, home.ErrNoSite):
		case err != nil:
			a.Log.Debug("the files of the mirror are not looked at", "job", f.Job.Name, "err", err)
		default:
			out[f.Job] = leaving.String()
		}
	}
	return out
}
