// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/look"
	"mirrord/app/replicas"
	"mirrord/app/runs"
	"mirrord/app/serving"
	"mirrord/app/shares"
	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/notify"
	"mirrord/scheduler/status"
	"mirrord/serve"
	"mirrord/store"
	"mirrord/store/shared"
)

// Daemon is what a daemon knows and does: it runs jobs at their times, and is the control.API of its socket.
// It is safe for concurrent use.
type Daemon struct {
	App        *env.App
	State      *store.State
	Scheduler  *scheduler.Scheduler
	tell       *notify.Notifier
	about      status.Daemon // what does not change
	Log        *slog.Logger
	Politeness *fetch.Hosts
	repairs    care.Repairs
	trees      treeLooks
	Texts      *KeptIndex
	most       *atomic.Int64 // bytes that all mirrors together may take; 0: no limit

	Share *shares.NodeShare // nil: all jobs are this daemon's

	// Settings reads the settings again and puts in force what can be; nil: there are none. It is set before the
	// daemon runs, and safe for concurrent use.
	Settings func() error

	Files  *JobFiles
	Upkeep *Upkeep
}

// Status is the state of the daemon and of all jobs.
func (d *Daemon) Status() status.All {
	if last, err := d.State.Shared.LastRuns(); err == nil {
		for _, r := range last {
			note(d.Scheduler, r)
		}
	}
	all := d.Scheduler.Status()
	d.aboutItself(&all)
	now := d.State.Now()
	for i := range all.Jobs {
		look.JudgeTree(&all.Jobs[i], d.State, now, d.lookAtTree)
	}
	return all
}

// aboutItself adds what the daemon knows of itself.
func (d *Daemon) aboutItself(all *status.All) {
	s := all.Daemon
	all.Daemon = d.about
	all.Daemon.Running, all.Daemon.MaxRuns, all.Daemon.Runs = s.Running, s.MaxRuns, s.Runs
	all.Daemon.Ready, all.Daemon.Ending, all.Daemon.Reloaded = s.Ready, s.Ending, s.Reloaded
	all.Daemon.Parked, all.Daemon.MaxParked, all.Daemon.Turns = s.Parked, s.MaxParked, s.Turns
	all.Daemon.Hosts = hostsHeld(d.Politeness.Snapshot())
	all.Jobs = d.Share.Problems(all.Jobs)
	all.Daemon.Problem, all.Daemon.Free, all.Daemon.Untold = s.Problem, s.Free, d.tell.Untold()
}

// Job is the state of one job, with the report of its last run.
func (d *Daemon) Job(name string) (status.Job, error) {
	runs, rerr := d.State.Shared.Runs(name, 1)
	if rerr == nil && len(runs) > 0 {
		note(d.Scheduler, runs[0])
	}
	j, err := d.Scheduler.Job(name)
	if j, err = d.Share.Problem(j, name, err); err != nil {
		return j, apiError(err)
	}
	look.JudgeTree(&j, d.State, d.State.Now(), d.lookAtTree)
	if rerr == nil && len(runs) > 0 {
		j.Summary = look.SummaryJSON(runs[0])
	}
	jobs.AboutSite(&j, d.State)
	return j, nil
}

// note lets a scheduler know of a run that was made beside the daemon, such as by mirrord rollback.
func note(s *scheduler.Scheduler, r shared.RunRecord) {
	var sum mirror.Summary
	if json.Unmarshal(r.Summary, &sum) == nil {
		s.Noted(r.Site, env.RunOf(&sum))
	}
}

// Progress is Job without the report of the last run, which is read from the disk.
func (d *Daemon) Progress(name string) (status.Job, error) {
	j, err := d.Scheduler.Job(name)
	return j, apiError(err)
}

// Runs is the reports of the last n runs of a job, newest first, without their summaries.
func (d *Daemon) Runs(name string, n int) ([]status.Run, error) {
	if _, err := d.Scheduler.Job(name); err != nil {
		return nil, apiError(err)
	}
	return look.HistoryOf(d.State, name, n)
}

// Run starts a run of a job, after the jobs directory has been read again; attached says that one was under
// way already.
func (d *Daemon) Run(name string, r control.RunRequest) (control.Running, bool, error) {
	if err := d.Files.Reread(context.Background()); err != nil { // a file that was just put there is meant
		d.Log.Warn("run by hand with the jobs as they were last read", "err", err)
	}
	o := scheduler.RunNowOptions{Accept: r.Accept}
	if r.Keep && !r.Accept {
		return nil, false, fmt.Errorf("%w: keep goes with accept", control.ErrInvalid)
	}
	if len(r.Set)+len(r.Only) > 0 || r.Full || r.Now {
		j, err := d.Scheduler.Wanted(name)
		if err != nil {
			return nil, false, apiError(err)
		}
		with := *j
		if err := errors.Join(jobs.Apply(&with, r), jobs.NotForgotten(d.State, &with)); err != nil {
			return nil, false, fmt.Errorf("%w: %w", control.ErrInvalid, err)
		}
		o.Job = &with
	}
	if r.Accept {
		if _, err := d.Scheduler.Wanted(name); err != nil {
			return nil, false, apiError(err)
		}
		var err error
		if o.Keep, err = runs.WaitsForAccept(d.State, name, r.Keep); err != nil {
			return nil, false, control.WithCode(err, control.ErrConflict)
		}
	}
	t, attached, err := d.Scheduler.RunNow(name, o)
	if err != nil {
		return nil, false, apiError(err)
	}
	return t, attached, nil
}

// Cancel ends the run of a job as partial.
func (d *Daemon) Cancel(name string) error { return apiError(d.Scheduler.Cancel(name)) }

// Pause ends the run of a job and starts none until Resume.
func (d *Daemon) Pause(name string) error { return apiError(d.Scheduler.Pause(name)) }

// Resume takes Pause back.
func (d *Daemon) Resume(name string) error { return apiError(d.Scheduler.Resume(name)) }

// Alive is an error when the scheduler does not do its work.
func (d *Daemon) Alive() error { return d.Scheduler.Alive() }

// NotifyTest sends a test to everybody whom a job names.
func (d *Daemon) NotifyTest(ctx context.Context, name string) ([]control.Told, error) {
	j, err := d.Scheduler.Wanted(name)
	if err != nil {
		return nil, apiError(err)
	}
	s, err := d.Scheduler.Job(name)
	if err != nil {
		return nil, apiError(err)
	}
	return jobs.ToldOf(d.tell.Test(ctx, j, s)), nil
}

// Reload reads the jobs directory and puts it in force. Because a user requests it, who may have repaired
// something outside of the job files, jobs that only this could help run again.
func (d *Daemon) Reload() (control.Reloaded, error) {
	out, err := d.Files.load(nil)
	if err != nil {
		return out, err
	}
	for _, name := range d.Scheduler.RetryLasting() {
		named := func(ch status.Change) bool { return ch.Job == name }
		if !slices.ContainsFunc(out.Changes, named) {
			out.Changes = append(out.Changes, status.Change{Kind: scheduler.Retried, Job: name})
		}
	}
	if err := ReadSettings(d); err != nil {
		return out, control.WithCode(fmt.Errorf("settings stay as they were: %w", err), control.ErrInvalid)
	}
	return out, nil
}

// apiError gives an error of the scheduler the code that it has on the wire.
func apiError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, scheduler.ErrNoJob):
		return control.WithCode(err, control.ErrNotFound)
	case errors.Is(err, scheduler.ErrRunning), errors.Is(err, scheduler.ErrNothing):
		return control.WithCode(err, control.ErrConflict)
	case errors.Is(err, scheduler.ErrRefused):
		return control.WithCode(err, control.ErrInvalid)
	}
	return err
}

// Registry is the registry by the jobs in force.
func (d *Daemon) Registry() (any, error) { return RegistryOf(d) }

func RegistryOf(d *Daemon) (*replicas.Registry, error) {
	var jobs []*job.Job
	for _, e := range d.Scheduler.Config() {
		if e.Job != nil {
			jobs = append(jobs, e.Job)
		}
	}
	return replicas.ReadRegistry(d.State, jobs, d.State.Now())
}

// Register tests a place by the job in force.
func (d *Daemon) Register(ctx context.Context, name, at string) (any, error) {
	e := d.Scheduler.Config()[name]
	if e == nil || e.Job == nil {
		return nil, control.WithCode(fmt.Errorf("no job %q", name), control.ErrNotFound)
	}
	p, err := replicas.Registering{App: d.App, State: d.State, Hosts: d.Politeness}.Register(ctx, e.Job, at)
	if err != nil {
		d.Log.Warn("mirror not registered", "job", name, "url", at, "err", err)
		return nil, err
	}
	d.Log.Info("mirror registered", "job", name, "url", at)
	return p, nil
}

// Acts returns the last n entries of the audit log of this machine.
func (d *Daemon) Acts(_ context.Context, n int) (shares.Acts, error) {
	all, err := shared.NewConsoleFacts(d.State.Shared).Audit(n)
	return shares.Acts{Entries: all}, err
}

// Gather forgets what other nodes knew: a daemon by itself has none, if it ever had.
func (d *Daemon) Gather(context.Context) error {
	if d.Share != nil {
		return nil
	}
	return replicas.ForgetElsewhere(d.State.Dir)
}

var _ control.API = (*Daemon)(nil)

// Fronts is what front pages of mirror sites show, by name.
func (d *Daemon) Fronts() []serve.Front { return serving.FrontsOf(d.Status(), d.Scheduler.Config()) }

// Mail sends one message to an address, as messages of jobs leave this machine.
func (d *Daemon) Mail(ctx context.Context, to, subject, text string) error {
	return d.tell.Write(ctx, to, subject, text)
}
