// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mirrord/mirror/report"
	"mirrord/store"
	"mirrord/store/upkeep"
	"mirrord/testing/oracle"
)

// The disk answers a sync with EIO in the middle of a real run (strace injects it): the run ends as partial
// and says why, what was committed before is not asked again, and the next run ends in the tree of a run that
// nothing disturbed.
func TestCrashIOError(t *testing.T) {
	t.Parallel()
	strace := oracle.Strace(t)
	rnd := crashRand(t)
	s := newCrashSite(t, 300)
	want := undisturbed(t, s)
	s.set(1, 6*time.Millisecond)
	for _, call := range []string{"fdatasync", "fsync", "syncfs"} {
		dir := t.TempDir()
		p := startCrash(t, dir, s.srv.URL+"/")
		if !p.awaitServed(s, 50+rnd.IntN(200)) {
			t.Fatalf("the run has ended\n%s", p.out)
		}
		tracer := exec.Command(strace, "-f", "-qq", "-o", "/dev/null", "-p", strconv.Itoa(p.cmd.Process.Pid), "-e",
			"trace="+call, "-e", "inject="+call+":error=EIO")
		err := traceStopped(t, p.cmd.Process, tracer)
		code := p.wait(t)
		if err := errors.Join(err, tracer.Wait()); err != nil && code == exitComplete {
			t.Logf("strace may not trace a running process here (%v): the store's own test of I/O errors must do", err)
			return
		}
		if code != exitPartial || !strings.Contains(p.out.String(), "input/output error") {
			t.Errorf("%s fails: exit %d\n%s", call, code, p.out)
		}
		s.asked()
		had := map[string]bool{}
		committed(t, dir, had)
		t.Logf("%s fails: exit %d, %d answers are kept", call, code, len(had))
		p = startCrash(t, dir, s.srv.URL+"/")
		if code := p.wait(t); code != exitComplete {
			t.Errorf("%s: the next run: exit %d\n%s", call, code, p.out)
			continue
		}
		asksNothingTwice(t, s.asked(), had)
		verifyClean(t, dir)
		sameTree(t, publishedTree(t, dir), want)
	}
}

// traceStopped stops a process until the tracer has all its threads: without that a tracer that starts late
// finds nothing left to do. It fails when the tracer has ended before.
func traceStopped(t *testing.T, p *os.Process, tracer *exec.Cmd) error {
	t.Helper()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer p.Signal(syscall.SIGCONT)
	out, err := tracer.StderrPipe() // ends with the tracer
	if err != nil {
		t.Fatal(err)
	}
	if err := tracer.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, out)
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 60_000 {
		if isTraced(p.Pid) {
			return nil
		}
		select {
		case <-ended:
			return errors.New("the tracer has ended")
		case <-tick.C:
		}
	}
	return errors.New("no tracer after five minutes")
}

// isTraced reports whether each thread of a process has a tracer.
func isTraced(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, name := range threads {
		status, readErr := os.ReadFile(name)
		if (readErr != nil) || strings.Contains(string(status), "TracerPid:\t0\n") {
			return false
		}
	}
	return (err == nil) && (len(threads) > 0)
}

// smallDisk mounts a disk of a size for a test; ok is false where that is not permitted.
func smallDisk(t *testing.T, size string) (dir string, ok bool) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Logf("mounting is not permitted here (%v): the store's own test of full disks must do", err)
		return "", false
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir, true
}

// resizeDisk gives a disk of smallDisk another size.
func resizeDisk(t *testing.T, dir, size string) {
	t.Helper()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size="+size); err != nil {
		t.Fatal(err)
	}
}

// The disk becomes full in the middle of a run: it ends as partial with a hint, and resumes when there is
// room.
func TestCrashDiskFull(t *testing.T) {
	t.Parallel()
	dir, ok := smallDisk(t, "1200k")
	if !ok {
		return
	}
	s := newCrashSite(t, 500)
	want := undisturbed(t, s)
	had := map[string]bool{}
	for i, size := range []string{"", "1800k", "2600k", "40m"} {
		if size != "" {
			resizeDisk(t, dir, size)
		}
		p := startCrash(t, dir, s.srv.URL+"/")
		code := p.wait(t)
		asked := s.asked()
		asksNothingTwice(t, asked, had)
		committed(t, dir, had)
		t.Logf("with %s: exit %d, %d asked, %d answers are kept", size, code, len(asked), len(had))
		if i < 3 {
			if code != exitPartial || !strings.Contains(p.out.String(), "free some space") {
				t.Errorf("with %s: exit %d\n%s", size, code, p.out)
			}
			readSite(t, dir, func(s *store.Site) {
				if _, err := report.Verify(t.Context(), s, func(p upkeep.Problem) {
					t.Errorf("with %s: %s", size, p)
				}); err != nil {
					t.Error(err)
				}
			})
		} else if code != exitComplete {
			t.Errorf("exit %d\n%s", code, p.out)
		}
	}
	verifyClean(t, dir)
	sameTree(t, publishedTree(t, dir), want)
}
