// SPDX-License-Identifier: Apache-2.0

// Package oracle asks programs of others, so that tests can hold mirrord against them: independent
// implementations in Node.js, and programs of Debian. The former are in tools/oracles; .ci/run oracles
// installs what its lock file names, and sets MIRRORD_ORACLES to the directory.
package oracle

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Rand draws the questions of a test: always the same, so that what passed passes again, and with
// MIRRORD_LONG each time others, with the seed in the test's log.
func Rand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(1)
	if os.Getenv("MIRRORD_LONG") != "" {
		seed = rand.Uint64()
	}
	t.Log("seed", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// Ask sends each question to the oracle of that name and returns its answers, in order. Without oracles the
// test is skipped.
func Ask[Q, A any](t *testing.T, name string, questions []Q) []A {
	t.Helper()
	dir := os.Getenv("MIRRORD_ORACLES")
	if dir == "" {
		t.Skip("MIRRORD_ORACLES is not set: run .ci/run oracles")
	}
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, q := range questions {
		if err := enc.Encode(q); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "oracle.mjs"), name)
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("oracle %s: %v", name, err)
	}
	answers := make([]A, 0, len(questions))
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var a A
		if err := dec.Decode(&a); err != nil {
			t.Fatalf("oracle %s, answer %d: %v", name, len(answers), err)
		}
		answers = append(answers, a)
	}
	if len(answers) != len(questions) {
		t.Fatalf("oracle %s: %d answers to %d questions", name, len(answers), len(questions))
	}
	return answers
}

// Program returns where a program lies. Without it the test fails, and names the Debian package that has it;
// .ci/run installs those.
func Program(t testing.TB, name, debian string) string {
	t.Helper()
	for _, try := range []string{name, "/usr/sbin/" + name} { // nginx, for those who are not root
		if path, err := exec.LookPath(try); err == nil {
			return path
		}
	}
	t.Fatalf("%s is not installed: apt-get install %s", name, debian)
	return ""
}

// Strace returns where strace lies. Where processes cannot be traced, as in some containers, the test is
// skipped.
func Strace(t testing.TB) string {
	t.Helper()
	path := Program(t, "strace", "strace")
	if err := exec.Command(path, "-qq", "-o", os.DevNull, "true").Run(); err != nil {
		t.Skipf("strace cannot be used here: %v", err)
	}
	return path
}

// Zimcheck has the checker of the people who made the format look at a ZIM file, and reports what it finds.
func Zimcheck(t *testing.T, name string) {
	t.Helper()
	program := Program(t, "zimcheck", "zim-tools")
	if said, err := exec.CommandContext(t.Context(), program, "-A", name).CombinedOutput(); err != nil {
		t.Errorf("zimcheck: %v\n%s", err, said)
	}
}
