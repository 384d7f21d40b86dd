// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/cmd/mirrord/cli"
	"mirrord/cmd/mirrord/jobs"
	"mirrord/scheduler/control"
)

// Where the jobs of the system are, its mirrors are meant, by a plain user too; who names other jobs has
// mirrors of their own.
func TestJobsAndStateAreAPair(t *testing.T) {
	under, home := t.TempDir(), t.TempDir()
	state := func(c cli.CLI) string {
		t.Helper()
		c.Under, c.LookupEnv = under, func(k string) (string, bool) { return home, k == "HOME" }
		dir, err := c.StateDir()
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	own := filepath.Join(home, ".local/state/mirrord")
	if got := state(cli.CLI{}); got != own {
		t.Errorf("without a daemon of the system: %s", got)
	}
	for _, d := range []string{cli.SystemJobs, cli.SystemState} {
		if err := os.MkdirAll(under+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := state(cli.CLI{}); got != under+cli.SystemState {
		t.Errorf("beside the jobs of the system: %s", got)
	}
	if got := state(cli.CLI{JobsFlag: "jobs.d"}); got != own {
		t.Errorf("with jobs of their own: %s", got)
	}
}

// Outside of its window run-now asks a terminal; cron it does not ask.
func TestRunNowAsksATerminal(t *testing.T) {
	jobList := t.TempDir()
	now := time.Now().UTC()
	put(t, jobList, "a.toml",
		fmt.Sprintf("url = \"https://a.example/\"\ntimezone = \"UTC\"\nwindow = \"%s-%s\"\n",
			now.Add(2*time.Hour).Format("15:04"), now.Add(3*time.Hour).Format("15:04")))
	for answer, want := range map[string]bool{"y\n": true, "Yes\n": true, "n\n": false, "\n": false, "": false} {
		var errs bytes.Buffer
		a := &cli.CLI{Environ: cli.Environ{Stdin: strings.NewReader(answer), Stderr: &errs, Asks: true},
			JobsFlag: jobList}
		if got := jobs.AsksNow(a, "a", control.RunRequest{}); got != want || !strings.Contains(errs.String(),
			"[y/N]") {
			t.Errorf("%q: %v, %q", answer, got, errs.String())
		}
		errs.Reset()
		if a.Asks = false; jobs.AsksNow(a, "a", control.RunRequest{}) || errs.Len() != 0 {
			t.Errorf("without a terminal: %q", errs.String())
		}
	}
	put(t, jobList, "a.toml", "url = \"https://a.example/\"\n")
	a := &cli.CLI{Environ: cli.Environ{Stderr: new(bytes.Buffer), Asks: true}, JobsFlag: jobList}
	if jobs.AsksNow(a, "a", control.RunRequest{}) {
		t.Error("asked about a window that there is not")
	}
}

// root leaves nothing in a state that its owner cannot read; another user gets advice.
func TestRootActsAsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if state := os.Getenv("MIRRORD_TEST_STATE"); state != "" { // the process that becomes another user
		e := environment()
		e.Root = false
		os.Exit(run(context.Background(), e, []string{"run-now", "a", "--jobs", os.Getenv("MIRRORD_TEST_JOBS"),
			"--state", state}))
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>x</title>")
	}))
	defer srv.Close()
	base := t.TempDir()
	state, jobs := filepath.Join(base, "state"), filepath.Join(base, "jobs")
	for _, d := range []string{state, jobs} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for d := base; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const owner = 65534
	if err := os.Chown(state, owner, owner); err != nil {
		t.Fatal(err)
	}
	put(t, jobs, "a.toml", fmt.Sprintf("url = %q\n[polite]\ndelay = \"0s\"\n", srv.URL+"/"))
	cmd := exec.Command(os.Args[0], "-test.run=^TestRootActsAsTheOwner$")
	cmd.Env = append(os.Environ(), "MIRRORD_TEST_STATE="+state, "MIRRORD_TEST_JOBS="+jobs)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files := 0
	err := filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		if sys, ok := fi.Sys().(*syscall.Stat_t); ok && sys.Uid != owner {
			t.Errorf("%s belongs to %d", path, sys.Uid)
		}
		files++
		return nil
	})
	if err != nil || files < 5 {
		t.Errorf("%d files, %v", files, err)
	}
}
