// SPDX-License-Identifier: Apache-2.0

package run

import (
	"time"

	"mirrord/evolution/policy"
	"mirrord/mirror/result"
	"mirrord/mirror/verdict"
)

// Retrieved is what retrieval came to, beside the table, the counts and the notes.
type Retrieved struct {
	Ended error // why it ended early; nil when nothing is left to request
	// Lost is why the table knows more, or less, than the disk: a batch could not be committed, or the journal
	// not be read.
	Lost error

	Postponed []verdict.PostponedHost // of entry points
	Silent    map[string]int64        // other origins without any answer, and how many of their URLs failed
	Down      []string                // origins and hosts of entry points that do not answer
	Waits     time.Time               // until when the first host of an entry point asks to wait; or zero
	Probes    []verdict.ErrorPage     // what origins answer to a path that cannot exist

	Traps map[string][]uint32 // see verdict.Case

	RobotsCuts map[string]result.Cut // by origin, of each whose robots.txt was read

	HasPlan bool
	Planned map[string]int64     // requests of the plan, by reason; nil without a plan
	Skips   map[policy.Why]int64 // what the plan skipped, by reason

	OldestLook, LatestLook time.Time // at what the plan skipped; zero: none
}
