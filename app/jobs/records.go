// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"mirrord/app/env"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
	"mirrord/scheduler/notify"
	"mirrord/store/shared"
)

// jobRecords gives access to the stored records of jobs. *store.State is one; so is storetest.Facts, in
// memory. It is safe for concurrent use.
type jobRecords interface {
	// JobRecords returns the records of all jobs, by name.
	JobRecords() (map[string][]byte, error)
	// SaveJobRecords writes records, all of them or none; nil removes one.
	SaveJobRecords(map[string][]byte) error
	// LastRuns returns the last run of each site, the daemon's and others.
	LastRuns() (map[string]shared.RunRecord, error)
}

// Records keeps what the scheduler knows of jobs. It is a scheduler.Store.
type Records struct {
	Kept     jobRecords
	Log      *slog.Logger
	ReadOnly bool // for a look: nothing is saved
}

func (r Records) LoadRecords() (map[string]scheduler.Record, error) {
	raw, err := r.Kept.JobRecords()
	if err != nil {
		return nil, err
	}
	last, err := r.Kept.LastRuns()
	if err != nil {
		return nil, err
	}
	out := make(map[string]scheduler.Record, len(raw))
	for name, data := range raw {
		var rec scheduler.Record
		if err := json.Unmarshal(data, &rec); err != nil {
			r.Log.Error("record of a job cannot be read; starting with an empty one", "job", name, "err", err)
			rec = scheduler.Record{}
		}
		out[name] = rec
	}
	for name, run := range last {
		rec := out[name]
		if rec.Last == nil || run.Ended.After(rec.Last.Ended) { // made without the daemon
			var sum mirror.Summary
			if err := json.Unmarshal(run.Summary, &sum); err != nil {
				continue
			}
			rec.Note(env.RunOf(&sum))
		}
		out[name] = rec
	}
	return out, nil
}

func (r Records) SaveRecords(recs map[string]*scheduler.Record) error {
	if r.ReadOnly {
		return nil
	}
	raw := make(map[string][]byte, len(recs))
	for name, rec := range recs {
		if rec == nil {
			raw[name] = nil
			continue
		}
		data, err := json.Marshal(rec)
		if err != nil {
			return fmt.Errorf("record of job %s: %w", name, err)
		}
		raw[name] = data
	}
	return r.Kept.SaveJobRecords(raw)
}

// SetPaused stores whether a job is paused, for a daemon that reads it later, and reports whether it was
// changed.
func SetPaused(a *env.App, name string, paused bool) (changed bool, err error) {
	st, err := a.MakeState()
	if err != nil {
		return false, err
	}
	defer st.Close()
	kept := Records{Kept: st.Shared, Log: a.Log}
	recs, err := kept.LoadRecords()
	rec := recs[name]
	if changed = rec.Paused != paused; !changed || err != nil {
		return false, err
	}
	rec.Paused = paused
	if err := kept.SaveRecords(map[string]*scheduler.Record{name: &rec}); err != nil {
		return false, err
	}
	all, err := shared.Pauses(st.Shared)
	// else a node stores it, once it has the job
	if _, known := all[name]; err == nil && (known || env.JobsShared(a)) {
		_, err = shared.NotePause(st.Shared, name, paused, a.Clock())
	}
	return true, err
}

func ToldOf(list []notify.Delivery) []control.Told {
	out := make([]control.Told, 0, len(list))
	for _, x := range list {
		t := control.Told{To: x.To}
		if x.Err != nil {
			t.Error = x.Err.Error()
		}
		out = append(out, t)
	}
	return out
}
