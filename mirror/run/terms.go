// SPDX-License-Identifier: Apache-2.0

package run

import (
	"log/slog"
	"time"

	"mirrord/job"
	"mirrord/mirror/scope"
	"mirrord/mirror/urls"
	"mirrord/phm"
	"mirrord/store/record"
)

// Terms are what a run is made under. They stay as they are while a worker runs.
type Terms struct {
	Job     *job.Job
	Rules   *scope.URLRules
	Layout  phm.Layout
	Version int           // that this run works for
	Run     *record.Run   // as it is stored
	Rescan  bool          // the rules changed: stored bodies are scanned again
	Confirm time.Duration // the least time between two answers 404, see Options.Confirm
	Log     *slog.Logger
	Now     func() time.Time
}

// Recording returns the run for which the table is kept.
func (t *Terms) Recording() urls.Run {
	return urls.Run{Number: t.Run.Number, Version: t.Version}
}
