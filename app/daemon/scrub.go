// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"time"

	"mirrord/app/care"
	"mirrord/job"
	"mirrord/scheduler/status"
)

// Scrub reads all stored bytes once in a time, 0 for never, until ctx ends. Its thread is the last to get
// processor and disk.
func (d *Daemon) Scrub(ctx context.Context, every time.Duration) {
	care.IdleThread()
	s := &care.Scrubber{
		App:     d.App,
		State:   d.State,
		Every:   max(every, 0),
		Job:     d.scrubbed,
		Busy:    func() bool { return d.Scheduler.Active() > 0 },
		Tell:    d.tellScrub,
		Pause:   care.PauseFor,
		Repairs: &d.repairs,
	}
	s.Run(ctx)
}

// scrubbed is the state of the job of a mirror.
func (d *Daemon) scrubbed(name string) (*job.Job, status.Job, bool) {
	j, err := d.Scheduler.Wanted(name)
	if err != nil {
		return nil, status.Job{}, false
	}
	s, err := d.Scheduler.Job(name)
	return j, s, err == nil
}

// tellScrub notifies the recipients that a job names.
func (d *Daemon) tellScrub(kind status.Kind, j *job.Job, s status.Job) {
	if d.tell.HasReceiver(j) {
		d.tell.Tell(kind, j, s)
	}
}
