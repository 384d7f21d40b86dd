// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"errors"
	"fmt"
	"strings"

	"mirrord/app/jobs"
	"mirrord/job"
	"mirrord/scheduler/control"
)

// Remote is the face of a daemon for those who may command it but have no account on its machine: a run by
// them sets no key that reaches the machine.
type Remote struct{ Face }

// Run starts a run as that of the daemon does.
func (d Remote) Run(name string, r control.RunRequest) (control.Running, bool, error) {
	if len(r.Set) > 0 {
		e := d.Wanted()[name]
		if e == nil || e.Job == nil {
			return nil, false, control.WithCode(fmt.Errorf("no job %q", name), control.ErrNotFound)
		}
		j, with := e.Job, *e.Job
		if err := jobs.Apply(&with, control.RunRequest{Set: r.Set}); err != nil {
			return nil, false, fmt.Errorf("%w: %w", control.ErrInvalid, err)
		}
		if keys := job.MachineKeys(j, &with); len(keys) > 0 {
			err := errors.New(strings.Join(keys, ", ") + ": " + job.MachineKey + "; set it there")
			return nil, false, control.WithCode(err, control.ErrInvalid)
		}
	}
	return d.Face.Run(name, r)
}
