// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"
	"fmt"

	"mirrord/app/env"
	"mirrord/job"
	"mirrord/mirror/scope"
	"mirrord/scheduler/status"
	"mirrord/store"
)

// NotForgotten is an error when one of the URLs that a run of a job is for was forgotten: no run requests it.
func NotForgotten(st *store.State, j *job.Job) error {
	if len(j.Only) == 0 {
		return nil
	}
	var down *scope.TakeDowns
	err := env.View(st, j.Name, func(s *store.Site) (err error) {
		down, err = scope.TakeDownsOf(s.Notes)
		return err
	})
	if err != nil { // there is no mirror yet, or the run reports its error
		return nil
	}
	for _, u := range j.Only {
		if d := down.Of(u); d != nil {
			return &env.Error{Kind: env.Usage, Err: fmt.Errorf("%s is not mirrored: %s; to mirror it again: %s",
				u, d.Sentence(), status.AllowHint(j.Name, d.What))}
		}
	}
	return nil
}

// OnlyMirrored is notForgotten for those who have no state open.
func OnlyMirrored(a *env.App, j *job.Job) error {
	if len(j.Only) == 0 {
		return nil
	}
	st, ok, err := a.OpenState()
	if (err != nil) || !ok {
		return nil // the run reports the error
	}
	return errors.Join(NotForgotten(st, j), st.Close())
}
