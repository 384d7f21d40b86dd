// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/demosite"
	"mirrord/scheduler/status"
	"mirrord/store"
)

// runArgs runs a command line in this process.
func runArgs(t *testing.T, vars map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	e := cli.Environ{
		Stdin:     strings.NewReader(""),
		Stdout:    &out,
		Stderr:    &errs,
		LookupEnv: func(k string) (string, bool) { v, ok := vars[k]; return v, ok },
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

// A site that another process writes: commands that write it end with code 5, while those that read it
// continue.
func TestLockedSite(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(demosite.New())
	defer srv.Close()
	jobs, state := jobsFor(t, srv.URL+"/about/"), t.TempDir()
	if code, _, errs := runArgs(t, nil, "run-now", "demo", "--jobs", jobs, "--state",
		state); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	defer holdDemo(t, state)()
	out := filepath.Join(t.TempDir(), "demo.phm")
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"run-now", "demo"}, cli.ExitLocked, "locked by another process"},
		{[]string{"status", "demo", "--versions"}, cli.ExitOK, "current"},
		{[]string{"explain", "demo", srv.URL + "/about/"}, cli.ExitOK, "mirrored"},
		{[]string{"plan", "demo"}, cli.ExitOK, "everything is requested"},
		{[]string{"evolution", "demo"}, cli.ExitOK, "changes are counted"},
		{[]string{"rules", "demo"}, cli.ExitOK, "rule"},
		{[]string{"import", out, "--as", "demo"}, cli.ExitError, "no such file"},
		{[]string{"rollback", "demo"}, cli.ExitLocked, "locked by another process"},
		{[]string{"diff", "demo", "1", "1"}, cli.ExitOK, ""},
		{[]string{"export", "demo", "-o", out, "--version", "1"}, cli.ExitOK, "version 1 written"},
		{
			[]string{"gc"}, cli.ExitLocked,
			"demo: left as it is: open site demo: locked by another process\nother stored bodies are left as they " +
				"are: a run is under way\n",
		},
		{[]string{"gc", "--dry-run"}, cli.ExitOK, "nothing to do"},
		{[]string{"status"}, cli.ExitOK, "running"},
		{[]string{"replicas"}, cli.ExitOK, "pages"},
		{[]string{"export", "demo", "-o", out}, cli.ExitOK, "version 1 written"},
		{[]string{"verify", "demo"}, cli.ExitOK, "a run is in progress"},
		{[]string{"import", out, "--as", "demo"}, cli.ExitLocked, "locked by another process"},
	} {
		code, stdout, stderr := runArgs(t, nil, append(tc.args, "--jobs", jobs, "--state", state)...)
		if code != tc.code || !strings.Contains(stdout+stderr, tc.want) {
			t.Errorf("%v: exit code %d, want %d with %q; got %s%s", tc.args, code, tc.code, tc.want, stdout, stderr)
		}
	}
}

// A run that gets a signal ends as partial, and the next one resumes.
func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(demosite.New())
	defer srv.Close()
	jobs, state := jobsFor(t, srv.URL+"/"), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	e := cli.Environ{
		Stdin:     strings.NewReader(""),
		Stdout:    &out,
		Stderr:    &errs,
		LookupEnv: func(string) (string, bool) { return "", false },
	}
	if code := run(ctx, e, []string{"run-now", "demo", "--jobs", jobs, "--state",
		state}); code != cli.ExitPartial {
		t.Errorf("exit code %d, want %d: %s%s", code, cli.ExitPartial, &out, &errs)
	}
	if code, stdout, stderr := runArgs(t, nil, "run-now", "demo", "--jobs", jobs, "--state",
		state); code != cli.ExitOK || !strings.Contains(stdout, "complete, version 1 published") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestStateDir(t *testing.T) {
	for _, tc := range []struct {
		name string
		cli  cli.CLI
		want string
	}{
		{"flag", cli.CLI{StateFlag: "x"}, "x"},
		{"systemd", cli.CLI{Environ: cli.Environ{
			LookupEnv: vars("STATE_DIRECTORY", "/var/lib/a:/var/lib/b"),
			Root:      true,
		}}, "/var/lib/a"},
		{"root", cli.CLI{Environ: cli.Environ{LookupEnv: vars("HOME", "/root"), Root: true}}, "/var/lib/mirrord"},
		{"xdg", cli.CLI{Environ: cli.Environ{LookupEnv: vars("XDG_STATE_HOME", "/x", "HOME", "/home/u")}},
			"/x/mirrord"},
		{"relative xdg is not heeded", cli.CLI{Environ: cli.Environ{LookupEnv: vars("XDG_STATE_HOME", "x", "HOME",
			"/home/u")}},
			"/home/u/.local/state/mirrord"},
		{"nothing", cli.CLI{Environ: cli.Environ{LookupEnv: vars()}}, ""},
	} {
		got, err := tc.cli.StateDir()
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
	then := status.Progress{
		Elapsed:  time.Second,
		Done:     100,
		Requests: 110,
		Coming:   1_000_000,
	}
	busy := status.Progress{
		Elapsed:  63 * time.Second,
		Done:     300,
		Queued:   1200,
		Requests: 420,
		Bytes:    4_500_000,
		Coming:   32_000_000, // a large file is on its way
		Hosts:    2,
		Failed:   7,
	}
	waits := status.Progress{
		Elapsed:  3 * time.Second,
		Done:     100,
		Queued:   1,
		Requests: 110,
		Coming:   1_000_000,
		Hosts:    1,
		WaitHost: "example.org",
		WaitFor:  4 * time.Second,
	}
	older := status.Progress{ // as a daemon of an older version says it
		Elapsed: 3 * time.Second,
		Done:    300,
		Queued:  1200,
		Bytes:   5_500_000,
	}
	for _, tc := range []struct {
		then, now status.Progress
		width     int
		want      string
	}{
		{then, busy, 0, "samba: 300 done, 1200 queued, 5.0 req/s, 500.0 kB/s, 32.0 MB, 2 hosts, 7 failed, 1m3s"},
		{then, busy, 79, "samba: 300 done, 1200 queued, 5.0 req/s, 500.0 kB/s, 2 hosts, 7 failed, 1m3s"},
		{then, busy, 59, "samba: 300 done, 1200 queued, 5.0 req/s, 7 failed, 1m3s"},
		{then, busy, 30, "samba: 300 done, 5.0 req/s"},
		{then, waits, 59, "samba: 100 done, 1 queued, waiting 4s for example.org, 3s"},
		{then, older, 0, "samba: 300 done, 1200 queued, 100/s, 2.2 MB/s, 5.5 MB, 3s"},
		{then, status.Progress{Phase: status.Relocating, Relocated: 5, Total: 10}, 59,
			"samba: relocating 5 of 10 files, 0s"},
		{then, status.Progress{Phase: status.Publishing, Relocated: 10, Total: 10}, 20, "samba: publishing..."},
	} {
		got := cli.LineOf("samba", tc.then, tc.now).Text(tc.width, false)
		if got != tc.want {
			t.Errorf("%d: got %q, want %q", tc.width, got, tc.want)
		}
		if n := len([]rune(got)); (tc.width > 0) && n > tc.width {
			t.Errorf("%d characters, not %d", n, tc.width)
		}
		colored := cli.LineOf("samba", tc.then, tc.now).Text(tc.width, true)
		plain := strings.NewReplacer(cli.Bold, "", cli.Red, "", cli.Yellow, "", cli.NoColor, "").Replace(colored)
		if plain != got || strings.Count(colored, cli.NoColor) != strings.Count(colored, "\x1b")/2 {
			t.Errorf("in colours: %q", colored)
		}
	}
	host := status.Progress{WaitHost: strings.Repeat("é", 300), WaitFor: time.Hour}
	got := cli.LineOf("samba", then, host).Text(79, false)
	if len([]rune(got)) > 79 || !strings.HasSuffix(got, cli.CutMark) {
		t.Errorf("a long host: %q", got)
	}
}

// Without a terminal there is a plain line now and then, of long runs only; with --json none.
func TestProgressWithoutTerminal(t *testing.T) {
	var errs strings.Builder
	a := &cli.CLI{Environ: cli.Environ{Stderr: &errs}}
	if cli.NewProgress(a, "samba", true).Update() != nil {
		t.Error("progress with --json")
	}
	show := cli.NewProgress(a, "samba", false).Update()
	for s := range 3600 {
		show(status.Progress{
			Elapsed:  time.Duration(s) * time.Second,
			Done:     int64(s),
			Requests: int64(s),
		})
	}
	var at []string
	for line := range strings.Lines(errs.String()) {
		at = append(at, strings.TrimSpace(line[strings.LastIndex(line, ", ")+2:]))
	}
	want := []string{"1m0s", "2m0s", "4m0s", "8m0s", "16m0s", "26m0s", "36m0s", "46m0s", "56m0s"}
	if !slices.Equal(at, want) || strings.ContainsAny(errs.String(), "\r\x1b") {
		t.Errorf("%q", errs.String())
	}
}

// What a terminal without UTF-8 cannot show is replaced; JSON stays what it says.
func TestASCIITerminal(t *testing.T) {
	const text = "a – b… “é” 漢 😀\n"
	for _, c := range []struct {
		locale string
		json   bool
		want   string
	}{
		{"de_DE.UTF-8", false, text},
		{"C.utf8", false, text},
		{"", false, text},
		{"C", false, "a - b... \"?\" ? ?\n"},
		{"de_DE.ISO-8859-1", false, "a - b... \"?\" ? ?\n"},
		{"de_DE@euro", true, `a \u2013 b\u2026 \u201c\u00e9\u201d \u6f22 \ud83d\ude00` + "\n"},
	} {
		var out, errs strings.Builder
		a := &cli.CLI{JSON: c.json, Environ: cli.Environ{
			Stdout: &out,
			Stderr: &errs,
			Table:  func() int { return 60 },
			Ascii:  cli.AsciiLocale(vars("LANG", "fr_FR.UTF-8", "LC_ALL", c.locale)),
		}}
		a.ReplaceForTerminals()
		a.Printf("%s", text)
		fmt.Fprint(a.Stderr, text)
		if out.String() != c.want || errs.String() != text {
			t.Errorf("%q: %q and %q", c.locale, out.String(), errs.String())
		}
	}
}

// A table that is too wide for the terminal loses columns, never the first ones.
func TestNarrowTable(t *testing.T) {
	for width, want := range map[int]string{
		0:  "JOB    STATE  SIZE    SCHEDULE\nsamba  ok     1.0 MB  @daily\n",
		30: "JOB    STATE  SIZE    SCHEDULE\nsamba  ok     1.0 MB  @daily\n",
		29: "JOB    STATE  SIZE\nsamba  ok     1.0 MB\n",
		3:  "JOB    STATE\nsamba  ok\n",
	} {
		var out strings.Builder
		a := &cli.CLI{Environ: cli.Environ{Stdout: &out, Table: func() int { return width }}}
		tab := cli.Table{{"JOB", "STATE", "SIZE", "SCHEDULE"}, {"samba", "ok", "1.0 MB", "@daily"}}
		if err := tab.Write(a, []string{"SCHEDULE", "SIZE"}); err != nil || out.String() != want {
			t.Errorf("%d columns: %q, %v", width, out.String(), err)
		}
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
