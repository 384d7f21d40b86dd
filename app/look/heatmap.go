// SPDX-License-Identifier: Apache-2.0

package look

import (
	"errors"

	"mirrord/app/env"
	"mirrord/job"
	"mirrord/mirror/report"
	"mirrord/store"
)

// HeatRequest asks how the directories of a mirror changed, step by step.
type HeatRequest struct {
	Job  string
	Path string // of a directory; "" is the top
	All  bool   // a row for each directory below it, not only for those directly in it
	Most int    // steps, the last ones; 0 is all
}

// HeatMap shows how the directories of a mirror changed, run by run. A directory that was never there is
// wrong usage.
func HeatMap(a *env.App, r HeatRequest) (m *report.HeatReport, err error) {
	err = look(a, r.Job, func(j *job.Job, s *store.Site) error {
		v, err := report.Load(j, s, a.Clock())
		if err != nil {
			return err
		}
		m, err = v.HeatMap(r.Path, r.All, r.Most)
		return err
	})
	if errors.Is(err, report.ErrNoDir) {
		err = &env.Error{Kind: env.Usage, Err: err}
	}
	return m, err
}
