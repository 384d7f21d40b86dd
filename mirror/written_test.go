// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"os"
	"path/filepath"
	"testing"

	"mirrord/internal/mirrortest"
	"mirrord/mirror"
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
// database does not grow, and the log by what is written once for each run.
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
