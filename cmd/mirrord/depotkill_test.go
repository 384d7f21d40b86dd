// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A push and a pull are killed at random moments, again and again: the depot is whole after each, and so is
// the mirror; in the end both have everything.
func TestDepotKilled(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("MIRRORD_LONG=1 kills 100 calls")
	}
	const rounds = 20
	s := &killSite{pages: 1000, served: make(chan struct{}, 1)}
	srv := httptest.NewServer(s)
	defer srv.Close()
	dir := t.TempDir()
	jobs := filepath.Join(dir, "jobs.d")
	if err := os.Mkdir(jobs, 0o755); err != nil {
		t.Fatal(err)
	}
	job := fmt.Sprintf("url = %q\npolicy = \"full\"\n[polite]\ndelay = \"0s\"\nfactor = 0.0\nconnections = 8\n"+
		"[limits]\nmax_delete = 0.9\nmin_free = 0\n", srv.URL+"/")
	if err := os.WriteFile(filepath.Join(jobs, "x.toml"), []byte(job), 0o644); err != nil {
		t.Fatal(err)
	}
	command := func(state string, args ...string) *exec.Cmd {
		all := append([]string{"--state", filepath.Join(dir, state), "--jobs", jobs}, args...)
		cmd := exec.Command("mirrord", all...)
		cmd.Env = append(os.Environ(), "MIRRORD_DEPOT=file://"+filepath.Join(dir, "depot"))
		return cmd
	}
	must := func(state string, args ...string) string {
		t.Helper()
		said, err := command(state, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", args, err, said)
		}
		return string(said)
	}
	killed := 0
	kill := func(state string, longest time.Duration, args ...string) {
		t.Helper()
		cmd := command(state, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(rand.N(longest)) // the moment of the kill
		cmd.Process.Kill()
		if cmd.Wait() != nil {
			killed++
		}
	}
	s.set(1, 0)
	must("a", "run-now", "x")
	for range rounds {
		kill("a", 200*time.Millisecond, "cluster", "push")
		said, err := command("a", "cluster", "depot", "--check").CombinedOutput()
		if err != nil && !strings.Contains(string(said), "there is no depot here") {
			t.Fatalf("%v\n%s", err, said)
		}
	}
	must("a", "cluster", "push")
	for edition := range 2 {
		for range rounds {
			kill("b", 400*time.Millisecond, "cluster", "pull", "x")
			said, err := command("b", "verify", "x").CombinedOutput()
			nothing := strings.Contains(string(said), "there are no mirrors") ||
				strings.Contains(string(said), "no such site")
			if err != nil && !nothing {
				t.Fatalf("%v\n%s", err, said)
			}
		}
		must("b", "cluster", "pull", "x")
		must("b", "verify", "x")
		at := func(state string) string { return filepath.Join(dir, state, "sites", "x", "current") }
		sameFiles(t, filesBelow(t, at("b")), filesBelow(t, at("a")))
		s.set(edition+2, 0)
		must("a", "run-now", "x")
		for range rounds {
			kill("a", 100*time.Millisecond, "cluster", "push", "x")
			must("a", "cluster", "depot", "--check")
		}
		must("a", "cluster", "push", "x")
	}
	t.Logf("%d calls were killed", killed)
	if killed == 0 { // how many depends on how fast the machine is
		t.Error("every call ended before it was killed")
	}
}
