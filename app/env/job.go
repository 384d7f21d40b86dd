// SPDX-License-Identifier: Apache-2.0

package env

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"mirrord/internal/regular"
	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/disk"
	"mirrord/store/home"
)

// JobOnDisk looks for a job's file and mirror. It is an error when there is neither, and when a rename of the
// job was interrupted.
func (a *App) JobOnDisk(name string) (*JobOnDisk, error) {
	name = strings.TrimSuffix(name, scheduler.Suffix)
	if !job.ValidName(name) {
		return nil, NotAName(name)
	}
	if r := scheduler.RenamingIn(a.JobDirs(), name); r != nil {
		return nil, Usagef("%w", r)
	}
	d := &JobOnDisk{Name: name}
	if file := a.JobFile(name); Exists(file) {
		d.File = file
		d.Job, _ = a.ReadJob(name) // a refused file can be removed and renamed
	}
	state, err := a.State()
	if err != nil {
		return nil, err
	}
	if dir := filepath.Join(state, "sites", name); Exists(dir) {
		d.Mirror = dir
	}
	d.Half = home.HalfRemoved(state, name)
	if d.File == "" && d.Mirror == "" && d.Half == "" {
		_, err := a.FindJob(name)
		return nil, err
	}
	return d, nil
}

// NotReused is an error when a job reuses the mirror of another one.
func (a *App) NotReused(name string) error {
	for _, user := range a.Reusers(name) {
		return Usagef("job %s reuses the mirror of %s: change reuse.job in %s first", user, name,
			a.JobFile(user))
	}
	return nil
}

// Reusers lists the jobs that reuse the mirror of one. Only files with the key are parsed.
func (a *App) Reusers(name string) (out []string) {
	files, _ := a.JobFiles() // else there are no other jobs
	for _, f := range files {
		text, _ := regular.ReadSmall(f)
		if !bytes.Contains(text, []byte("reuse")) {
			continue
		}
		if j, err := a.JobsDir().ReadFile(f); err == nil && j.Reuse.Job == name {
			out = append(out, j.Name)
		}
	}
	return out
}

// NotRunning returns a client of the daemon, nil without one. It is an error when a run of the job is in
// progress in the daemon, or waits there, and when another node of its cluster has the mirror.
func (a *App) NotRunning(ctx context.Context, name string) (*control.Client, error) {
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
		return nil, RunInProgress(name)
	}
	return c, nil
}

// Hold prevents the mirror of a job from being opened; nil if there is no mirror.
func (a *App) Hold(d *JobOnDisk) (*store.State, *home.HeldSite, error) {
	st, ok, err := a.OpenState()
	if err != nil || !ok {
		return nil, nil, err
	}
	var held *home.HeldSite
	if err = readsWhatIsWritten(st.Dir); err == nil {
		held, err = st.HoldSite(d.Name)
	}
	if err == nil {
		if err = held.Movable(); err != nil {
			err = errors.Join(err, held.Close())
		}
	}
	switch {
	case errors.Is(err, home.ErrNoSite):
		return st, nil, nil
	case errors.Is(err, disk.ErrLocked):
		err = RunInProgress(d.Name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	return st, held, nil
}
