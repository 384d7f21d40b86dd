// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"time"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/internal/timed"
	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/scheduler/notify"
	"mirrord/scheduler/status"
	"mirrord/store"
)

// Upkeep is what a daemon does for its state besides runs: it frees what nothing refers to, and reads all
// stored bytes from time to time.
type Upkeep struct {
	app       *env.App
	state     *store.State
	scheduler *scheduler.Scheduler
	tell      *notify.Notifier
	repairs   *care.Repairs
}

func upkeepOf(d *Daemon) *Upkeep {
	return &Upkeep{
		app:       d.App,
		state:     d.State,
		scheduler: d.Scheduler,
		tell:      d.tell,
		repairs:   &d.repairs,
	}
}

// Tidy frees once a day what nothing refers to, as mirrord gc does. Sites that run are left for the next
// time, and shared bodies are looked at when nothing runs.
func (u *Upkeep) Tidy(ctx context.Context, every time.Duration) {
	care.FinishForgetting(ctx, u.app, u.state)
	if every <= 0 {
		return
	}
	next := min(every, env.CollectRetry) // a daemon that is restarted every day tidies up too
	for timed.Wait(ctx, next) == nil {
		next = every
		if !TidyUp(ctx, u.app, u.state, u.busy) {
			next = min(every, env.CollectRetry)
		}
	}
}

// busy returns the sites that runs are under way on.
func (u *Upkeep) busy() map[string]bool {
	out := map[string]bool{}
	all := u.scheduler.Status()
	for i := range all.Jobs {
		if a := all.Jobs[i].Activity; a == status.Running || a == status.Ending {
			out[all.Jobs[i].Name] = true
		}
	}
	return out
}

// Scrub reads all stored bytes once in a time, 0 for never, until ctx ends. Its thread is the last to get
// processor and disk.
func (u *Upkeep) Scrub(ctx context.Context, every time.Duration) {
	care.IdleThread()
	s := &care.Scrubber{
		App:     u.app,
		State:   u.state,
		Every:   max(every, 0),
		Job:     u.scrubbed,
		Busy:    func() bool { return u.scheduler.Active() > 0 },
		Tell:    u.tellScrub,
		Pause:   timed.Wait,
		Repairs: u.repairs,
	}
	s.Run(ctx)
}

// scrubbed is the state of the job of a mirror.
func (u *Upkeep) scrubbed(name string) (*job.Job, status.Job, bool) {
	j, err := u.scheduler.Wanted(name)
	if err != nil {
		return nil, status.Job{}, false
	}
	s, err := u.scheduler.Job(name)
	return j, s, err == nil
}

// tellScrub notifies the recipients that a job names.
func (u *Upkeep) tellScrub(kind status.Kind, j *job.Job, s status.Job) {
	if u.tell.HasReceiver(j) {
		u.tell.Tell(kind, j, s)
	}
}
