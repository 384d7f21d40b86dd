// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"mirrord/app"
	"mirrord/job"
)

// KeepFresh makes a job of an order that is done, so that its mirror is kept fresh: at once for an operator,
// else when an operator approves it.
func (s *Orders) KeepFresh(n uint64, operator bool, schedule, window string) error {
	free := s.held()
	x := s.all[n]
	if x == nil {
		free()
		return ErrNone
	}
	w := x.Want
	w.Fresh, w.Window = schedule, window
	_, err := w.job()
	now, _ := s.all.get(n)
	switch {
	case err != nil:
	case schedule == "":
		err = app.Usagef("schedule: say how often, such as @daily")
	case now.State != Done || x.Keep.State == Asks || x.Keep.State == Done:
		err = errWhen
	}
	if err != nil {
		free()
		return err
	}
	x.Want.Fresh, x.Want.Window, x.Keep = schedule, window, Keeping{State: Asks}
	err = s.save(x)
	free()
	if err == nil && operator {
		_, err = s.makeJob(n)
	}
	return err
}

// mostNames is how many names are tried for a job.
const mostNames = 100

// makeJob writes the job file of an order, and puts it in force.
func (s *Orders) makeJob(n uint64) (string, error) {
	x, err := s.Get(n)
	if err != nil {
		return "", err
	}
	j, err := x.Want.job()
	if err != nil {
		return "", err
	}
	j.Limits.MinFree = job.Default().Limits.MinFree
	j.Limits.MaxTime = job.Default().Limits.MaxTime
	text := fmt.Appendf(nil, "# Made of order %d.\n%s", n, j.Marshal())
	var made *app.NewJobFile
	for i := range mostNames {
		name := j.Name
		if i > 0 {
			name = fmt.Sprintf("%s-%d", j.Name, i+1)
		}
		if made, err = app.NewJob(s.o.App, name, text); !errors.Is(err, app.ErrJobThere) {
			break
		}
	}
	k := Keeping{State: Done}
	if err != nil {
		why := strings.ReplaceAll(app.Remedied(err), s.o.App.Jobs+string(filepath.Separator), "")
		k = Keeping{State: Failed, Why: why}
	} else {
		k.Job = made.Job
		if s.o.Reload != nil {
			err = s.o.Reload()
		}
	}
	s.change(n, func(x *Ordered) { x.Keep = k })
	return k.Job, err
}
