// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestClusterWithoutLease is a control run: two daemons with the same jobs that know nothing of one another.
// What watches the visits must say so.
func TestClusterWithoutLease(t *testing.T) {
	long(t, "a minute")
	w := newClusterWorld(t, 3, 1, "")
	for _, name := range []string{"a", "b"} {
		cmd := exec.Command("mirrord", "daemon", "--jobs", filepath.Join(w.dir, "jobs"), "--state",
			filepath.Join(w.dir, name), "--spread", "0", "--node", name)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.running[name] = cmd
	}
	for end := time.Now().Add(2 * time.Minute); len(w.doubles()) == 0; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("two machines request the same hosts, and nothing says so")
		}
	}
	t.Log(w.doubles()[0])
}

// TestClusterWithoutFence is a control run: two machines put mirrors of the same site into one depot, each
// over the other's. What watches the commits must say so.
func TestClusterWithoutFence(t *testing.T) {
	long(t, "a minute")
	w := newClusterWorld(t, 1, 1, "")
	run := func(name string, args ...string) {
		t.Helper()
		args = append(args, "--state", filepath.Join(w.dir, name), "--jobs", filepath.Join(w.dir, "jobs"))
		if out, err := w.command(args...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	committed := func(version int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); w.versions()["s0"] != version; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("version %d is not seen", version)
			}
		}
	}
	run("a", "run-now", "s0")
	run("a", "run-now", "s0")
	run("a", "cluster", "push", "s0", "--depot", w.depot)
	committed(2)
	run("b", "run-now", "s0")
	run("b", "cluster", "push", "s0", "--again", "--depot", w.depot)
	committed(1)
	if p := w.problems(); len(p) == 0 {
		t.Error("a commit is lost, and nothing says so")
	} else {
		t.Log(p[0])
	}
	// and damaged objects of the depot
	if err := os.RemoveAll(filepath.Join(w.dir, "depot", "data")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.command("cluster", "depot", "--check", "--depot", w.depot); err == nil {
		t.Error("the depot is damaged, and nothing says so")
	}
}
