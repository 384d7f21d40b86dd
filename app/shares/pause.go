// SPDX-License-Identifier: Apache-2.0

package shares

import (
	"log/slog"
	"time"

	"mirrord/scheduler"
	"mirrord/store"
)

// NotePause writes down that a job of a cluster is paused, or is not, and reports whether that is new.
func NotePause(st *store.State, name string, paused bool, now time.Time) (changed bool, err error) {
	err = store.ChangePause(store.SharedOf(st), name, func(was *store.PauseFact) (*store.PauseFact, error) {
		if changed = was == nil || was.Paused != paused; !changed {
			return was, nil
		}
		return &store.PauseFact{Paused: paused, At: now.UTC().Truncate(time.Second)}, nil
	})
	return changed, err
}

// heed adds the known pauses to records.
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
