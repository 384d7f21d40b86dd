// SPDX-License-Identifier: Apache-2.0

package life

import (
	"fmt"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/shares"
	"mirrord/scheduler"
	"mirrord/store/shared"
)

// SetPaused says for the next daemon whether a job is paused; a running daemon gets it through its socket.
// It is an error when nothing changes.
func SetPaused(a *env.App, name string, paused bool) error {
	if _, err := a.FindJob(name); err != nil {
		return err
	}
	st, err := a.MakeState()
	if err != nil {
		return err
	}
	defer st.Close()
	kept := jobs.Records{Kept: st.Shared, Log: a.Log}
	recs, err := kept.LoadRecords()
	if err != nil {
		return err
	}
	rec := recs[name]
	if rec.Paused == paused {
		if paused {
			return fmt.Errorf("pause %s: %w: it is paused", name, scheduler.ErrNothing)
		}
		return fmt.Errorf("resume %s: %w: it is not paused", name, scheduler.ErrNothing)
	}
	rec.Paused = paused
	if err := kept.SaveRecords(map[string]*scheduler.Record{name: &rec}); err != nil {
		return err
	}
	all, err := shared.Pauses(st.Shared)
	if _, shared := all[name]; err == nil && shared { // else the daemon of a node writes it down
		_, err = shares.NotePause(st, name, paused, a.Clock())
	}
	return err
}
