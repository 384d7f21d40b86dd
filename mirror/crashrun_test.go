// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mirrord/evolution/policy"
	"mirrord/fetch"
	jobs "mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/mirror/source"
	"mirrord/site"
	"mirrord/store"
	storehome "mirrord/store/home"
	"mirrord/store/record"
	"mirrord/store/upkeep"
)

// Exit codes of a crash run, as those of the program.
const (
	exitComplete   = 0
	exitFailed     = 1
	exitPartial    = 3
	exitSuspicious = 4
)

// TestCrashRun is the process that the tests of this file kill: one run of one job on the state that the
// environment names. Called as an ordinary test it has nothing to do.
func TestCrashRun(t *testing.T) {
	dir := os.Getenv("MIRRORD_CRASH_STATE")
	if dir == "" {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	sum, err := crashProcessDoes(ctx, dir, os.Getenv("MIRRORD_CRASH_URL"))
	code := exitFailed
	switch {
	case sum == nil:
	case sum.Verdict == mirror.Partial:
		code = exitPartial
	case err != nil:
	case sum.Verdict == mirror.Suspicious:
		code = exitSuspicious
	default:
		code = exitComplete
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	if sum != nil {
		sum.WriteText(os.Stderr)
	}
	os.Exit(code)
}

const crashJob = "crash"

// oneOff is the variable that makes the run of a process that of a one-off mirror.
const oneOff = "MIRRORD_CRASH_ONE_OFF"

// crashProcessDoes makes a run, or rolls back to the version that the environment names.
func crashProcessDoes(ctx context.Context, dir, url string) (*mirror.Summary, error) {
	number, err := strconv.Atoi(os.Getenv("MIRRORD_CRASH_ROLLBACK"))
	if err != nil {
		return crashRun(ctx, dir, url)
	}
	return crashRollback(ctx, dir, url, number)
}

func crashRun(ctx context.Context, dir, url string, edit ...func(*jobs.Job)) (*mirror.Summary, error) {
	j := jobs.Default(url)
	j.Name, j.Policy = crashJob, policy.Full
	j.Polite.Connections, j.Polite.Delay, j.Polite.Factor = 4, 0, 0
	j.Limits.MinFree, j.Limits.Retries = 0, 0
	j.Limits.MaxDelete = 0.5
	for _, f := range edit {
		f(j)
	}
	once := os.Getenv(oneOff) != ""
	st, err := store.OpenState(dir, store.Options{Wait: 10 * time.Second, Volatile: once, OneOff: once})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	s, err := st.OpenSite(j.Name)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	client, err := source.NewClient(j, source.Surroundings{LookupEnv: os.LookupEnv, ReadFile: os.ReadFile}, nil)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return mirror.Run(ctx, mirror.Options{
		DeadEnds: true, // a database that was made again does not know for how long they were dead
		Confirm:  -1,
		Job:      j,
		State:    st,
		Site:     s,
		Fetcher:  client,
		Robots:   source.NewRobots(j, client, st.Shared),
		Hosts:    new(fetch.Hosts),
	})
}

// crashProcess is a run in a process of its own.
type crashProcess struct {
	cmd  *exec.Cmd
	out  *strings.Builder
	done chan error
}

func startCrash(t *testing.T, dir, url string, prefix ...string) *crashProcess {
	t.Helper()
	args := append(prefix, os.Args[0], "-test.run=^TestCrashRun$", "-test.v=false")
	p := &crashProcess{
		cmd:  exec.Command(args[0], args[1:]...),
		out:  new(strings.Builder),
		done: make(chan error, 1),
	}
	p.cmd.Env = append(os.Environ(), "MIRRORD_CRASH_STATE="+dir, "MIRRORD_CRASH_URL="+url,
		"GORACE=atexit_sleep_ms=0") // else the race detector lets each of them wait a second at its end
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	return p
}

// wait returns the exit code, -1 for a process that was killed.
func (p *crashProcess) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(30 * time.Minute):
		p.cmd.Process.Kill()
		<-p.done
		t.Fatalf("the run hangs:\n%s", p.out)
	}
	return p.cmd.ProcessState.ExitCode()
}

// awaitServed waits until the site has served n requests; false when the process ended before.
func (p *crashProcess) awaitServed(s *crashSite, n int) bool {
	for range n {
		select {
		case <-s.served:
		case err := <-p.done:
			p.done <- err
			return false
		}
	}
	return true
}

// killAfter kills the process once the site has served n requests and d has passed, unless it ends before. It
// reports whether it was killed.
func (p *crashProcess) killAfter(
	t *testing.T, s *crashSite, n int, d time.Duration, sig syscall.Signal,
) (code int, killed bool) {
	t.Helper()
	if !p.awaitServed(s, n) {
		return p.wait(t), false
	}
	select {
	case err := <-p.done:
		p.done <- err
		return p.wait(t), false
	case <-time.After(d):
	}
	p.cmd.Process.Signal(sig)
	code = p.wait(t)
	return code, code == -1 || sig != syscall.SIGKILL
}

// publishedTree returns the digest of every file of the published tree by its path; phm.json without the time
// of the retrieval.
func publishedTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	root, err := os.OpenRoot(filepath.Join(dir, "sites", crashJob, "current"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	out := map[string]string{}
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := root.ReadFile(p)
		if err != nil {
			return err
		}
		if p == "phm.json" {
			var m map[string]any
			if err := json.Unmarshal(data, &m); err != nil {
				return err
			}
			delete(m, "retrieved")
			if data, err = json.Marshal(m); err != nil {
				return err
			}
		}
		out[p] = sha256Hex(data)
		if p == "phm.json" {
			out[p] = string(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sha256Hex(b []byte) string {
	d := sha256.Sum256(b)
	return hex.EncodeToString(d[:])
}

func sameTree(t *testing.T, got, want map[string]string) {
	t.Helper()
	for _, p := range slices.Sorted(maps.Keys(want)) {
		if g, ok := got[p]; !ok {
			t.Errorf("%s is missing", p)
		} else if g != want[p] {
			t.Errorf("%s differs from that of an undisturbed run: %s, want %s", p, g, want[p])
		}
	}
	for p := range got {
		if _, ok := want[p]; !ok {
			t.Errorf("%s should not be there", p)
		}
	}
}

// readSite opens the site that a process left behind, as any reader would.
func readSite(t *testing.T, dir string, f func(*store.Site)) {
	t.Helper()
	st, err := store.OpenState(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.ViewSite(crashJob)
	if errors.Is(err, storehome.ErrNoSite) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f(s)
}

// committed adds the URLs that the unfinished run has an answer of, as the disk says.
func committed(t *testing.T, dir string, into map[string]bool) {
	t.Helper()
	readSite(t, dir, func(s *store.Site) {
		run, err := s.Notes.Run()
		if err != nil {
			t.Fatal(err)
		}
		if run == nil { // the run had ended when the kill came: the next one asks everything again
			clear(into)
			return
		}
		add := func(r *record.Resource) {
			if r.Run == run.Number && r.Outcome != site.Pending && r.Outcome != site.Failed {
				into[r.URL.Path()] = true
			}
		}
		if err := s.Records.Resources(func(r *record.Resource) error { add(r); return nil }); err != nil {
			t.Fatal(err)
		}
		err = s.Records.Replay(func(uint32, record.NewURL) error {
			return nil
		}, func(r *record.Resource, _ []byte, _ bool) error { add(r); return nil })
		if err != nil {
			t.Fatal(err)
		}
	})
}

// verifyClean checks everything on disk.
func verifyClean(t *testing.T, dir string) {
	t.Helper()
	readSite(t, dir, func(s *store.Site) {
		st, err := report.Verify(t.Context(), s, func(p upkeep.Problem) { t.Errorf("verify: %s", p) })
		if err != nil || st.Problems > 0 {
			t.Errorf("verify: %d problems, %v", st.Problems, err)
		}
	})
}

// undisturbed returns the tree of a run that nothing disturbs.
func undisturbed(t *testing.T, s *crashSite) map[string]string {
	t.Helper()
	dir := t.TempDir()
	p := startCrash(t, dir, s.srv.URL+"/")
	if code := p.wait(t); code != exitComplete {
		t.Fatalf("undisturbed run: exit %d\n%s", code, p.out)
	}
	verifyClean(t, dir)
	s.asked()
	return publishedTree(t, dir)
}

func crashRand(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	if v := os.Getenv("MIRRORD_CRASH_SEED"); v != "" {
		seed, _ = strconv.ParseUint(v, 10, 64)
	}
	t.Logf("MIRRORD_CRASH_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// asksNothingTwice fails for URLs that were asked although the disk had an answer of this run.
func asksNothingTwice(t *testing.T, asked []string, had map[string]bool) {
	t.Helper()
	for _, p := range asked {
		if had[p] && p != "/robots.txt" {
			t.Errorf("%s was asked again", p)
		}
	}
}
