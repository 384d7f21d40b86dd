// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

func startOneOff(t *testing.T, dir string, s *crashSite) *crashProcess {
	return startCrash(t, dir, s.srv.URL+"/", "env", oneOff+"=1")
}

// A one-off mirror that is killed at any moment ends in the tree of an undisturbed run that is kept. Only
// requests under way are made twice.
func TestCrashOneOff(t *testing.T) {
	t.Parallel()
	rnd := crashRand(t)
	s, most := serveCrashSite(t, &crashSite{pages: sized(300, 600), large: 60}), sized(8, 60)
	want := undisturbed(t, s)
	p := startOneOff(t, t.TempDir(), s)
	if code := p.wait(t); code != exitComplete {
		t.Fatalf("exit %d\n%s", code, p.out)
	}
	once := len(s.asked())
	s.set(1, 6*time.Millisecond)
	for kills := 0; kills < most && !t.Failed(); {
		dir := t.TempDir()
		total, here := 0, 0
		for {
			p := startOneOff(t, dir, s)
			code, killed := -1, false
			if kills < most {
				code, killed = p.killAfter(t, s, rnd.IntN(200), time.Duration(rnd.IntN(200))*time.Millisecond,
					syscall.SIGKILL)
			} else {
				code = p.wait(t)
			}
			total += len(s.asked())
			if !killed {
				if code != exitComplete {
					t.Fatalf("exit %d\n%s", code, p.out)
				}
				break
			}
			kills++
			here++
		}
		sameTree(t, publishedTree(t, dir), want)
		// some 10 for each kill on an idle machine; on a busy one results wait for a core to be noted, and up to 64
		// in line behind them (urls.Committer)
		if most := once + 100*here; total > most {
			t.Errorf("%d requests with %d kills, want at most %d", total, here, most)
		}
		t.Logf("%d kills, %d requests for %d", here, total, once)
	}
}

// A process that may have few descriptors makes all files: the folders that stay open take a part of them.
func TestOneOffFewDescriptors(t *testing.T) {
	t.Parallel()
	s := newCrashSite(t, 400)
	dir, want := t.TempDir(), undisturbed(t, s)
	p := startCrash(t, dir, s.srv.URL+"/", "sh", "-c", `ulimit -n 64 && exec "$@"`, "sh", "env", oneOff+"=1")
	if code := p.wait(t); code != exitComplete {
		t.Fatalf("exit %d\n%s", code, p.out)
	}
	sameTree(t, publishedTree(t, dir), want)
}

// The disk is full while documents are stored, and again while their files are made: each run says what to
// do, and the last one ends in the tree of an undisturbed run.
func TestCrashOneOffDiskFull(t *testing.T) {
	t.Parallel()
	dir, ok := smallDisk(t, "1200k")
	if !ok {
		return
	}
	s := newCrashSite(t, 500)
	want := undisturbed(t, s)
	for i, size := range []string{"", "1300k", "2600k", "40m"} {
		if size != "" {
			resizeDisk(t, dir, size)
		}
		p := startOneOff(t, dir, s)
		code, said := p.wait(t), p.out.String()
		t.Logf("with %s: exit %d, %d asked", size, code, len(s.asked()))
		switch {
		case i == 3 && code != exitComplete:
			t.Errorf("exit %d\n%s", code, said)
		case i < 3 && (code == exitComplete || !strings.Contains(said, "no space left on device")):
			t.Errorf("with %s: exit %d\n%s", size, code, said)
		}
	}
	sameTree(t, publishedTree(t, dir), want)
}
