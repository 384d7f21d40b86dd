// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mirrord/app/care"
	"mirrord/cmd/mirrord/cli"
)

// slowSite is a site of many pages that answers slowly on request: a run of it lasts as long as a
// test wants.
type slowSite struct {
	*httptest.Server
	version atomic.Int64  // of the pages with an even number
	asked   atomic.Int64  // requests since the run began
	slow    atomic.Bool   // answers wait for go
	allow   chan struct{} // lets one answer through
}

const slowPages = 60

func newSlowSite(t *testing.T) *slowSite {
	s := &slowSite{allow: make(chan struct{})}
	s.version.Store(1)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		if s.slow.Load() && r.URL.Path != "/robots.txt" {
			select {
			case <-s.allow:
			case <-r.Context().Done():
				return
			}
		}
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/p"))
		switch {
		case r.URL.Path == "/":
			fmt.Fprint(w, "<title>Home</title>")
			for i := range slowPages {
				fmt.Fprintf(w, `<a href="/p%d">page</a> `, i)
			}
		case err == nil && n%2 == 0:
			fmt.Fprintf(w, "<title>Page %d</title><p>This is version %d.", n, s.version.Load())
		case err == nil:
			fmt.Fprintf(w, "<title>Page %d</title><p>This stays.", n)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// let lets answers through.
func (s *slowSite) let(n int) {
	for range n {
		s.allow <- struct{}{}
	}
}

// besideRun begins a run of a known site in another process and stops it after some answers. The arguments
// are those of all commands.
func besideRun(t *testing.T) (s *slowSite, cmd *exec.Cmd, common []string) {
	t.Helper()
	s = newSlowSite(t)
	jobs, state := t.TempDir(), t.TempDir()
	const polite = "[polite]\ndelay = \"0s\"\nfactor = 0.0\nconnections = 4\n" +
		"timeout = \"1h\"\n" // the answers wait for commands, which take their time on a busy machine
	put(t, jobs, "slow.toml", fmt.Sprintf("url = %q\n%s", s.URL+"/", polite))
	common = []string{"--jobs", jobs, "--state", state}
	if code, out, errs := runArgs(t, nil, append([]string{"run-now", "slow"},
		common...)...); code != cli.ExitOK {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	s.version.Store(2)
	s.slow.Store(true)
	cmd = exec.Command("mirrord", append([]string{"run-now", "slow"}, common...)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("the run said: %s", &said)
		}
	})
	s.let(slowPages / 2)
	return s, cmd, common
}

// readingCommands are those that read a site of besideRun, with what they must say.
func readingCommands(s *slowSite, dir string) map[string][]string {
	return map[string][]string{
		"a run is in progress":      {"verify", "slow"},
		"mirrored":                  {"explain", "slow", s.URL + "/p1", "--head"},
		"would request":             {"plan", "slow"},
		"changes are counted":       {"evolution", "slow"},
		"rule":                      {"rules", "slow"},
		"current":                   {"status", "slow", "--versions"},
		"running":                   {"status", "slow"},
		"pages":                     {"replicas"},
		"nothing to do":             {"gc", "--dry-run"},
		"":                          {"diff", "slow", "1", "1"},
		"version 1 written":         {"export", "slow", "--version", "1", "-o", filepath.Join(dir, "slow.phm")},
		"nothing is left to replay": {"replay", "slow"},
	}
}

// During a run of another process, every command that reads gives the result of its last commit, and
// so do many at a time.
func TestReadBesideRun(t *testing.T) {
	t.Parallel()
	s, cmd, common := besideRun(t)
	awaitCommit(t, s, common, 1)
	read := func(round int) {
		dir := t.TempDir()
		var all sync.WaitGroup
		for want, args := range readingCommands(s, dir) {
			all.Go(func() {
				code, out, errs := runArgs(t, nil, append(args, common...)...)
				failed := (code != cli.ExitOK) && args[0] != "replay"
				if failed || !strings.Contains(out+errs, want) || strings.Contains(out+errs, "locked") {
					t.Errorf("round %d: %v: exit code %d, want %q: %s%s", round, args, code, want, out, errs)
				}
			})
		}
		all.Wait()
	}
	read(1)
	// Also when the run is stopped, in the middle of any step.
	stopProcess(t, cmd.Process)
	read(2)
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	// And while it ends and publishes: at any moment, tree and records are of one version.
	s.slow.Store(false)
	close(s.allow)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("the run ends with %v", err)
			}
			if code, out, errs := runArgs(t, nil, append([]string{"verify", "slow"},
				common...)...); code != cli.ExitOK ||
				strings.Contains(out, "in progress") {
				t.Errorf("after the run: %d: %s%s", code, out, errs)
			}
			return
		default:
		}
		if code, out, errs := runArgs(t, nil, append([]string{"verify", "slow"},
			common...)...); code != cli.ExitOK {
			t.Errorf("while it ends: %d: %s%s", code, out, errs)
		}
	}
}

// awaitCommit returns when a reader sees that many answers of the present run.
func awaitCommit(t *testing.T, s *slowSite, common []string, answers int) int {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		code, out, errs := runArgs(t, nil, append([]string{"verify", "slow", "--json"}, common...)...)
		var v care.Verified
		if code != cli.ExitOK || json.Unmarshal([]byte(out), &v) != nil {
			t.Fatalf("%d: %s%s", code, out, errs)
		}
		if v.Kept.Journal >= answers {
			return v.Kept.Journal
		}
		if time.Now().After(end) {
			t.Fatalf("nothing was committed after %d requests", s.asked.Load())
		}
	}
}

// A reader that was stopped does not hold up a run; a run that was killed can be read, and the next one
// resumes.
func TestStoppedReaderKilledRun(t *testing.T) {
	t.Parallel()
	s, cmd, common := besideRun(t)
	committed := awaitCommit(t, s, common, 1)
	reader := exec.Command(os.Args[0], "-test.run=^TestHelperReads$")
	reader.Env = append(os.Environ(), "MIRRORD_READS="+filepath.Join(common[3], "sites", "slow", "site.db"))
	said, err := reader.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		reader.Process.Kill()
		reader.Wait()
	}()
	if _, err := said.Read(make([]byte, 1)); err != nil { // it holds the lock
		t.Fatal(err)
	}
	stopProcess(t, reader.Process)
	s.let(10)
	awaitCommit(t, s, common, committed+2) // half of them changed; were the run held up, none would come
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	for want, args := range readingCommands(s, t.TempDir()) {
		switch want { // they know that the run has ended
		case "a run is in progress":
			want = "all is well"
		case "running":
			want = "version 1, published"
		}
		code, out, errs := runArgs(t, nil, append(args, common...)...)
		if failed := (code != cli.ExitOK) && args[0] != "replay"; failed || !strings.Contains(out+errs, want) {
			t.Errorf("after the kill: %v: exit code %d, want %q: %s%s", args, code, want, out, errs)
		}
	}
	s.slow.Store(false)
	close(s.allow)
	if code, out, errs := runArgs(t, nil, append([]string{"run-now", "slow"},
		common...)...); code != cli.ExitOK {
		t.Errorf("the run after it: %d: %s%s", code, out, errs)
	}
}

// TestHelperReads is the process of a reader: it locks a database as readers do, says so and waits for its
// end.
func TestHelperReads(t *testing.T) {
	database := os.Getenv("MIRRORD_READS")
	if database == "" {
		t.Skip("run by TestStoppedReaderKilledRun")
	}
	f, err := os.Open(database)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	fmt.Println("locked")
	time.Sleep(time.Hour) // with nothing to wait for the runtime ends a process; the test kills it
}
