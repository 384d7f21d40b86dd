// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/store/shared"
	"mirrord/testing/storetest"
)

// A record comes back as it was saved; one that cannot be read begins empty, and a run that the daemon did
// not make counts.
func TestJobRecords(t *testing.T) {
	kept := new(storetest.Facts)
	r := Records{Kept: kept, Log: slog.New(slog.DiscardHandler)}
	if err := r.SaveRecords(map[string]*scheduler.Record{"a": {Version: 3}, "b": {Version: 4}}); err != nil {
		t.Fatal(err)
	}
	if err := kept.SaveJobRecords(map[string][]byte{"bad": []byte("{")}); err != nil {
		t.Fatal(err)
	}
	ended := time.Unix(100, 0).UTC()
	summary, err := json.Marshal(&mirror.Summary{
		Started:   ended,
		Ended:     ended,
		Verdict:   mirror.Complete,
		Published: true,
		Version:   9,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.AddRun(shared.RunRecord{Site: "b", Ended: ended, Summary: summary}); err != nil {
		t.Fatal(err)
	}
	if err := (Records{
		Kept:     kept,
		ReadOnly: true,
	}).SaveRecords(map[string]*scheduler.Record{"a": nil}); err != nil {
		t.Fatal(err)
	}
	got, err := r.LoadRecords()
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	if got["a"].Version != 3 || got["a"].Last != nil {
		t.Errorf("a: %+v", got["a"])
	}
	if last := got["b"].Last; got["b"].Version != 9 || last == nil || !last.Ended.Equal(ended) {
		t.Errorf("b: %+v", got["b"])
	}
	if got["bad"].Version != 0 {
		t.Errorf("bad: %+v", got["bad"])
	}
	if err := r.SaveRecords(map[string]*scheduler.Record{"a": nil}); err != nil {
		t.Fatal(err)
	}
	if got, err := r.LoadRecords(); err != nil || len(got) != 2 {
		t.Errorf("after removal: %+v, %v", got, err)
	}
}
