// SPDX-License-Identifier: Apache-2.0

package life

import (
	"fmt"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/scheduler"
)

// SetPaused says for the next daemon whether a job is paused; a running daemon gets it through its socket.
// It is an error when nothing changes.
func SetPaused(a *env.App, name string, paused bool) error {
	if _, err := a.FindJob(name); err != nil {
		return err
	}
	changed, err := jobs.SetPaused(a, name, paused)
	switch {
	case err != nil || changed:
		return err
	case paused:
		return fmt.Errorf("pause %s: %w: it is paused", name, scheduler.ErrNothing)
	}
	return fmt.Errorf("resume %s: %w: it is not paused", name, scheduler.ErrNothing)
}
