// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store"
)

// jobOnDisk is what lies on the disk of a job: its file and its mirror.
type jobOnDisk struct {
	name   string
	file   string   // path of the job file; "" when there is none
	job    *job.Job // nil when there is no file, or it is refused
	mirror string   // path of the site's folder; "" when there is none
	half   string   // path of what an interrupted removal of the mirror has left; "" for nothing
}

// jobOnDisk looks for a job's file and mirror. It is an error when there is neither, and when a rename of the
// job was interrupted.
func (a *App) jobOnDisk(name string) (*jobOnDisk, error) {
	name = strings.TrimSuffix(name, scheduler.Suffix)
	if !job.ValidName(name) {
		return nil, notAName(name)
	}
	if r := scheduler.RenamingIn(a.Jobs, name); r != nil {
		return nil, &Error{Kind: Usage, Err: r}
	}
	d := &jobOnDisk{name: name}
	if file := filepath.Join(a.Jobs, name+scheduler.Suffix); exists(file) {
		d.file = file
		d.job, _ = scheduler.ReadFile(file) // a refused file can be removed and renamed
	}
	state, err := a.State()
	if err != nil {
		return nil, err
	}
	if dir := filepath.Join(state, "sites", name); exists(dir) {
		d.mirror = dir
	}
	d.half = store.HalfRemoved(state, name)
	if d.file == "" && d.mirror == "" && d.half == "" {
		_, err := a.FindJob(name)
		return nil, err
	}
	return d, nil
}

// exists reports whether something has that name.
func exists(name string) bool {
	_, err := os.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// link is the symbolic link of publish.dir, if it leads to the mirror; "" otherwise.
func (d *jobOnDisk) link() string {
	if d.job == nil || d.job.Publish.Dir == "" || d.mirror == "" {
		return ""
	}
	to, err := os.Readlink(d.job.Publish.Dir)
	current, aerr := filepath.Abs(filepath.Join(d.mirror, "current"))
	if err != nil || aerr != nil || to != current {
		return ""
	}
	return d.job.Publish.Dir
}

// notReused is an error when a job reuses the mirror of another one.
func (a *App) notReused(name string) error {
	for _, user := range a.reusers(name) {
		return Usagef("job %s reuses the mirror of %s: change reuse.job in %s first", user, name,
			filepath.Join(a.Jobs, user+scheduler.Suffix))
	}
	return nil
}

// reusers lists the jobs that reuse the mirror of one.
func (a *App) reusers(name string) (out []string) {
	files, err := scheduler.NewDir(a.Jobs).Read()
	if err != nil {
		return nil // there are no other jobs
	}
	for _, f := range files {
		if f.Job != nil && f.Job.Reuse.Job == name {
			out = append(out, f.Name)
		}
	}
	return out
}

// notRunning returns a client of the daemon, nil without one. It is an error when a run of the job is in
// progress in the daemon, or waits there, and when another node of its cluster has the mirror.
func (a *App) notRunning(ctx context.Context, name string) (*control.Client, error) {
	c, err := a.Commander(ctx)
	if err != nil || c == nil {
		return nil, err
	}
	j, err := c.Job(ctx, name)
	if errors.Is(err, control.ErrNotFound) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if err := elsewhereBy(j); err != nil {
		return nil, err
	}
	if !slices.Contains([]status.Activity{status.Idle, status.Paused, ""}, j.Activity) {
		return nil, runInProgress(name)
	}
	return c, nil
}

// runInProgress says that a job cannot be changed now.
func runInProgress(name string) error {
	return &Error{
		Kind: Locked,
		Err:  fmt.Errorf("a run of %s is in progress; wait for it, or end it with mirrord cancel %s", name, name),
	}
}

// hold keeps the mirror of a job from being opened; nil when there is none.
func (a *App) hold(d *jobOnDisk) (*store.State, *store.HeldSite, error) {
	st, ok, err := a.OpenState()
	if err != nil || !ok {
		return nil, nil, err
	}
	var held *store.HeldSite
	if err = readsWhatIsWritten(st.Dir); err == nil {
		held, err = store.HoldSite(st, d.name)
	}
	if err == nil {
		if err = held.Movable(); err != nil {
			err = errors.Join(err, held.Close())
		}
	}
	switch {
	case errors.Is(err, store.ErrNoSite):
		return st, nil, nil
	case errors.Is(err, store.ErrLocked):
		err = runInProgress(d.name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	return st, held, nil
}

// tellChanged lets a daemon look at what was changed beside it, which one of a cluster brings to the depot.
// It looks from time to time anyway. nil is no daemon.
func tellChanged(ctx context.Context, c *control.Client, a *App) {
	if err := reloaded(ctx, c); err != nil {
		a.Log.Debug("the daemon was not told of a change", "err", err)
	}
}

// reloaded lets a daemon read the jobs directory; nil is no daemon.
func reloaded(ctx context.Context, c *control.Client) error {
	if c == nil {
		return nil
	}
	_, err := c.Reload(ctx)
	return err
}
