// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"strings"

	"mirrord/control"
	"mirrord/job"
)

// Remote is a Daemon for those who may command it but have no account on its machine: a run by them sets no
// key that reaches the machine.
type Remote struct{ *Daemon }

// Run starts a run as Daemon.Run does.
func (d Remote) Run(name string, r control.RunRequest) (control.Running, bool, error) {
	if len(r.Set) > 0 {
		j, err := d.sched.Wanted(name)
		if err != nil {
			return nil, false, apiError(err)
		}
		with := *j
		if err := (Choices{Set: r.Set}).Apply(&with); err != nil {
			return nil, false, fmt.Errorf("%w: %w", control.ErrInvalid, err)
		}
		if keys := job.MachineKeys(j, &with); len(keys) > 0 {
			return nil, false, apiErr{errors.New(strings.Join(keys, ", ") + ": names a command, file, secret or " +
				"private address of the machine; set it there"), control.ErrInvalid}
		}
	}
	return d.Daemon.Run(name, r)
}
