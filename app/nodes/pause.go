// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"fmt"

	"mirrord/app/daemon"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store/shared"
)

// pause pauses or resumes a job, whichever node has it now or gets it next.
func (c *Everywhere) pause(
	name string, paused bool, here func(string) error, there nodeOrder,
) error {
	if c.users == nil || c.Wanted()[name] == nil {
		return c.order(name, here, there)
	}
	c.users.Exchange(c.ctx) // what was wanted elsewhere a moment ago is the older one
	changed, err := shared.NotePause(c.here.State.Shared, name, paused, c.here.App.Clock())
	if err != nil {
		return err
	}
	handed := c.users.Exchange(c.ctx)
	err = c.order(name, here, there)
	switch {
	case err == nil || !changed:
		return err
	case errors.Is(err, control.ErrConflict) && !errors.Is(err, errMoving):
		return nil // the node that has the job had heard of it
	case handed:
		return fmt.Errorf("it is noted, and holds on the node that has the job next; now: %w", err)
	}
	return err
}

// HeedPauses applies the cluster's pauses to the jobs of a daemon, and records pauses that the cluster does
// not know yet: from before the machine was part of it.
func HeedPauses(d *daemon.Daemon) {
	all, err := shared.Pauses(d.State.Shared)
	if err != nil {
		d.Log.Error("which jobs are paused cannot be read", "err", err)
		return
	}
	for _, j := range d.Scheduler.Status().Jobs {
		f, known := all[j.Name]
		what, do := "paused", d.Scheduler.Pause
		switch {
		case known && !f.Paused:
			what, do = "resumed", d.Scheduler.Resume
		case !known && j.Activity != status.Paused:
			continue
		case !known:
			_, err := shared.NotePause(d.State.Shared, j.Name, true, d.App.Clock())
			if err != nil {
				d.Log.Error("a pause cannot be written down", "job", j.Name, "err", err)
			}
			continue
		}
		if do(j.Name) == nil { // else it is so, or the job is gone
			d.Log.Info("as requested on another node", "job", j.Name, "now", what)
		}
	}
}
