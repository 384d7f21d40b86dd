// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"

	"mirrord/mirror"
	"mirrord/store"
	"mirrord/testing/mirrortest"
)

// stateSize is the bytes of the files of a site that match a pattern.
func stateSize(t testing.TB, m *mirrortest.Mirror, pattern string) (n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(m.Dir, "sites", "test", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	for _, f := range files {
		fi, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		n += fi.Size()
	}
	return n
}

// Runs in which nothing changed write no record and no head, also the first one after the bodies came: the
// database does not grow, and the log only by the lines of each run.
func TestNothingChangedWritesNoRecord(t *testing.T) {
	const pages = 100
	w := mirrortest.Start(t)
	hub(w, pages)
	m := mirrortest.New(t, w, job())
	m.Durable = true
	wantVerdict(t, m.Run(), mirror.Complete, true)
	database, log, heads := stateSize(t, m, "site.db"), stateSize(t, m, "log/*"), stateSize(t, m, "heads.*")
	for run := range 10 {
		wantVerdict(t, m.Run(), mirror.Complete, false)
		now := stateSize(t, m, "log/*")
		if now-log > 40*pages {
			t.Errorf("run %d wrote %d bytes into the log", run+2, now-log)
		}
		log = now
	}
	if now := stateSize(t, m, "site.db"); now > database {
		t.Errorf("site.db has %d bytes, %d after the first run", now, database)
	}
	if now := stateSize(t, m, "heads.*"); now > heads {
		t.Errorf("the heads have %d bytes, %d after the first run", now, heads)
	}
}

// written is how many bytes this process has passed to calls that write; false where the kernel does not say.
func written(t testing.TB) (n int64, ok bool) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Logf("%v: no bytes a page: what is written is not counted", err)
		return 0, false
	}
	if _, err := fmt.Sscanf(string(data), "rchar: %d\nwchar: %d", new(int64), &n); err != nil {
		t.Fatal(err)
	}
	return n, true
}

// A first run writes so many bytes a page in all, and one in which nothing changed hardly any, although each
// body comes again. In a bubble no batch ends because the machine is slow. A process of its own is measured:
// the go command has its tests write the name of each file that they open.
func TestBytesWrittenPerPageInBulk(t *testing.T) {
	const alone = "MIRRORD_TEST_WRITTEN"
	if os.Getenv(alone) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), alone+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("bytes a page")) {
			t.Errorf("%v: %s", err, out)
		}
		t.Logf("%s", out)
		return
	}
	n := sized(2_000, 100_000)
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		most int64
	}{{"the first run", 1700}, {"nothing changed", sized[int64](70, 30)}} {
		before, ok := written(t)
		if !ok {
			return
		}
		synctest.Test(t, func(t *testing.T) { treeRun(t, dir, n, store.Options{}, nil) })
		after, _ := written(t)
		got := (after - before) / int64(n)
		t.Logf("%s: %d bytes a page", c.name, got)
		if got > c.most {
			t.Errorf("%s: %d bytes a page are written, %d at most", c.name, got, c.most)
		}
	}
}
