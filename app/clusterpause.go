// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store"
)

// notePause writes down that a job of a cluster is paused, or is not, and reports whether that is new.
func notePause(st *store.State, name string, paused bool, now time.Time) (changed bool, err error) {
	err = store.ChangePause(store.SharedOf(st), name, func(was *store.PauseFact) (*store.PauseFact, error) {
		if changed = was == nil || was.Paused != paused; !changed {
			return was, nil
		}
		return &store.PauseFact{Paused: paused, At: now.UTC().Truncate(time.Second)}, nil
	})
	return changed, err
}

// pause pauses or resumes a job, whichever node has it now or gets it next.
func (c *Everywhere) pause(
	name string, paused bool, here func(string) error, there nodeOrder,
) error {
	if c.users == nil || c.wanted()[name] == nil {
		return c.order(name, here, there)
	}
	c.users.Exchange(c.ctx) // what was wanted elsewhere a moment ago is the older one
	changed, err := notePause(c.st, name, paused, c.app.now())
	if err != nil {
		return err
	}
	handed := c.users.Exchange(c.ctx)
	err = c.order(name, here, there)
	switch {
	case err == nil || !changed:
		return err
	case errors.Is(err, control.ErrConflict) && !errors.Is(err, errMoving):
		return nil // the node that has the job had heard of it
	case handed:
		return fmt.Errorf("it is noted, and holds on the node that has the job next; now: %w", err)
	}
	return err
}

// HeedPauses lets what is known of pauses count for the jobs that a daemon has, and writes down those of
// which nothing is known yet: from before the machine was part of a cluster.
func HeedPauses(d *Daemon) {
	all, err := store.Pauses(store.SharedOf(d.st))
	if err != nil {
		d.log.Error("which jobs are paused cannot be read", "err", err)
		return
	}
	for _, j := range d.sched.Status().Jobs {
		f, known := all[j.Name]
		what, do := "paused", d.sched.Pause
		switch {
		case known && !f.Paused:
			what, do = "resumed", d.sched.Resume
		case !known && j.Activity != status.Paused:
			continue
		case !known:
			_, err := notePause(d.st, j.Name, true, d.app.now())
			if err != nil {
				d.log.Error("a pause cannot be written down", "job", j.Name, "err", err)
			}
			continue
		}
		if do(j.Name) == nil { // else it is so, or the job is gone
			d.log.Info("as somebody wanted on another node", "job", j.Name, "now", what)
		}
	}
}

// heed adds to records what is known of pauses.
func heed(st *store.State, recs map[string]scheduler.Record, log *slog.Logger) {
	all, err := store.Pauses(store.SharedOf(st))
	if err != nil {
		log.Error("which jobs are paused cannot be read", "err", err)
	}
	for name, f := range all {
		rec, ok := recs[name]
		if !ok && !f.Paused {
			continue
		}
		rec.Paused = f.Paused
		recs[name] = rec
	}
}

// forgetPauses forgets those of jobs that are removed.
func forgetPauses(st *store.State, recs map[string]*scheduler.Record) error {
	nothing := func(*store.PauseFact) (*store.PauseFact, error) { return nil, nil }
	for name, rec := range recs {
		if rec != nil {
			continue
		}
		if err := store.ChangePause(store.SharedOf(st), name, nothing); err != nil {
			return err
		}
	}
	return nil
}
