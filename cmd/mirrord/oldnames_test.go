// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"mirrord/cmd/mirrord/cli"
)

// Every command and flag of 7f94b91d is accepted, or its error says where in the laboratory it is.
func TestOldNames(t *testing.T) {
	text, err := os.ReadFile("testdata/oldnames.txt")
	if err != nil {
		t.Fatal(err)
	}
	commands, flags := 0, 0
	for line := range strings.Lines(string(text)) {
		path, names, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(path)[1:]
		root := rootCommand(new(cli.CLI))
		root.InitDefaultCompletionCmd()
		c, rest, err := root.Find(words)
		if err != nil || len(rest) > 0 {
			t.Errorf("%s: %v, %q", path, err, rest)
			continue
		}
		commands++
		c.InitDefaultHelpFlag()
		for _, flag := range strings.Fields(names) {
			flags++
			f := c.Flags().Lookup(strings.TrimPrefix(flag, "--"))
			if f == nil {
				f = root.PersistentFlags().Lookup(strings.TrimPrefix(flag, "--"))
			}
			if f == nil {
				t.Errorf("%s %s is gone", path, flag)
			}
		}
	}
	if commands < 60 || flags < 200 {
		t.Errorf("only %d commands with %d flags", commands, flags)
	}
}

// Old names work, and standard error says what to write.
func TestOldNamesAreNoted(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"health"}, "mirrord health is an old name and works; the command is mirrord daemon health"},
		{[]string{"daemon", "health"}, ""},
		{[]string{"rules", "x", "--together"}, "--together is an old flag and works; write --correlated"},
		{[]string{"find", "x", "--each"}, "--each is an old flag and works; --limit and --json give all results"},
		{[]string{"find", "x"}, ""},
		{[]string{"verify", "--repair", "x"}, "--repair is an old flag and works; write mirrord repair"},
		{[]string{"token", "list"}, "the command is mirrord console token"},
		{[]string{"versions", "x"}, "the command is mirrord status JOB --versions"},
		{[]string{"status", "x", "--versions"}, ""},
		{[]string{"get", "http://127.0.0.1:1/", "--set", "limits.max_stale=5"},
			`--set limits.max_stale is an old key and works; write limits.traps = "strict", "normal" or "off"`},
	} {
		_, _, errs := runArgs(t, nil, append(tc.args, "--state", t.TempDir(), "--jobs", t.TempDir())...)
		has := strings.Contains(errs, "mirrord: note:")
		if has != (tc.want != "") || !strings.Contains(errs, tc.want) {
			t.Errorf("%q: %s", tc.args, errs)
		}
	}
}

// The usage that an error about arguments has is that of today's command.
func TestOldNamesInUsage(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"apply x", "; usage: mirrord import OLD --delta DELTA\n"},
		{"versions", "; usage: mirrord status JOB --versions\n"},
		{"notify-test", "; usage: mirrord daemon notify JOB [flags]\n"},
		{"forget-address", "; usage: mirrord forget --address NAME… [flags]\n"},
		{"token add", "; usage: mirrord console token add NAME [flags]\n"},
		{"console token add", "; usage: mirrord console token add NAME [flags]\n"},
	} {
		code, _, errs := runArgs(t, nil, strings.Fields(tc.args)...)
		if code != cli.ExitUsage || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: exit code %d, %s", tc.args, code, errs)
		}
	}
}

// The list of commands has no old names, and each of them still has its help.
func TestOldNamesAreHidden(t *testing.T) {
	var out bytes.Buffer
	root := rootCommand(new(cli.CLI))
	root.SetOut(&out)
	if err := root.Help(); err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, c := range root.Commands() {
		if now := c.Annotations[cli.OldInstead]; now != "" {
			if strings.Contains(out.String(), "\n  "+c.Name()+" ") {
				t.Errorf("%s is in the list of commands", c.Name())
			}
			if d, _, err := root.Find(strings.Fields(now)[:1]); err != nil || d == root {
				t.Errorf("%s: there is no command %s", c.Name(), now)
			}
		}
		if c.IsAvailableCommand() && c.GroupID != "" {
			shown++
		}
	}
	if shown > mostCommands {
		t.Errorf("%d commands, more than %d", shown, mostCommands)
	}
}

// mostCommands only falls.
const mostCommands = 35

// Names that other programs have for a command work, are not listed, and say nothing of themselves.
func TestOtherNames(t *testing.T) {
	jobs, state := jobsFor(t, "http://127.0.0.1:1/"), t.TempDir()
	run := func(args ...string) (int, string, string) {
		return runArgs(t, nil, append(args, "--jobs", jobs, "--state", state)...)
	}
	_, want, said := run("status")
	for _, name := range []string{"ls", "list"} {
		if code, out, errs := run(name); code != cli.ExitOK || out != want || errs != said {
			t.Errorf("%s: %d, %q, %q, want %q", name, code, out, errs, want)
		}
	}
	for _, name := range []string{"sync", "update", "run"} {
		code, _, errs := run(name, "nosuch")
		if code != cli.ExitUsage || !strings.Contains(errs, `no job "nosuch"`) {
			t.Errorf("%s: %d, %s", name, code, errs)
		}
	}
	wantCode, _, said := run("status", "demo", "--runs", "20")
	if code, _, errs := run("logs", "demo"); code != wantCode || errs != said {
		t.Errorf("logs: %d, %q, want %q", code, errs, said)
	}
	if code, _, errs := run("logs"); code != cli.ExitUsage || strings.Contains(errs, "--") ||
		!strings.Contains(errs, "name a job") {
		t.Errorf("logs: %d, %q", code, errs)
	}
	if code, _, errs := run("rm", "demo", "--yes"); code != cli.ExitOK {
		t.Errorf("rm: %d, %s", code, errs)
	}
	if left, err := os.ReadDir(jobs); err != nil || len(left) != 0 {
		t.Errorf("rm left %v, %v", left, err)
	}
	_, help, _ := runArgs(t, nil, "--help")
	for _, name := range []string{"ls", "sync", "logs"} {
		if strings.Contains(help, "  "+name+" ") {
			t.Errorf("%s is listed:\n%s", name, help)
		}
	}
}
