// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"mirrord/app/shares"
	"mirrord/internal/timed"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
)

// JobFiles puts the jobs directory in force. It is safe for concurrent use.
type JobFiles struct {
	scheduler *scheduler.Scheduler
	share     *shares.NodeShare // nil: all jobs are this daemon's

	mu  sync.Mutex // one reload at a time
	dir *scheduler.Dir
}

// load reads the jobs directory and puts it in force. again decides, when a job would be removed, whether to
// look once more.
func (f *JobFiles) load(again func() bool) (control.Reloaded, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	files, err := f.dir.Read()
	old := f.share.All(f.scheduler.Config())
	next := scheduler.Resolve(files, old)
	if again != nil && (errors.Is(err, os.ErrNotExist) || (err == nil && removes(old, next))) {
		if !again() {
			return control.Reloaded{}, nil
		}
		if files, err = f.dir.Read(); err == nil {
			next = scheduler.Resolve(files, old)
		}
	}
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) || len(old) > 0 { // a new mirror makes the directory
			f.scheduler.Problem(err.Error())
		}
		return control.Reloaded{}, err
	}
	if broken := errors.Join(f.dir.Broken()...); broken != nil {
		f.scheduler.Problem("left out: " + broken.Error())
	}
	return reloadedOf(next, f.scheduler.Apply(f.share.Of(next))), nil
}

// removes reports whether a job of one configuration is not in another.
func removes(from, to scheduler.Config) bool {
	for name, e := range from {
		if e.Job != nil && (to[name] == nil || to[name].Job == nil) {
			return true
		}
	}
	return false
}

func reloadedOf(c scheduler.Config, changes []status.Change) control.Reloaded {
	out := control.Reloaded{Changes: append([]status.Change{}, changes...)}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		e := c[name]
		if e.Job != nil {
			out.Jobs++
		}
		if len(e.Refused) > 0 {
			out.Refused = append(out.Refused, status.Change{
				Kind:     scheduler.Refused,
				Job:      name,
				Problems: e.Refused,
			})
		}
	}
	return out
}

// Reread puts the jobs directory in force without a request of a user. A file that is missing may be missing
// for a moment only, while an editor replaces it: it is looked for again before its run is ended.
func (f *JobFiles) Reread(ctx context.Context) error {
	_, err := f.load(func() bool { return timed.Wait(ctx, time.Second) == nil })
	return err
}

// FollowShare puts each new share of the jobs in force until ctx ends.
func (f *JobFiles) FollowShare(ctx context.Context) {
	if f.share == nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.share.Cluster.Changed():
		case <-f.share.Came:
		}
		// errors of the jobs are in the log; the next change tries again
		_ = f.Reread(ctx)
	}
}
