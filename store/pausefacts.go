// SPDX-License-Identifier: Apache-2.0

package store

import "time"

// kindPauses is the kind of the requested pauses of jobs of a cluster: job -> PauseFact as JSON.
const kindPauses = "pauses"

// PauseFact says whether a job is paused, whichever node of a cluster has it.
type PauseFact struct {
	Paused bool      `json:"paused"`
	At     time.Time `json:"at"` // since when, by the clock of the machine where it was requested
}

// ChangePause replaces the stored pause of a job by the result of change; nil is no pause. An error of change
// leaves all as it was.
func ChangePause(s Shared, job string, change func(*PauseFact) (*PauseFact, error)) error {
	return changeFact(s, kindPauses, job, change)
}

// Pauses returns the stored pauses by job, without those that cannot be read.
func Pauses(s Shared) (map[string]PauseFact, error) { return factsOf[PauseFact](s, kindPauses) }
