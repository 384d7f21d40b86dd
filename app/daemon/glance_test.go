// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mirrord/app/look"
	"mirrord/fetch"
	"mirrord/mirror"
	"mirrord/scheduler"
	"mirrord/scheduler/notify"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/shared"
	"mirrord/testing/apptest"
)

// A list of many jobs looks at all files of a few trees only; the others have their turn, and damage that is
// known stays known.
func TestGlance(t *testing.T) {
	jobs, dir := t.TempDir(), t.TempDir()
	st, err := store.OpenState(dir, store.Options{Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ended := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	const n = glanceLooks + 7
	for i := range n {
		name := fmt.Sprintf("site%03d", i)
		apptest.Put(t, jobs, name+".toml", fmt.Sprintf("url = \"https://%s.example/\"\n", name))
		tree := filepath.Join(dir, "sites", name, "current")
		if err := os.MkdirAll(tree, 0o755); err != nil {
			t.Fatal(err)
		}
		apptest.Put(t, tree, "phm.json", "damaged, but there")
		apptest.Put(t, tree, "phm.files", "too")
		sum, err := json.Marshal(mirror.Summary{
			Ended:     ended,
			Version:   1,
			Published: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := st.Shared.AddRun(shared.RunRecord{Site: name, Ended: ended, Summary: sum}); err != nil {
			t.Fatal(err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	sched, err := scheduler.New(scheduler.Options{Store: look.NoRecords{}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{
		State:      st,
		Scheduler:  sched,
		tell:       new(notify.Notifier),
		Politeness: new(fetch.Hosts),
		Files:      &JobFiles{scheduler: sched, dir: scheduler.NewDir(jobs)},
		Log:        log,
	}
	if _, err := d.Reload(); err != nil {
		t.Fatal(err)
	}
	damaged := func(all status.All) (count int) {
		for _, j := range all.Jobs {
			if j.Health == status.Damaged {
				count++
			}
		}
		return count
	}
	if got := damaged(d.Glance()); got != glanceLooks {
		t.Errorf("%d trees were looked at, want %d", got, glanceLooks)
	}
	if got := damaged(d.Glance()); got != n {
		t.Errorf("%d are known to be damaged, want %d", got, n)
	}
	d.trees = treeLooks{}
	if got := damaged(d.Status()); got != n {
		t.Errorf("%d are damaged by the status, want %d", got, n)
	}
	for i := range d.trees.known {
		d.trees.known[i] = treeLook{at: st.Now()}
	}
	if got := damaged(d.Glance()); got != 0 {
		t.Errorf("%d trees were looked at again at once", got)
	}
	if err := os.RemoveAll(filepath.Join(dir, "sites", "site003", "current")); err != nil {
		t.Fatal(err)
	}
	broken := 0
	for _, j := range d.Glance().Jobs {
		if j.Health != status.OK && j.Name == "site003" {
			broken++
		}
	}
	if broken != 1 {
		t.Error("a tree that is gone is not seen")
	}
}
