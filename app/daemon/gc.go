// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"

	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/app/spaces"
	"mirrord/store"
	"mirrord/store/disk"
)

// TidyUp frees what nothing refers to in all sites that are not busy, one after the other, and then what they
// share. It reports whether nothing was left.
func TidyUp(ctx context.Context, a *env.App, st *store.State, busy func() map[string]bool) (done bool) {
	names, err := st.Sites()
	if err != nil {
		a.Log.Error("tidying up", "err", err)
		return true
	}
	done = true
	for _, name := range names {
		if ctx.Err() != nil {
			return true
		}
		if busy()[name] {
			done = false
			continue
		}
		switch c := care.GcSite(ctx, a, st, name, false); {
		case c.Locked:
			done = false
		case c.Problem != "" && ctx.Err() == nil:
			a.Log.Error("tidying up", "job", name, "err", c.Problem)
		case len(c.Dropped) > 0 || (c.Packs != nil && (c.Packs.Packs > 0 || c.Packs.Heads > 0)) ||
			(c.Parts != nil && c.Parts.Parts > 0):
			args := []any{"job", name, "versions", len(c.Dropped)}
			if c.Packs != nil {
				args = append(args, "freed", c.Packs.Freed+c.Packs.Heads)
			}
			a.Log.Info("tidied up", args...)
		}
	}
	if ctx.Err() != nil || len(busy()) > 0 {
		return false
	}
	freed, err := st.CollectBlobs(ctx, false)
	if err == nil {
		err = care.SharedForgotten(st)
	}
	switch {
	case errors.Is(err, disk.ErrLocked):
		return false
	case err != nil && ctx.Err() == nil:
		a.Log.Error("tidying up", "err", err)
	}
	if freed.Blobs > 0 {
		a.Log.Info("tidied up", "blobs", freed.Blobs, "freed", freed.Freed)
	}
	return done
}

// syncSpacesOf updates the spaces to the jobs in force each time that the jobs directory is read, so that
// changes of other processes, complete or not, are completed.
func syncSpacesOf(ctx context.Context, d *Daemon) {
	for _, e := range d.Scheduler.Config() {
		if e.Job != nil && e.Job.Space != "" {
			spaces.SyncSpaces(ctx, d.App, d.State)
			return
		}
	}
	if spaces.StateHasSpaces(d.State) {
		spaces.SyncSpaces(ctx, d.App, d.State)
	}
}
