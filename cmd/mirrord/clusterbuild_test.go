// SPDX-License-Identifier: Apache-2.0

//go:build keeper

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// built compiles mirrord in a directory of its sources.
func built(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "mirrord")
	args = append([]string{"build", "-trimpath", "-buildvcs=false", "-tags", "keeper", "-o", out}, args...)
	cmd := exec.Command("go", append(args, "./cmd/mirrord")...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	return out
}

// offset goes beside the sources of package time, in a program of this test only.
const offset = `package time

import "syscall"

var clockOffset = func() (n int64) {
	text, _ := syscall.Getenv("MIRRORD_TEST_CLOCK")
	minus := len(text) > 0 && text[0] == '-'
	for _, c := range []byte(text) {
		if '0' <= c && c <= '9' {
			n = 10*n + int64(c-'0')
		}
	}
	if minus {
		n = -n
	}
	return n
}()
`

// wrongClock compiles a mirrord whose clock is wrong by the seconds of $MIRRORD_TEST_CLOCK: not a line of
// mirrord is changed, but package time is another one.
func wrongClock(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(own, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	const reads = "\tsec, nsec, mono := runtimeNow()\n"
	if bytes.Count(text, []byte("func Now() Time {\n"+reads)) != 1 {
		t.Fatal("package time reads the clock in another way: change this test")
	}
	changed := strings.Replace(string(text), "func Now() Time {\n"+reads,
		"func Now() Time {\n"+reads+"\tsec += clockOffset\n", 1)
	put(t, dir, "time.go", changed)
	put(t, dir, "offset.go", offset)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(own, "time.go"):   filepath.Join(dir, "time.go"),
		filepath.Join(own, "offset.go"): filepath.Join(dir, "offset.go"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "overlay.json", string(overlay))
	return built(t, "../..", "-overlay", filepath.Join(dir, "overlay.json"))
}

// TestClusterClock has nodes whose clocks are wrong by an hour, one ahead and one behind, and kills each. A
// mirror that goes from one to the other is run at its times.
func TestClusterClock(t *testing.T) {
	long(t, "five minutes, and three to compile")
	program := wrongClock(t)
	w := newClusterWorld(t, 6, 3, "")
	for name, by := range map[string]string{"a": "3600", "b": "-3600"} {
		w.program[name], w.more[name] = program, []string{"MIRRORD_TEST_CLOCK=" + by}
	}
	w.start("a", "b", "c")
	w.allRun("at first")
	for _, name := range []string{"a", "b", "c"} {
		w.signal(os.Kill, name)
		w.allRun("killed: " + name)
		w.start(name)
		w.says(name, "part of the cluster", time.Minute)
		w.allRun("started: " + name)
	}
	if behind, ahead := w.clocks(); behind < 30*time.Minute || ahead < 30*time.Minute {
		t.Errorf("no clock is wrong: %v behind, %v ahead", behind, ahead)
	}
	w.finish()
}

// TestClusterUpgrade replaces the program of one node after the other by a newer one, as the documentation
// says. The older one is that of $MIRRORD_OLD, or made from the commit before the last one.
func TestClusterUpgrade(t *testing.T) {
	long(t, "seven minutes, and two to compile")
	old := os.Getenv("MIRRORD_OLD")
	if old == "" {
		dir := t.TempDir()
		sources := "git -C ../.. archive HEAD~1 | tar -x -C " + dir
		if out, err := exec.Command("/bin/sh", "-c", sources).CombinedOutput(); err != nil {
			t.Skipf("no older commit is here (%v: %s): name an older mirrord in MIRRORD_OLD", err, out)
		}
		old = built(t, dir)
	}
	w := newClusterWorld(t, 6, 3, "")
	names := []string{"a", "b", "c"}
	for _, name := range names {
		w.program[name] = old
	}
	w.start(names...)
	w.allRun("old programs")
	for _, name := range names {
		drain := []string{"cluster", "drain", name, "--cluster", w.servers, "--cluster-secret", w.secret}
		if out, err := w.command(drain...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		w.allRun("drained: " + name)
		if n := w.nodes()[name]; n > 0 {
			t.Errorf("%s still runs %d sites", name, n)
		}
		w.stop(name)
		delete(w.program, name)
		w.start(name)
		if out, err := w.command(append(drain, "--off")...); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		w.allRun(fmt.Sprintf("replaced: %s", name))
	}
	w.finish()
}
