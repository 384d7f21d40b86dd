// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"

	"mirrord/job"
	"mirrord/store"
)

// viewTries is how many views of a site are read when each of them changes while it is read.
const viewTries = 3

// view reads a site as of its last commit, also while a run writes it. What disappears
// while f reads a view is not damage: f is called again with a new view, so it must set all that it returns.
func view(st *store.State, name string, f func(*store.Site) error) error {
	if !job.ValidName(name) {
		return Usagef("%q cannot name a job", name)
	}
	for try := 1; ; try++ {
		s, err := st.ViewSite(name)
		if err != nil {
			return didYouMean(st, name, err)
		}
		err = f(s)
		gone := errors.Is(err, store.ErrDamaged) && s.Stale()
		if cerr := s.Close(); cerr != nil {
			return errors.Join(err, cerr)
		}
		switch {
		case !gone:
			return err
		case try == viewTries:
			// It is not damaged, so the error is not wrapped.
			return fmt.Errorf("site %s changed while it was read; try again: %v", name, err)
		}
	}
}

// didYouMean adds to an error that says that there is no such site the name that was probably meant.
func didYouMean(st *store.State, name string, err error) error {
	if !errors.Is(err, store.ErrNoSite) {
		return err
	}
	names, lerr := st.Sites()
	if near := job.Nearest(name, names); (lerr == nil) && (near != "") && (near != name) {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return err
}

// viewState is view for those who have no state open. It must be there.
func viewState(a *App, name string, f func(*store.State, *store.Site) error) error {
	st, err := a.MustState()
	if err != nil {
		return err
	}
	err = view(st, name, func(s *store.Site) error { return f(st, s) })
	if errors.Is(err, store.ErrNoSite) {
		if _, jobErr := a.FindJob(name); jobErr == nil {
			err = notRun{name, err}
		}
	}
	return errors.Join(err, st.Close())
}

// notRun is the error for a job that has no site yet.
type notRun struct {
	job string
	err error
}

func (e notRun) Error() string {
	return fmt.Sprintf("%s has not run yet: mirrord run-now %s makes its first version", e.job, e.job)
}

func (e notRun) Unwrap() error { return e.err }
