// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mirrord/cmd/mirrord/cli"
)

const commandsPage = "../../docs/commands.md"

// commandsReference renders the list of commands as Markdown, by the groups of the help.
func commandsReference() string {
	root := rootCommand(new(cli.CLI))
	var b strings.Builder
	b.WriteString(`# Commands

Made from the help of the program by ` + "`MIRRORD_UPDATE=1 go test ./cmd/mirrord -run CommandsPage`" + `.
` + "`mirrord COMMAND --help`" + ` and the manual pages (` + "`man mirrord-COMMAND`" + `) have the flags and examples.
`)
	cell := strings.NewReplacer("|", "\\|")
	var row func(c *cobra.Command)
	row = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		use := strings.TrimSuffix(c.UseLine(), " [flags]")
		fmt.Fprintf(&b, "| `%s` | %s |\n", cell.Replace(use), cell.Replace(c.Short))
		for _, below := range c.Commands() {
			row(below)
		}
	}
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, "\n## %s\n\n| command | does |\n| --- | --- |\n", strings.TrimSuffix(g.Title, ":"))
		for _, c := range root.Commands() {
			if c.GroupID == g.ID {
				row(c)
			}
		}
	}
	b.WriteString(`
## States

What ` + "`mirrord status`" + ` says of a job:

| state | means | what to do |
| --- | --- | --- |
| ok | up to date, also with resources accepted as missing | |
| new | it never ran | wait, or ` + "`mirrord run-now`" + ` |
| missing | published, but some resources are newly missing | ` + "`mirrord accept`" + ` when that is right |
| partial | something is left to request | the next run continues |
| stale | a part was not checked for longer than ` + "`notify.stale_after`" + ` | see why its runs fail |
| held for review | it would lose much | ` + "`mirrord diff --held`" + `, then ` + "`mirrord accept`" + ` |
| failed | the last run ended in an error | the message says what; ` + "`mirrord run-now`" + ` |
| invalid | its job file is refused | ` + "`mirrord check`" + ` |
| damaged, broken | files or its database are damaged; it cannot be read | ` + "`mirrord repair`" + ` |

Next to it stands what it does now: running, waiting (for its turn, a host, its window, space on the disk), paused.
`)
	return b.String()
}

// docs/commands.md is what the help says.
func TestCommandsPage(t *testing.T) {
	want := commandsReference()
	if n := strings.Count(want, "\n| `mirrord "); n < 25 {
		t.Fatalf("%d commands", n)
	}
	if os.Getenv("MIRRORD_UPDATE") != "" {
		if err := os.WriteFile(commandsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(commandsPage); err != nil || string(got) != want {
		t.Errorf("%s is not what the help says: run MIRRORD_UPDATE=1 go test ./cmd/mirrord -run CommandsPage: %v",
			commandsPage, err)
	}
}
