// SPDX-License-Identifier: Apache-2.0

package run

import (
	"mirrord/mirror/source"
	"mirrord/store/shared"
)

// What the sites of a state share is not in the folder of any of them. A *shared.Database keeps all of it;
// losing it costs requests, never a mirror.

// RunLog is what the runs of all sites came to. Its methods may be called from several goroutines.
type RunLog interface {
	// AddRun appends a run. The log may forget the oldest ones of a site.
	AddRun(shared.RunRecord) error
	// Runs returns the last n runs of a site, newest first; none of a site that never ran.
	Runs(site string, n int) ([]shared.RunRecord, error)
}

// Facts is what a run reads and writes of what the sites share.
type Facts interface {
	RunLog
	source.PairFacts
}
