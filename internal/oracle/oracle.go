// SPDX-License-Identifier: Apache-2.0

// Package oracle asks independent implementations in Node.js, so that differential tests can hold mirrord
// against them. The programs are in tools/oracles; .ci/run oracles installs what its lock file names, and
// sets MIRRORD_ORACLES to the directory.
package oracle

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

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

// Zimcheck has the checker of the people who made the format look at a ZIM file, and reports what it finds.
// installed is false when there is none: apt-get install zim-tools.
func Zimcheck(t *testing.T, name string) (installed bool) {
	t.Helper()
	program, err := exec.LookPath("zimcheck")
	if err != nil {
		return false
	}
	if said, err := exec.CommandContext(t.Context(), program, "-A", name).CombinedOutput(); err != nil {
		t.Errorf("zimcheck: %v\n%s", err, said)
	}
	return true
}
