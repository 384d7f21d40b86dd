// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestClusterKilled has three nodes, each a keeper too, over one depot, and kills, stops and starts them. No
// host is requested by two of them within the gap, all sites continue, and the depot is whole. Two of the
// nodes leave older versions there.
func TestClusterKilled(t *testing.T) {
	long(t, "ten minutes")
	w := newClusterWorld(t, 6, 3, "")
	for _, name := range []string{"b", "c"} {
		w.args[name] = append(w.args[name], "--depot-on-demand")
	}
	w.start("a", "b", "c")
	w.allRun("at first")
	w.signal(syscall.SIGKILL, "a")
	w.allRun("a node and keeper killed")
	w.start("a")
	w.signal(syscall.SIGSTOP, "b")
	w.allRun("another one stopped")
	w.signal(syscall.SIGCONT, "b")
	w.allRun("it continues")
	for range 3 {
		w.signal(syscall.SIGKILL, "a", "b", "c")
		w.start("a", "b", "c")
		w.allRun("all killed")
	}
	w.finish()
}

// TestClusterLeader kills the keeper that leads, then one that follows, under load, then takes a keeper's
// disk away for good.
func TestClusterLeader(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" { // by itself: it measures a time
		t.Skip("it takes eight minutes: set MIRRORD_LONG=1")
	}
	w := newClusterWorld(t, 60, 3, "")
	for _, name := range []string{"a", "b", "c"} {
		// three runs at a time are less than is due in a minute: else the time without a commit may be one in
		// which no site is due
		w.args[name] = append(w.args[name], "--max-runs", "1")
	}
	w.start("a", "b", "c")
	w.allRun("at first")
	const most = 10 * time.Second
	for _, what := range []string{"the leader", "a follower"} {
		leads, follows := w.leader()
		if what == "a follower" {
			leads = follows
		}
		began := time.Now()
		w.signal(syscall.SIGKILL, leads)
		time.Sleep(45 * time.Second) // commits are counted over this time
		d, n := w.longest(began)
		t.Logf("%s killed: %d commits in 45 s, none for %v at most", what, n, d.Round(100*time.Millisecond))
		if d > most {
			t.Errorf("%s killed: no commit for %v, want at most %v", what, d, most)
		}
		if what == "a follower" {
			if err := os.RemoveAll(filepath.Join(w.dir, leads, "keeper")); err != nil {
				t.Fatal(err)
			}
		}
		w.start(leads)
		w.allRun(what + " killed and started")
	}
	_, follows := w.leader()
	w.signal(syscall.SIGKILL, follows) // the one with the new disk keeps what the others have
	w.allRun("another one killed after a disk was lost")
	w.finish()
}
