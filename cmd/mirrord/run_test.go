// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/internal/demosite"
	"mirrord/status"
	"mirrord/store"
)

// runArgs runs a command line in this process.
func runArgs(t *testing.T, vars map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	e := env{
		stdin:     strings.NewReader(""),
		stdout:    &out,
		stderr:    &errs,
		lookupEnv: func(k string) (string, bool) { v, ok := vars[k]; return v, ok },
	}
	code = run(t.Context(), e, args)
	return code, out.String(), errs.String()
}

func jobsFor(t *testing.T, url string) (jobs string) {
	t.Helper()
	jobs = t.TempDir()
	if err := os.WriteFile(filepath.Join(jobs, "demo.toml"),
		[]byte("url = \""+url+"\"\npolite.delay = \"0s\"\npolite.factor = 0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return jobs
}

// A site that another process writes: what would write it ends with code 5, while all that reads it goes on.
func TestLockedSite(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(demosite.New())
	defer srv.Close()
	jobs, state := jobsFor(t, srv.URL+"/about/"), t.TempDir()
	if code, _, errs := runArgs(t, nil, "run-now", "demo", "--jobs", jobs, "--state", state); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	defer holdDemo(t, state)()
	out := filepath.Join(t.TempDir(), "demo.phm")
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"run-now", "demo"}, exitLocked, "locked by another process"},
		{[]string{"versions", "demo"}, exitOK, "current"},
		{[]string{"explain", "demo", srv.URL + "/about/"}, exitOK, "mirrored"},
		{[]string{"plan", "demo"}, exitOK, "everything is requested"},
		{[]string{"evolution", "demo"}, exitOK, "changes are counted"},
		{[]string{"rules", "demo"}, exitOK, "rule"},
		{[]string{"import", out, "--as", "demo"}, exitError, "no such file"},
		{[]string{"rollback", "demo"}, exitLocked, "locked by another process"},
		{[]string{"diff", "demo", "1", "1"}, exitOK, ""},
		{[]string{"export", "demo", "-o", out, "--version", "1"}, exitOK, "version 1 written"},
		{
			[]string{"gc"}, exitLocked,
			"demo: left as it is: open site demo: locked by another process\nother stored bodies are left as they " +
				"are: a run is under way\n",
		},
		{[]string{"gc", "--dry-run"}, exitOK, "nothing to do"},
		{[]string{"status"}, exitOK, "running"},
		{[]string{"replicas"}, exitOK, "pages"},
		{[]string{"export", "demo", "-o", out}, exitOK, "version 1 written"},
		{[]string{"verify", "demo"}, exitOK, "a run is in progress"},
		{[]string{"import", out, "--as", "demo"}, exitLocked, "locked by another process"},
	} {
		code, stdout, stderr := runArgs(t, nil, append(tc.args, "--jobs", jobs, "--state", state)...)
		if code != tc.code || !strings.Contains(stdout+stderr, tc.want) {
			t.Errorf("%v: exit code %d, want %d with %q; got %s%s", tc.args, code, tc.code, tc.want, stdout, stderr)
		}
	}
}

// A run that is told to stop ends as partial, and the next one goes on.
func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(demosite.New())
	defer srv.Close()
	jobs, state := jobsFor(t, srv.URL+"/"), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	e := env{
		stdin:     strings.NewReader(""),
		stdout:    &out,
		stderr:    &errs,
		lookupEnv: func(string) (string, bool) { return "", false },
	}
	if code := run(ctx, e, []string{"run-now", "demo", "--jobs", jobs, "--state", state}); code != exitPartial {
		t.Errorf("exit code %d, want %d: %s%s", code, exitPartial, &out, &errs)
	}
	if code, stdout, stderr := runArgs(t, nil, "run-now", "demo", "--jobs", jobs, "--state",
		state); code != exitOK || !strings.Contains(stdout, "complete, version 1 published") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestStateDir(t *testing.T) {
	for _, tc := range []struct {
		name string
		cli  cli
		want string
	}{
		{"flag", cli{stateFlag: "x"}, "x"},
		{"systemd", cli{env: env{
			lookupEnv: vars("STATE_DIRECTORY", "/var/lib/a:/var/lib/b"),
			root:      true,
		}}, "/var/lib/a"},
		{"root", cli{env: env{lookupEnv: vars("HOME", "/root"), root: true}}, "/var/lib/mirrord"},
		{"xdg", cli{env: env{lookupEnv: vars("XDG_STATE_HOME", "/x", "HOME", "/home/u")}}, "/x/mirrord"},
		{"relative xdg is not heeded", cli{env: env{lookupEnv: vars("XDG_STATE_HOME", "x", "HOME", "/home/u")}},
			"/home/u/.local/state/mirrord"},
		{"nothing", cli{env: env{lookupEnv: vars()}}, ""},
	} {
		got, err := tc.cli.stateDir()
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s: %q, %v; want %q", tc.name, got, err, tc.want)
		}
	}
}

func vars(kv ...string) func(string) (string, bool) {
	return func(k string) (string, bool) {
		for i := 0; i < len(kv); i += 2 {
			if kv[i] == k {
				return kv[i+1], true
			}
		}
		return "", false
	}
}

func TestProgressLine(t *testing.T) {
	last := status.Progress{Elapsed: time.Second, Done: 100}
	for _, tc := range []struct {
		now  status.Progress
		want string
	}{
		{status.Progress{
			Elapsed: 3 * time.Second,
			Done:    300,
			Queued:  1200,
			Bytes:   4_500_000,
		}, "300 done, 1200 queued, 100/s, 4.5 MB"},
		{status.Progress{
			Elapsed:  2 * time.Second,
			Done:     100,
			Queued:   1,
			Failed:   2,
			WaitHost: "example.org",
			WaitFor:  4 * time.Second,
		}, "100 done, 1 queued, 0/s, 0 B, 2 failed, waiting 4s for example.org"},
		{status.Progress{Phase: status.Relocating, Relocated: 5, Total: 10}, "relocating 5 of 10 files"},
		{status.Progress{Phase: status.Publishing, Relocated: 10, Total: 10}, "publishing 10 of 10 files"},
	} {
		if got := progressLine(last, tc.now); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
	long := progressLine(last, status.Progress{WaitHost: strings.Repeat("é", 300), WaitFor: time.Hour})
	if n := len([]rune(long)); n != maxLine {
		t.Errorf("line of %d characters", n)
	}
}

// holdDemo opens the site of the job demo as a run does, until what it returns is called.
func holdDemo(t *testing.T, state string) (release func()) {
	t.Helper()
	st, err := store.OpenState(state, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSite("demo")
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(s.Close(), st.Close()); err != nil {
			t.Error(err)
		}
	}
}
