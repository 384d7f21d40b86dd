// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mirrord/cmd/mirrord/cli"
)

// withoutJob are the commands that take the name of a job, with a name that no job has.
func withoutJob() [][]string {
	return [][]string{
		{"accept", "nosuch"},
		{"cancel", "nosuch"},
		{"diff", "nosuch"},
		{"evolution", "nosuch"},
		{"explain", "nosuch", "http://x.example/"},
		{"export", "nosuch"},
		{"find", "--job", "nosuch", "words"},
		{"forget", "nosuch"},
		{"forget", "nosuch", "http://x.example/", "--reason", "r", "--yes"},
		{"gc", "nosuch"},
		{"pause", "nosuch"},
		{"plan", "nosuch"},
		{"plan", "nosuch", "--price"},
		{"remove", "nosuch", "--yes"},
		{"rename", "nosuch", "other"},
		{"replay", "nosuch"},
		{"replicas", "--verify", "nosuch"},
		{"resume", "nosuch"},
		{"rollback", "nosuch"},
		{"rules", "nosuch"},
		{"run-now", "nosuch"},
		{"serve", "nosuch"},
		{"status", "nosuch"},
		{"status", "nosuch", "--runs", "3"},
		{"tune", "nosuch", "--requests", "10"},
		{"verify", "nosuch"},
		{"verify", "nosuch", "--repair"}, // an old name
		{"repair", "nosuch"},
		{"repair", "nosuch", "--rebuild"},
		{"repair", "nosuch", "--drop-lost", "--yes"},
		{"verify", "nosuch", "--sample", "5%"},
		{"versions", "nosuch"},
		{"status", "nosuch", "--versions"},
		{"notify-test", "nosuch"},
		{"open", "nosuch"},
		{"list", "nosuch"},
		{"logs", "nosuch"},
		{"ls", "nosuch"},
		{"rm", "nosuch", "--yes"},
		{"run", "nosuch"},
		{"sync", "nosuch"},
		{"update", "nosuch"},
	}
}

// A name that no job has ends each command with exit code 2 and the name, with a daemon and without one.
func TestNoSuchJob(t *testing.T) {
	jobs, state := t.TempDir(), t.TempDir()
	put(t, jobs, "samba.toml", "url = \"http://x.example/\"\nwindow = \""+closedWindow()+"\"\n")
	walk := func(t *testing.T) {
		for _, args := range withoutJob() {
			code, out, said := runArgs(t, nil, append(args, "--jobs", jobs, "--state", state)...)
			if code != cli.ExitUsage || !strings.Contains(said, "nosuch") || out != "" {
				t.Errorf("%s: exit code %d\n%s%s", strings.Join(args, " "), code, out, said)
			}
		}
	}
	t.Run("no state", walk)
	d := startDaemon(t, jobs, state)
	t.Run("daemon", walk)
	d.stop(cli.ExitOK)
	t.Run("no daemon", walk)
	for _, c := range rootCommand(&cli.CLI{}).Commands() {
		named := slices.ContainsFunc(withoutJob(), func(args []string) bool { return args[0] == c.Name() })
		if takesJob(c) && !named {
			t.Errorf("%s is missing in the list", c.CommandPath())
		}
	}
}

// takesJob reports whether an argument of a command is the name of a job.
func takesJob(c *cobra.Command) bool { return strings.Contains(c.Use, "JOB") && c.Name() != "import" }
