// SPDX-License-Identifier: Apache-2.0

package shares

import (
	"log/slog"

	"mirrord/scheduler"
	"mirrord/store"
	"mirrord/store/shared"
)

// heed adds the known pauses to records.
func heed(st *store.State, recs map[string]scheduler.Record, log *slog.Logger) {
	all, err := shared.Pauses(st.Shared)
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
	nothing := func(*shared.PauseFact) (*shared.PauseFact, error) { return nil, nil }
	for name, rec := range recs {
		if rec != nil {
			continue
		}
		if err := shared.ChangePause(st.Shared, name, nothing); err != nil {
			return err
		}
	}
	return nil
}
