// SPDX-License-Identifier: Apache-2.0

package store

import "time"

// kindPauses is the kind of what somebody wanted of a job of a cluster: job -> PauseFact as JSON.
const kindPauses = "pauses"

// PauseFact says whether a job is paused, whichever node of a cluster has it.
type PauseFact struct {
	Paused bool      `json:"paused"`
	At     time.Time `json:"at"` // since when, by the clock of the machine where somebody said so
}

// ChangePause replaces what is known of the pause of a job by what change returns; nil stands for nothing. An
// error of change leaves all as it was.
func ChangePause(s Shared, job string, change func(*PauseFact) (*PauseFact, error)) error {
	return changeFact(s, kindPauses, job, change)
}

// Pauses returns what is known of pauses, by job. One that cannot be read is left out.
func Pauses(s Shared) (map[string]PauseFact, error) { return factsOf[PauseFact](s, kindPauses) }
