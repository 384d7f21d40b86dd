// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/cmd/mirrord/cli"
	"mirrord/store"
	"mirrord/testing/oracle"
)

// killedJob is a paused job with two versions, a run log and a link of publish.dir, of which each step of a
// test has a copy.
type killedJob struct {
	strace string
	ready  string // directory of jobs, state, and www
	site   string
}

func newKilledJob(t *testing.T) *killedJob {
	t.Helper()
	k := straced(t)
	var version atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		page(rw, r)
		fmt.Fprintf(rw, " of version %d", version.Load())
	}))
	t.Cleanup(srv.Close)
	k.site = srv.URL + "/"
	k.write(t, k.ready)
	k.do(t, k.ready, cli.ExitOK, "run-now", "a")
	version.Add(1)
	k.do(t, k.ready, cli.ExitOK, "run-now", "a", "--full")
	k.do(t, k.ready, cli.ExitOK, "pause", "a")
	return k
}

// straced is a directory for a job whose commands strace can trace. Tests that use it run alone: until it
// execs, a process that a test beside them starts holds the locks of the sites that are open here, and status
// says that such a site is running.
func straced(t *testing.T) *killedJob {
	t.Helper()
	strace := oracle.Strace(t)
	k := &killedJob{strace: strace, ready: t.TempDir()}
	if err := os.Mkdir(filepath.Join(k.ready, "jobs"), 0o755); err != nil {
		t.Fatal(err)
	}
	return k
}

// write writes the job file of a copy, and lets its link lead to its mirror.
func (k *killedJob) write(t *testing.T, dir string) {
	t.Helper()
	put(t, filepath.Join(dir, "jobs"), "a.toml", fmt.Sprintf(
		"url = %q\npublish.dir = %q\npolite.delay = \"0s\"\npolite.factor = 0.0\n", k.site,
		filepath.Join(dir, "www")))
	if dir == k.ready {
		return
	}
	link := filepath.Join(dir, "www")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "state", "sites", "a", "current"), link); err != nil {
		t.Fatal(err)
	}
}

// args are those of a command on a copy.
func (k *killedJob) args(dir string, words ...string) []string {
	return append(words, "--jobs", filepath.Join(dir, "jobs"), "--state", filepath.Join(dir, "state"))
}

// do runs a command on a copy and returns what it says.
func (k *killedJob) do(t *testing.T, dir string, code int, words ...string) string {
	t.Helper()
	got, out, errs := runArgs(t, nil, k.args(dir, words...)...)
	if got != code {
		t.Fatalf("mirrord %s: exit code %d, want %d:\n%s%s", strings.Join(words, " "), got, code, out, errs)
	}
	return out + errs
}

// eachStep runs a command in copies of the job, and kills it before each of its system calls that change the
// disk. then checks the remains of the killed one, and types the command again.
func (k *killedJob) eachStep(t *testing.T, then func(t *testing.T, dir string), words ...string) {
	t.Helper()
	kills := 0
	for _, call := range []string{"pwrite64", "renameat", "linkat", "symlinkat", "unlinkat", "mkdirat"} {
		for step, killed := 1, true; killed; step++ {
			dir := filepath.Join(t.TempDir(), "copy")
			if out, err := exec.Command("cp", "-a", k.ready, dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			k.write(t, dir)
			cmd := exec.Command(k.strace, append([]string{"-f", "-qq", "-o", "/dev/null", "-e", "trace=" + call,
				"-e", "inject=" + call + ":signal=KILL:when=" + strconv.Itoa(step), "mirrord"},
				k.args(dir, words...)...)...)
			cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
			out, err := cmd.CombinedOutput()
			if killed = err != nil; killed {
				kills++
			}
			if len(out) > 0 && killed {
				t.Errorf("%s %d: %v: %s", call, step, err, out)
			}
			t.Run(fmt.Sprintf("%s %d", call, step), func(t *testing.T) { then(t, dir) })
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	if t.Logf("%d kills", kills); kills < 10 {
		t.Errorf("only %d kills", kills)
	}
}

// left lists the content of a directory of a copy.
func left(t *testing.T, dir ...string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir...))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// recorded lists the jobs of which something is noted.
func recorded(t *testing.T, dir string) (names []string) {
	t.Helper()
	st, err := store.OpenState(filepath.Join(dir, "state"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	records, err := st.Shared.JobRecords()
	if err != nil {
		t.Fatal(err)
	}
	last, err := st.Shared.LastRuns()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		_, ran := last[name]
		if _, is := records[name]; is || ran {
			names = append(names, name)
		}
	}
	return names
}

// A rename that is killed before any of its steps leaves the job under one name, or says in every command how
// to continue; the same command finishes it, and nothing of the job is lost.
func TestRenameKilled(t *testing.T) {
	k := newKilledJob(t)
	halves := 0
	k.eachStep(t, func(t *testing.T, dir string) {
		if got := left(t, dir, "state", "sites"); len(got) != 1 {
			t.Errorf("mirrors: %v", got)
		}
		done := slices.Equal(left(t, dir, "jobs"), []string{"b.toml"})
		again := cli.ExitOK
		if done {
			again = cli.ExitUsage
		}
		if _, err := os.Lstat(filepath.Join(dir, "jobs", ".a.renamed-to.b")); err == nil {
			halves++
			k.saysHowToGoOn(t, dir)
		}
		said := k.do(t, dir, again, "rename", "a", "b")
		if done && !strings.Contains(said, `no job "a"`) {
			t.Error(said)
		}
		k.isWhole(t, dir)
	}, "rename", "a", "b")
	if halves < 3 {
		t.Errorf("only %d states in between", halves)
	}
}

// saysHowToGoOn wants the remedy of an interrupted rename wherever the job is named.
func (k *killedJob) saysHowToGoOn(t *testing.T, dir string) {
	t.Helper()
	for line, code := range map[string]int{
		"check":          cli.ExitError,
		"run-now a":      cli.ExitUsage,
		"remove a --yes": cli.ExitUsage,
		"rename a c":     cli.ExitUsage,
		"forget a":       cli.ExitUsage,
	} {
		if said := k.do(t, dir, code, strings.Fields(line)...); !strings.Contains(said, "mirrord rename a b") {
			t.Errorf("mirrord %s does not say how to resume: %s", line, said)
		}
	}
	if said := k.do(t, dir, cli.ExitOK, "status"); !strings.Contains(said, "invalid") {
		t.Errorf("status: %s", said)
	}
}

// isWhole wants the job under its new name with all that it had, and nothing of the old name.
func (k *killedJob) isWhole(t *testing.T, dir string) {
	t.Helper()
	for place, want := range map[string]string{".": "jobs state www", "jobs": "b.toml", "state/sites": "b"} {
		if got := strings.Join(left(t, dir, place), " "); got != want {
			t.Errorf("%s has %s, want %s", place, got, want)
		}
	}
	if got := recorded(t, dir); !slices.Equal(got, []string{"b"}) {
		t.Errorf("something is noted of %v", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "www", "index.html")); err != nil {
		t.Error(err)
	}
	k.do(t, dir, cli.ExitOK, "verify", "b")
	if said := k.do(t, dir, cli.ExitOK, "status", "b", "--runs", "5"); strings.Count(said, "complete") < 2 {
		t.Errorf("runs: %s", said)
	}
	if said := k.do(t, dir, cli.ExitOK, "status", "b"); !strings.Contains(said, "paused") {
		t.Errorf("status: %s", said)
	}
	if said := k.do(t, dir, cli.ExitOK, "status", "b", "--versions"); !strings.Contains(said, "\n2 ") {
		t.Errorf("versions: %s", said)
	}
}

// A removal that is killed before any of its steps resumes with the same command and leaves nothing.
func TestRemoveKilled(t *testing.T) {
	k := newKilledJob(t)
	k.eachStep(t, func(t *testing.T, dir string) {
		code := cli.ExitOK
		if len(left(t, dir, "jobs"))+len(left(t, dir, "state", "sites")) == 0 {
			code = cli.ExitUsage
		}
		k.do(t, dir, code, "remove", "a", "--yes")
		for place, want := range map[string]string{".": "jobs state", "jobs": "", "state/sites": ""} {
			if got := strings.Join(left(t, dir, place), " "); got != want {
				t.Errorf("%s has %q, want %q", place, got, want)
			}
		}
		if got := recorded(t, dir); len(got) > 0 {
			t.Errorf("something is noted of %v", got)
		}
		if said := k.do(t, dir, cli.ExitOK, "status"); strings.Contains(said, "a ") {
			t.Errorf("status: %s", said)
		}
	}, "remove", "a", "--yes")
}
