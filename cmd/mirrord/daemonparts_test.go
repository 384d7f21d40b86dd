// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"mirrord/cmd/mirrord/cli"
)

func TestDaemonUsage(t *testing.T) {
	for _, args := range [][]string{
		{"--socket-mode", "rw"}, {"--socket-mode", "10000"}, {"--max-runs", "0"}, {"--log", "pretty"},
		{"--mail", "somewhere"}, {"job"},
	} {
		if code, _, errs := runArgs(t, nil,
			append([]string{"daemon", "--state", t.TempDir()}, args...)...); code != cli.ExitUsage {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
	state := t.TempDir()
	put(t, state, "daemon.sock", "mine")
	if code, _, errs := runArgs(t, nil, "daemon", "--state", state, "--jobs",
		t.TempDir()); code != cli.ExitError ||
		!strings.Contains(errs, "is no socket") {
		t.Errorf("%d %s", code, errs)
	}
}
