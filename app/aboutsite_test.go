// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/binary"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/status"
	"mirrord/store"
)

// setFormat makes the database of a mirror one of another format.
func setFormat(t *testing.T, state, name string, format uint32) {
	t.Helper()
	db, err := bolt.Open(filepath.Join(state, "sites", name, "site.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("format"), binary.BigEndian.AppendUint32(nil, format))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// check announces that a run converts a mirror, and the copy is where it says.
func TestCheckAnnouncesAFormat(t *testing.T) {
	srv := httptest.NewServer(inManyCharsets(t))
	defer srv.Close()
	state := t.TempDir()
	runMirror(t, state, "many", srv.URL)
	a := testApp(state)
	a.Jobs = t.TempDir()
	put(t, a.Jobs, "many.toml", "url = \""+srv.URL+"/\"\n")
	warnings := func() string {
		t.Helper()
		c, err := Check(t.Context(), a, nil, false)
		if err != nil || len(c.Files) != 1 {
			t.Fatalf("%+v, %v", c, err)
		}
		return strings.Join(c.Files[0].Warnings, "\n")
	}
	if w := warnings(); strings.Contains(w, "format") {
		t.Errorf("warnings of the present format: %s", w)
	}
	setFormat(t, state, "many", store.FormatVersion-1)
	w := warnings()
	_, kept, ok := strings.Cut(w, "keeps its database for going back as ")
	if !ok || !strings.Contains(w, "the next run converts it") {
		t.Fatalf("warnings: %s", w)
	}
	runMirror(t, state, "many", srv.URL)
	if _, err := os.Stat(strings.Fields(kept)[0]); err != nil {
		t.Error(err)
	}
	if w := warnings(); strings.Contains(w, "format") {
		t.Errorf("warnings after the run: %s", w)
	}
	s, err := JobStatus(a, "many", time.Now())
	if err != nil || s.Disk == nil || s.Disk.Total <= s.Disk.Database || s.Disk.Documents == 0 {
		t.Errorf("disk %+v, %v", s.Disk, err)
	}
}

// The daemon's bound for all mirrors leaves one what the others do not take, and a run that it ends has a
// cause of its own.
func TestMostOfAllMirrors(t *testing.T) {
	srv := httptest.NewServer(inManyCharsets(t))
	defer srv.Close()
	state := t.TempDir()
	runMirror(t, state, "one", srv.URL)
	runMirror(t, state, "two", srv.URL)
	a := testApp(state)
	st, err := store.OpenState(state, store.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	d := diskOf(st, "two")
	if d == nil || d.Total == 0 {
		t.Fatal("nothing was measured")
	}
	r := &runner{
		app:   a,
		st:    st,
		hosts: new(fetch.Hosts),
		most:  job.Size(d.Total + 1000),
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
	if !strings.Contains(s.Fix, "--max-state") {
		t.Errorf("what to do: %q", s.Fix)
	}
}
