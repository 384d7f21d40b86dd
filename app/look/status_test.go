// SPDX-License-Identifier: Apache-2.0

package look_test

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/app/look"
	"mirrord/app/runs"
	"mirrord/mirror"
	"mirrord/scheduler/status"
	"mirrord/store"
	"mirrord/store/record"
	"mirrord/testing/apptest"
)

// While a site is written, its status is that of the last commit.
func TestStatusWhileWritten(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(apptest.InManyCharsets(t))
	defer srv.Close()
	state := t.TempDir()
	apptest.RunMirror(t, state, "many", srv.URL)
	a := apptest.TestApp(state)
	a.Jobs = t.TempDir()
	one := func() status.Job {
		t.Helper()
		list, err := look.Statuses(a, time.Now())
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		return list[0]
	}
	idle := one()
	st, err := store.OpenState(state, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("many")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	running := one()
	if running.Activity != status.Running || running.Version != 1 || running.Files != idle.Files {
		t.Errorf("%+v\nbefore: %+v", running, idle)
	}
}

// A run whose process was killed has no report; the status says so until the next one.
func TestStatusAfterKill(t *testing.T) {
	a, _, srv, _ := apptest.MirrorGrowing(t, 1)
	srv.Close()
	one := func() status.Job {
		t.Helper()
		list, err := look.Statuses(a, a.Clock())
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		return list[0]
	}
	before := one()
	began := before.Last.Ended.Add(time.Hour)
	change := func(run *record.Run) {
		t.Helper()
		st, _, err := a.OpenState()
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		s, err := st.OpenSite("site")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Notes.SetRun(run), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	change(&record.Run{Number: 2, Started: began.Unix()})
	after := one()
	cut := "the run of " + status.TimeText(began.UTC()) + " was cut off; the next one continues it"
	marked := after.Health == status.Partial && after.Fix == "mirrord run-now site"
	if !marked || !slices.Contains(after.Problems, cut) {
		t.Errorf("%+v", after)
	}
	change(&record.Run{Number: 2, Started: before.Last.Ended.Unix() - 1}) // that report is there
	if again := one(); len(again.Problems) > 0 || again.Health != before.Health {
		t.Errorf("%+v", again)
	}
}

// The fix for a mirror whose job file was removed is not a run: there is no job to run.
func TestStatusWithoutFile(t *testing.T) {
	a, _, srv, _ := apptest.MirrorGrowing(t, 1)
	srv.Close()
	a.Now = time.Now // a run waits between two tries
	sum, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "site"})
	if err == nil && sum.Verdict == mirror.Complete {
		t.Fatalf("%+v", sum)
	}
	for _, want := range []string{
		"mirrord run-now site",
		"put its job file back; or mirrord remove site, which deletes the mirror",
	} {
		list, err := look.Statuses(a, a.Clock())
		if err != nil || len(list) != 1 || !strings.HasSuffix(list[0].Fix, want) {
			t.Errorf("%+v, %v, want %q", list, err, want)
		}
		os.Remove(filepath.Join(a.Jobs, "site.toml"))
	}
}
