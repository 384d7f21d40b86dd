// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/store"
)

// jobRecords is the door to what is kept of jobs. *store.State is one; so is storetest.Facts, in memory. It
// is safe for concurrent use.
type jobRecords interface {
	// JobRecords returns the records of all jobs, by name.
	JobRecords() (map[string][]byte, error)
	// SaveJobRecords writes records, all of them or none; nil removes one.
	SaveJobRecords(map[string][]byte) error
	// LastRuns returns the last run of each site, the daemon's and others.
	LastRuns() (map[string]store.RunRecord, error)
}

// records keeps what the scheduler knows of jobs. It is a scheduler.Store.
type records struct {
	kept     jobRecords
	log      *slog.Logger
	readOnly bool // for a look: nothing is saved
}

func (r records) LoadRecords() (map[string]scheduler.Record, error) {
	raw, err := r.kept.JobRecords()
	if err != nil {
		return nil, err
	}
	last, err := r.kept.LastRuns()
	if err != nil {
		return nil, err
	}
	out := make(map[string]scheduler.Record, len(raw))
	for name, data := range raw {
		var rec scheduler.Record
		if err := json.Unmarshal(data, &rec); err != nil {
			r.log.Error("record of a job cannot be read; starting with an empty one", "job", name, "err", err)
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
			rec.Note(runOf(&sum))
		}
		out[name] = rec
	}
	return out, nil
}

func (r records) SaveRecords(recs map[string]*scheduler.Record) error {
	if r.readOnly {
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
	return r.kept.SaveJobRecords(raw)
}
