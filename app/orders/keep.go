// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/job"
	"mirrord/scheduler/control"
)

// KeepFresh makes a job of an order that is done, so that its mirror is kept fresh: at once for an operator,
// else when an operator approves it.
func (s *Orders) KeepFresh(k OrderID, operator bool, schedule, window string) error {
	now, err := s.Get(k) // with the state of the run that it shares
	if err != nil {
		return err
	}
	w := now.Want
	w.Fresh, w.Window = schedule, window
	if _, err := w.job(); err != nil {
		return err
	}
	if schedule == "" {
		return env.Usagef("schedule: say how often, such as @daily")
	}
	if now.State != Done {
		return now.cannot("kept fresh")
	}
	_, err = s.update(k, func(x *Ordered) error {
		if x.Keep.State == Asks || x.Keep.State == Done || x.Keep.makes(s.Now()) {
			err := fmt.Errorf("order %s is kept fresh already, or waits for an operator to approve that", k.Ref())
			return control.WithCode(err, control.ErrConflict)
		}
		x.Want.Fresh, x.Want.Window, x.Keep = schedule, window, Keeping{State: Asks}
		if operator {
			x.Keep = Keeping{State: Runs, At: s.Now()}
		}
		return nil
	})
	if err == nil && operator {
		err = s.makeJob(k)
	}
	return err
}

// makes reports whether a process makes the job. One that died in it does not count after a minute.
func (k *Keeping) makes(now time.Time) bool { return k.State == Runs && now.Sub(k.At) < time.Minute }

// mostNames is how many names are tried for a job.
const mostNames = 100

// makeJob writes the job file of an order, and puts it in force. The order says that this is being done, so
// that no other process does it.
func (s *Orders) makeJob(k OrderID) error {
	x, err := s.Get(k)
	if err != nil {
		return err
	}
	j, err := x.Want.job()
	if err != nil {
		return err
	}
	j.Limits.MinFree = job.Default().Limits.MinFree
	j.Limits.MaxTime = job.Default().Limits.MaxTime
	text := fmt.Appendf(nil, "# Made of order %s.\n%s", k.Ref(), j.Marshal())
	var made *jobs.NewJobFile
	for i := range mostNames {
		name := j.Name
		if i > 0 {
			name = fmt.Sprintf("%s-%d", j.Name, i+1)
		}
		if made, err = jobs.NewJob(s.App, name, text); !errors.Is(err, jobs.ErrJobThere) {
			break
		}
	}
	keep := Keeping{State: Done}
	if err != nil {
		why := strings.ReplaceAll(env.Remedied(err), s.App.Jobs+string(filepath.Separator), "")
		keep = Keeping{State: Failed, Why: why}
	} else {
		keep.Job = made.Job
		if s.Reload != nil {
			err = s.Reload()
		}
	}
	_, kerr := s.update(k, func(x *Ordered) error {
		x.Keep = keep
		return nil
	})
	return errors.Join(err, kerr)
}
