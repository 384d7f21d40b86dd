// SPDX-License-Identifier: Apache-2.0

package look

import (
	"errors"

	"mirrord/app/env"
	"mirrord/mirror/report"
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
	m, err = viewed(a, r.Job, func(v *report.View) (*report.HeatReport, error) {
		return v.HeatMap(r.Path, r.All, r.Most)
	})
	if errors.Is(err, report.ErrNoDir) {
		err = env.Usagef("%w", err)
	}
	return m, err
}
