// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mirrord/app/jobs"
	"mirrord/app/look"
	"mirrord/fetch"
	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/testing/apptest"
)

// status and lists say what a mirror takes, and check announces nothing of a mirror of the present format.
func TestDiskOfAMirror(t *testing.T) {
	srv := httptest.NewServer(apptest.InManyCharsets(t))
	defer srv.Close()
	state := t.TempDir()
	apptest.RunMirror(t, state, "many", srv.URL)
	a := apptest.TestApp(state)
	a.Jobs = t.TempDir()
	apptest.Put(t, a.Jobs, "many.toml", "url = \""+srv.URL+"/\"\n")
	if w := strings.Join(jobs.MirrorWarnings(a, "many"), "\n"); w != "" {
		t.Errorf("warnings of the present format: %s", w)
	}
	s, err := look.JobStatus(a, "many", time.Now())
	if err != nil || s.Disk == nil || s.Disk.Total <= s.Disk.Database || s.Disk.Documents == 0 {
		t.Errorf("disk %+v, %v", s.Disk, err)
	}
	st, err := store.OpenState(state, store.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	d, err := NewDaemon(a, st, DaemonOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Reload(); err != nil {
		t.Fatal(err)
	}
	if all := d.Glance().Jobs; len(all) != 1 || all[0].Disk == nil || all[0].Disk.Total != s.Disk.Total {
		t.Errorf("the list of the daemon: %+v", all)
	}
}

// The daemon's bound for all mirrors leaves one what the others do not take, and a run that it ends has a
// cause of its own.
func TestMostOfAllMirrors(t *testing.T) {
	srv := httptest.NewServer(apptest.InManyCharsets(t))
	defer srv.Close()
	state := t.TempDir()
	apptest.RunMirror(t, state, "one", srv.URL)
	apptest.RunMirror(t, state, "two", srv.URL)
	a := apptest.TestApp(state)
	st, err := store.OpenState(state, store.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	d := jobs.DiskOf(st, "two")
	if d == nil || d.Total == 0 {
		t.Fatal("nothing was measured")
	}
	most := new(atomic.Int64)
	most.Store(d.Total + 1000)
	r := &runner{
		app:   a,
		st:    st,
		hosts: new(fetch.Hosts),
		most:  most,
	}
	if got := r.mostFor("one"); got != 1000 {
		t.Errorf("one may take %d bytes, want 1000", got)
	}
	j, err := job.Parse("one", "one.toml", []byte("url = \""+srv.URL+"/\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	run := r.Run(t.Context(), j, scheduler.RunOptions{})
	if run.Verdict != status.VerdictPartial || run.Cause != status.StateFull || run.Requests != 0 {
		t.Errorf("run %+v", run)
	}
	s := status.Job{Name: "one", Health: status.Partial, Last: &run}
	s.Judge(time.Now())
	if !strings.Contains(s.Fix, "max_state in daemon.toml") {
		t.Errorf("what to do: %q", s.Fix)
	}
}
