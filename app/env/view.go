// SPDX-License-Identifier: Apache-2.0

package env

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"mirrord/job"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/home"
)

// viewTries is how many views of a site are read when each of them changes while it is read.
const viewTries = 3

// View reads a site as of its last commit, also while a run writes it. What disappears
// while f reads a view is not damage: f is called again with a new view, so it must set all that it returns.
func View(st *store.State, name string, f func(*store.Site) error) error {
	if !job.ValidName(name) {
		return NotAName(name)
	}
	for try := 1; ; try++ {
		s, err := st.ViewSite(name)
		if err != nil {
			return DidYouMean(st, name, err)
		}
		err = f(s)
		gone := errors.Is(err, disk.ErrDamaged) && s.DB.Stale()
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

// DidYouMean adds to an error that says that there is no such site the name that was probably meant.
func DidYouMean(st *store.State, name string, err error) error {
	if !errors.Is(err, home.ErrNoSite) {
		return err
	}
	names, lerr := st.Sites()
	if near := job.Nearest(name, names); (lerr == nil) && (near != "") && (near != name) {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return err
}

// ViewState is view for those who have no state open. It must be there.
func ViewState(a *App, name string, f func(*store.State, *store.Site) error) error {
	st, err := a.MustState()
	if err != nil {
		return err
	}
	err = View(st, name, func(s *store.Site) error { return f(st, s) })
	if errors.Is(err, home.ErrNoSite) {
		if _, jobErr := a.FindJob(name); jobErr == nil {
			const say = "%s has not run yet: mirrord run-now %s makes its first version"
			err = control.WithCode(fmt.Errorf(say, name, name), err)
		}
	}
	return errors.Join(err, st.Close())
}

// elsewhereWithin is how long the daemon may take to say which node has a job.
const elsewhereWithin = 5 * time.Second

// Elsewhere is the error for a job whose mirror another node of a cluster has, by the daemon of this state;
// nil otherwise, also when it cannot be known.
func Elsewhere(ctx context.Context, a *App, name string) error {
	j, ok := jobByDaemon(ctx, a, name)
	if !ok {
		return nil
	}
	return elsewhereBy(j)
}

// jobByDaemon is a job by the daemon of this state; ok is false when it cannot be known.
func jobByDaemon(ctx context.Context, a *App, name string) (j status.Job, ok bool) {
	c, err := a.Client()
	if err != nil || c == nil {
		return j, false
	}
	ctx, cancel := context.WithTimeout(ctx, elsewhereWithin)
	defer cancel()
	j, err = c.Job(ctx, name)
	return j, err == nil
}

// elsewhereBy is Elsewhere by what the daemon knows of the job.
func elsewhereBy(j status.Job) error {
	if j.AsOf == nil {
		return nil
	}
	return fmt.Errorf("the mirror of %s is with node %s of the cluster, not on this machine: give the command "+
		"there, or take pages and downloads from the console of any node; nodes that follow the others have all "+
		"mirrors", j.Name, j.Node)
}

// NewerElsewhere says that another node of a cluster has a later version of a mirror than this machine, on
// which the mirror was before; "" otherwise, also when it cannot be known.
func NewerElsewhere(ctx context.Context, a *App, name string) string {
	st, ok, err := a.OpenState()
	if err != nil || !ok {
		return ""
	}
	defer st.Close()
	if _, err := os.Stat(filepath.Join(st.Dir, ElsewhereFolder)); err != nil { // it is no node
		return ""
	}
	here, ok := PublishedHere(st, name)
	if !ok {
		return ""
	}
	j, ok := jobByDaemon(ctx, a, name)
	if !ok || j.AsOf == nil || j.Version <= here.Version {
		return ""
	}
	return fmt.Sprintf("this is the mirror of %s as it was left on this machine, with version %d; node %s has "+
		"version %d", name, here.Version, j.Node, j.Version)
}
