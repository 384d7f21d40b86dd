// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mirrord/cmd/mirrord/cli"
)

// Help fits on a screen: at most 250 words for each command, 400 for the list of all commands.
func TestHelpIsShort(t *testing.T) {
	root := rootCommand(new(cli.CLI))
	root.InitDefaultCompletionCmd()
	n := 0
	var look func(*cobra.Command)
	look = func(c *cobra.Command) {
		n++
		var text bytes.Buffer
		c.SetOut(&text)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		most := 250
		if c == root {
			most = 400
		}
		if words := len(strings.Fields(text.String())); words > most {
			t.Errorf("%s --help has %d words; write details into docs/", c.CommandPath(), words)
		}
		for _, below := range c.Commands() {
			look(below)
		}
	}
	look(root)
	if n < 30 {
		t.Errorf("only %d commands", n)
	}
}

// Defaults read as people write them.
func TestHelpDefaults(t *testing.T) {
	for command, not := range map[string]string{"daemon": "m0s", "serve": "default []"} {
		var text bytes.Buffer
		root := rootCommand(new(cli.CLI))
		root.SetOut(&text)
		root.SetArgs([]string{command, "--help"})
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), "Flags:") || strings.Contains(text.String(), not) {
			t.Errorf("%s --help: %q", command, text.String())
		}
	}
}

// With too few or too many arguments a command says which it takes.
func TestArgumentsAreNamed(t *testing.T) {
	for args, want := range map[string]string{
		"get":                 "usage: mirrord get URL…",
		"explain":             "usage: mirrord explain JOB|FILE URL|PATH",
		"versions samba back": "usage: mirrord status JOB --versions",
		"cluster status a":    "usage: mirrord cluster status",
	} {
		code, out, errs := runArgs(t, nil, strings.Fields(args)...)
		if code != cli.ExitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	_, long, _ := runArgs(t, nil, "--version")
	if code, out, errs := runArgs(t, nil, "version"); code != cli.ExitOK || out != long || errs != "" {
		t.Errorf("version: exit code %d, %q, not %q\n%s", code, out, long, errs)
	}
}
