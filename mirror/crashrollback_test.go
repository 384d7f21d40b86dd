// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"maps"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mirrord/evolution/policy"
	"mirrord/fetch"
	jobs "mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/revisit"
	"mirrord/store"
	"mirrord/testing/oracle"
)

func crashRollback(ctx context.Context, dir, url string, number int) (*mirror.Summary, error) {
	j := jobs.Default(url)
	j.Name = crashJob
	st, err := store.OpenState(dir, store.Options{Wait: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	s, err := st.OpenSite(j.Name)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return mirror.Rollback(ctx, mirror.Options{
		Job:   j,
		State: st,
		Site:  s,
		Hosts: new(fetch.Hosts),
	}, number)
}

// diskCalls are the system calls that change what a killed process leaves on the disk.
func diskCalls() []string {
	return []string{"pwrite64", "renameat", "linkat", "symlinkat", "unlinkat", "mkdirat"}
}

// A rollback that is killed at any of its steps is either made, and holds, or was never begun; the next run
// looks at everything, though its policy had begun to skip.
func TestCrashRollback(t *testing.T) {
	t.Parallel()
	strace := oracle.Strace(t)
	const pages = 10
	s := newCrashSite(t, pages)
	learned := func(j *jobs.Job) { j.Policy, j.Adaptive.LearnFor = policy.Adaptive, "0s" }
	run := func(dir string) *mirror.Summary {
		t.Helper()
		sum, err := crashRun(t.Context(), dir, s.srv.URL+"/", learned)
		if err != nil || sum.Verdict != mirror.Complete {
			t.Fatalf("%+v, %v", sum, err)
		}
		return sum
	}
	ready := t.TempDir()
	s.set(1, 0)
	run(ready)
	first := publishedTree(t, ready)
	s.set(2, 0)
	for range 6 {
		run(ready)
	}
	if sum := run(ready); sum.Skipped == 0 || sum.Version != 2 {
		t.Fatalf("the policy skips nothing yet: %+v", sum)
	}
	second := publishedTree(t, ready)
	same := func(dir string, want map[string]string) bool {
		got := publishedTree(t, dir)
		for _, m := range []map[string]string{got, want} {
			maps.DeleteFunc(m, func(p, _ string) bool { return strings.HasPrefix(p, "phm.") })
		}
		return maps.Equal(got, want)
	}
	holds, undone, untouched := 0, 0, 0
	stride, least := 6, 1
	if long() {
		stride, least = 1, 5
	}
	for _, call := range diskCalls() {
		for step := 1; ; step += stride {
			dir := filepath.Join(t.TempDir(), "state")
			if out, err := exec.Command("cp", "-a", ready, dir).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			killed := rollBackUntil(t, strace, dir, s.srv.URL+"/", call, step)
			begun, published := progressOf(t, dir)
			s.asked()
			sum := run(dir)
			if asked := len(s.asked()); begun && (sum.Skipped != 0 || asked < pages) {
				t.Errorf("%s %d: the run after it skipped %d: %+v", call, step, sum.Skipped, sum)
			}
			switch {
			case !begun && sum.Version == 2:
				untouched++
			case published && sum.Held != nil && sum.Version == 3 && same(dir, first):
				holds++
			case !published && sum.Held == nil && sum.Version == 2 && same(dir, second):
				undone++
			default:
				t.Errorf("%s %d: begun %v, published %v, then %+v", call, step, begun, published, sum)
			}
			verifyClean(t, dir)
			if !killed {
				break
			}
		}
	}
	t.Logf("not begun at %d steps, undone after %d, holds after %d", untouched, undone, holds)
	if undone < least || holds < len(diskCalls()) {
		t.Errorf("not begun at %d steps, undone after %d, holds after %d", untouched, undone, holds)
	}
}

// progressOf says how far a rollback has come.
func progressOf(t *testing.T, dir string) (begun, published bool) {
	t.Helper()
	st, err := store.OpenState(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite(crashJob) // which finishes a publish that was decided
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	v, err := s.Notes.Fact(revisit.FullFact)
	if err != nil {
		t.Fatal(err)
	}
	vs, err := s.Versions.List()
	if err != nil {
		t.Fatal(err)
	}
	return len(v) > 0, len(vs) == 3
}

// rollBackUntil rolls back to version 1 in a process that is killed at its n-th system call of a name; killed
// is false when it has ended before.
func rollBackUntil(t *testing.T, strace, dir, url, call string, n int) (killed bool) {
	t.Helper()
	p := startCrash(t, dir, url, "env", "MIRRORD_CRASH_ROLLBACK=1", "GOMAXPROCS=1", strace, "-f", "-qq",
		"-o", "/dev/null", "-e", "trace="+call, "-e", "inject="+call+":signal=KILL:when="+strconv.Itoa(n))
	code := p.wait(t)
	if code == exitComplete {
		return false
	}
	if out := p.out.String(); strings.Contains(out, "error:") || strings.Contains(out, "panic") {
		t.Fatalf("%s %d: exit %d\n%s", call, n, code, out)
	}
	return true
}
