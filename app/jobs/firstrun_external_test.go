// SPDX-License-Identifier: Apache-2.0

package jobs_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/life"
	"mirrord/scheduler"
)

// TestSaysFirstRun: commands that make or change a job say when its first run is due, and only before that
// run.
func TestSaysFirstRun(t *testing.T) {
	dir := t.TempDir()
	a := &env.App{
		State: func() (string, error) { return filepath.Join(dir, "state"), nil },
		Jobs:  filepath.Join(dir, "jobs"),
		Log:   slog.New(slog.DiscardHandler),
		Now:   func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) },
	}
	checked := func(name string) string {
		t.Helper()
		c, err := jobs.Check(t.Context(), a, []string{filepath.Join(a.Jobs, name+".toml")}, false)
		if err != nil || len(c.Files) != 1 || !c.Files[0].OK {
			t.Fatal(c, err)
		}
		return c.Files[0].First
	}
	edited := func(name, text string) string {
		t.Helper()
		c, err := jobs.CheckEdit(a, jobs.JobEdit{Job: name, Text: []byte(text)})
		if err != nil || len(c.Errors) > 0 {
			t.Fatal(c, err)
		}
		return c.First
	}
	is := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	const site = "url = \"https://one.example/\"\n"
	made, err := jobs.Init(a, jobs.InitRequest{URL: "https://one.example/", Job: "one", Schedule: "@daily"})
	if err != nil {
		t.Fatal(err)
	}
	is(made.First, "runs when the daemon starts")

	kept, err := a.MakeState()
	if err != nil {
		t.Fatal(err)
	}
	st := kept.Dir
	if err := kept.Close(); err != nil {
		t.Fatal(err)
	}
	lock, err := env.TakeState(st, env.Owner{PID: os.Getpid(), Socket: filepath.Join(dir, "sock")}, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	is(checked("one"), "runs now")
	is(edited("one", site+"schedule = \"@every 6h\"\n"), "runs now")
	is(edited("one", site+"schedule = \"@daily\"\ntimezone = \"UTC\"\nwindow = \"22:00-02:00\"\n"),
		"runs at 2026-03-01 22:00 UTC, when its window opens")
	is(edited("one", site), "")
	two, bad, err := jobs.CreateJob(a, jobs.InitRequest{Job: "two"},
		[]byte("url = \"https://two.example/\"\nschedule = \"@daily\"\n"))
	if err != nil || len(bad) > 0 {
		t.Fatal(bad, err)
	}
	is(two.First, "runs now")
	again := jobs.InitRequest{
		URL:      "https://p.example/",
		Job:      "paused",
		Schedule: "@daily",
		Paused:   true,
	}
	made, bad, err = jobs.CreateJob(a, again, nil)
	if err != nil || len(bad) > 0 {
		t.Fatal(bad, err)
	}
	is(made.First, "")
	if err := life.SetPaused(a, "paused", true); !errors.Is(err, scheduler.ErrNothing) {
		t.Errorf("%v: a job that was made paused is not", err)
	}
	again.Job = "two" // is there
	if _, _, err = jobs.CreateJob(a, again, nil); err == nil {
		t.Error("two jobs of one name")
	}

	if err := life.SetPaused(a, "two", true); err != nil {
		t.Fatal(err)
	}
	is(checked("two"), "")
	if err := os.MkdirAll(filepath.Join(st, "sites/one/trees/1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("trees/1", filepath.Join(st, "sites/one/current")); err != nil {
		t.Fatal(err)
	}
	is(checked("one"), "")
	is(edited("one", site+"schedule = \"@daily\"\n"), "")

	other := filepath.Join(dir, "three.toml")
	three := []byte("url = \"https://x.example/\"\nschedule = \"@daily\"\n")
	if err := os.WriteFile(other, three, 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := jobs.Check(t.Context(), a, []string{other}, false)
	if err != nil {
		t.Fatal(err)
	}
	is(c.Files[0].First, "")
	if err := os.WriteFile(filepath.Join(st, env.BaseFile), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	is(checked("two"), "")
}
