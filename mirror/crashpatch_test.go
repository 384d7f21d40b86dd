// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Every page links to one that was missing and is found, so that a run makes all of them again, although few
// have changed. The disk is full while it does so, and then it is killed at some moments: readers keep the
// version from before, or have the new one, and the same command ends in the files of an undisturbed run.
func TestCrashPatching(t *testing.T) {
	t.Parallel()
	rnd := crashRand(t)
	s := serveCrashSite(t, &crashSite{pages: sized(80, 600), late: true})
	ref, dir := t.TempDir(), t.TempDir()
	small := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=90m") == nil
	if small {
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	} else {
		t.Log("mounting is not permitted here: the disk is not full")
	}
	run := func(d string) (code int, said string) {
		t.Helper()
		p := startCrash(t, d, s.srv.URL+"/")
		return p.wait(t), p.out.String()
	}
	complete := func(d string) {
		t.Helper()
		if code, said := run(d); code != exitComplete {
			t.Fatalf("exit %d\n%s", code, said)
		}
	}
	complete(ref)
	complete(dir)
	before := publishedTree(t, dir)
	s.set(2, 0)
	s.asked()
	complete(ref)
	requests, want := len(s.asked()), publishedTree(t, ref)
	had := map[string]bool{}
	seen := func() {
		t.Helper()
		asksNothingTwice(t, s.asked(), had)
		committed(t, dir, had)
		if tree := publishedTree(t, dir); !maps.Equal(tree, before) {
			sameTree(t, tree, want)
		}
	}
	resize := func(size string) {
		t.Helper()
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size="+size); err != nil {
			t.Fatal(err)
		}
	}
	for kb := uint64(100); small && kb <= uint64(sized(100, 900)); kb += 400 { // the pages alone take more
		var fs unix.Statfs_t
		if err := unix.Statfs(dir, &fs); err != nil {
			t.Fatal(err)
		}
		used := (fs.Blocks - fs.Bfree) * uint64(fs.Bsize)
		resize(fmt.Sprint(used + kb<<10))
		code, said := run(dir)
		resize("90m")
		t.Logf("with %d kB: exit %d", kb, code)
		if code != exitPartial || !strings.Contains(said, "free some space") {
			t.Errorf("with %d kB: exit %d\n%s", kb, code, said)
		}
		seen()
	}
	kills := 0
	for range sized(2, 40) {
		p := startCrash(t, dir, s.srv.URL+"/")
		_, killed := p.killAfter(t, s, max(0, requests-len(had)-5), time.Duration(rnd.IntN(400))*time.Millisecond,
			syscall.SIGKILL)
		if seen(); !killed {
			break
		}
		kills++
	}
	t.Logf("%d kills", kills)
	complete(dir)
	verifyClean(t, dir)
	sameTree(t, publishedTree(t, dir), want)
}
