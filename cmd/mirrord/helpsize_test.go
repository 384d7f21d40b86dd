// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mirrord/cmd/mirrord/cli"
	"mirrord/docs"
)

// Help fits on a screen: at most 250 words for each command, 400 for the list of all commands; 80 columns.
// Each value has a name in capitals, as JOB.
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
		for line := range strings.Lines(text.String()) {
			if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > cli.HelpWidth {
				t.Errorf("%s --help has a line of more than %d characters: %s", c.CommandPath(), cli.HelpWidth, line)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name, _ := pflag.UnquoteUsage(f)
			if !f.Hidden && f.NoOptDefVal == "" && (name == "" || strings.ToUpper(name) != name) {
				t.Errorf("%s --%s: its value is %q, which is no name", c.CommandPath(), f.Name, name)
			}
		})
		for _, below := range c.Commands() {
			look(below)
		}
	}
	look(root)
	if n < 30 {
		t.Errorf("only %d commands", n)
	}
}

// The guide is in the help, without marks of Markdown, and broken at blanks as the help is. A command of the
// name of a page comes before it.
func TestHelpTopics(t *testing.T) {
	help := func(args ...string) string {
		var text bytes.Buffer
		root := rootCommand(new(cli.CLI))
		root.SetOut(&text)
		root.SetArgs(append([]string{"help"}, args...))
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	for _, page := range docs.Contents() {
		got := help(page)
		if !strings.Contains(got, "# "+docs.Title(page)+"\n") || strings.Contains(got, "](") {
			t.Errorf("help %s:\n%s", page, got)
		}
		if !strings.Contains(help("help"), "  "+page+"  ") {
			t.Errorf("help help does not list %s", page)
		}
	}
	if got := help("serve"); !strings.HasPrefix(got, "Serve the published version") {
		t.Errorf("help serve:\n%s", got)
	}
	if got := help("which-command"); !strings.Contains(got, "\n- see what changed: mirrord diff JOB\n") {
		t.Errorf("help which-command:\n%s", got)
	}
	if code, _, errs := runArgs(t, nil, "help", "nosuch"); code != cli.ExitUsage ||
		!strings.Contains(errs, "unknown command") {
		t.Errorf("help nosuch: %d, %s", code, errs)
	}
}

// Lines are broken at blanks; lists and code keep their lines, and what follows a column stays below it.
func TestWrap(t *testing.T) {
	word := strings.Repeat("word ", 17)
	for _, tc := range [][2]string{
		{"a\nb\n\nc", "a b\n\nc"},
		{word, strings.TrimSpace(word[:80]) + "\nword"},
		{"  x  " + word, "  x  " + strings.TrimSpace(word[:75]) + "\n     word word"},
		{"- " + word, "- " + strings.TrimSpace(word[:75]) + "\n  word word"},
		{"list:\n- a\n- b\n  mirrord x", "list:\n- a\n- b\n  mirrord x"},
		{strings.Repeat("x", 90), strings.Repeat("x", 90)},
	} {
		if got := cli.Wrap(tc[0]); strings.TrimSpace(got) != strings.TrimSpace(tc[1]) {
			t.Errorf("%q:\n%s\nwant\n%s", tc[0], got, tc[1])
		}
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
