// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"mirrord/scheduler/status"
)

// Hints are what the report of a run tells its user to do.
type Hints struct {
	Accept string // when the run was held back as suspicious, or as the first one
	held   string // when a rollback held it back
	Full   string // to have everything requested, when the run did not
	look   string // to see the first version
	// when it found new gaps, or was partial, by its reasons
	Gaps, again func(why string) string
	Entry       func(why string) string // when it was suspicious, and accept cannot publish it either
}

// JobHints are the hints for a job of the jobs directory.
func JobHints(name string) Hints {
	return Hints{
		Accept: status.AcceptHint(name),
		Gaps:   func(why string) string { return status.GapsHint(name, why) },
		held:   status.HeldHint(name),
		Full:   "mirrord run-now " + name + " --full",
		look:   "mirrord serve " + name,
		again:  func(why string) string { return status.AgainHint(name, why) },
		Entry:  func(why string) string { return status.AgainHint(name, why) },
	}
}
