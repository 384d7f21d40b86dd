// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/store/upkeep"
	"mirrord/testing/disktest"
	"mirrord/testing/oracle"
)

// recordedRun makes a run below strace and returns the calls that it made.
func recordedRun(t *testing.T, dir string, s *crashSite) []disktest.Call {
	t.Helper()
	out := filepath.Join(t.TempDir(), "calls")
	p := startCrash(t, dir, s.srv.URL+"/", "strace", "-f", "-qq", "-xx", "-s", "100000000", "-o", out,
		"-e", "trace="+disktest.Calls)
	if code := p.wait(t); code != exitComplete {
		t.Fatalf("exit %d\n%s", code, p.out)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	calls, err := disktest.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// The power goes at any moment of two runs, and the disk has lost, reordered or torn what was not synced: the
// state opens, verify finds nothing wrong in it, a run that had ended is there, and the next run ends in the
// tree of runs that nothing disturbed.
func TestPowerLossInBulk(t *testing.T) {
	t.Parallel()
	oracle.Strace(t)
	s := newCrashSite(t, 60)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "state")
	var wants [2]map[string]string
	var calls []disktest.Call
	ended := 0 // calls of the first run
	for i := range wants {
		s.set(i+1, 0)
		ended = len(calls)
		calls = append(calls, recordedRun(t, dir, s)...)
		wants[i] = publishedTree(t, dir)
		delete(wants[i], "phm.json") // it has the number of the version
	}

	s.set(1, 0)
	rnd := crashRand(t)
	states := sized(4, 1500)
	disk := disktest.New(dir)
	at := momentsOf(calls, (states+int(disktest.Losses)-1)/int(disktest.Losses), rnd)
	tried := 0
	want := wants[0]
	for i := range calls {
		if i == ended {
			s.set(2, 0)
			want = wants[1]
		}
		if at[i] {
			for loss := range disktest.Losses {
				tried++
				afterPowerLoss(t, s, func(into string) error { return disk.Crash(into, loss, rnd) }, i >= ended, want)
			}
			if t.Failed() {
				t.Fatalf("before call %d of %d, %s", i, len(calls), calls[i].Name)
			}
		}
		if err := disk.Do(&calls[i]); err != nil {
			t.Fatal(err)
		}
	}
	afterPowerLoss(t, s, func(into string) error { return disk.Crash(into, disktest.LosesAll, rnd) }, true, want)
	t.Logf("%d states of %d calls", tried, len(calls))
	if tried < states {
		t.Errorf("only %d states", tried)
	}
}

// momentsOf chooses calls before which the power goes, half of them among the syncs and renames, where most
// is at stake.
func momentsOf(calls []disktest.Call, n int, rnd *rand.Rand) map[int]bool {
	var sharp []int
	for i := range calls {
		if calls[i].Is("fsync", "fdatasync", "syncfs", "renameat") {
			sharp = append(sharp, i)
		}
	}
	at := map[int]bool{}
	for len(at) < min(n, len(calls)) {
		if i := rnd.IntN(len(calls)); len(at)%2 == 0 && len(at) < len(sharp) {
			at[sharp[i%len(sharp)]] = true
		} else {
			at[i] = true
		}
	}
	return at
}

// afterPowerLoss looks at the state that crash makes. published says that a run had ended.
func afterPowerLoss(
	t *testing.T, s *crashSite, crash func(into string) error, published bool, want map[string]string,
) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	if err := crash(dir); err != nil {
		t.Fatal(err)
	}
	if published {
		readSite(t, dir, func(s *store.Site) {
			if vs, err := s.Versions.List(); (err != nil) || (len(vs) == 0) {
				t.Errorf("%d versions, %v", len(vs), err)
			}
			_, err := report.Verify(t.Context(), s, func(p upkeep.Problem) {
				// It is not synced: a later write may be on the disk, and an earlier one not or torn. Nothing is lost,
				// and the next run begins it again. verify cannot tell this from a bad disk.
				if p.Kind != upkeep.BadLog {
					t.Error(p)
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	sum, err := crashRun(t.Context(), dir, s.srv.URL+"/")
	if (err != nil) || (sum.Verdict != mirror.Complete) {
		t.Errorf("the next run: %v, %+v", err, sum)
		return
	}
	verifyClean(t, dir)
	tree := publishedTree(t, dir)
	delete(tree, "phm.json")
	sameTree(t, tree, want)
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}
