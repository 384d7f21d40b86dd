// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
	"mirrord/job"
)

var update = flag.Bool("update", false, "rewrite docs/daemon.md")

const daemonDoc = "../../../docs/daemon.md"

// settingsReference renders the keys of daemon.toml as Markdown.
func settingsReference() string {
	var b strings.Builder
	b.WriteString("# Settings of the daemon\n\n`mirrord daemon` reads `daemon.toml` beside the jobs directory " +
		"(`/etc/mirrord/daemon.toml`), or the file that `--config` names. It is TOML, as job files are, and need " +
		"not exist. A flag wins over a key. `mirrord daemon reload` and SIGHUP read it again: keys marked with * " +
		"are in force then, all others when the daemon starts again. A key with a flag of the command line names " +
		"it.\n")
	f := defaultDaemonFlags()
	last := "-"
	for _, s := range f.settings() {
		if s.Name == "" {
			continue
		}
		table, leaf := s.Table()
		if table != last {
			title := "Top level"
			if table != "" {
				title = "[" + table + "]"
			}
			fmt.Fprintf(&b, "\n## %s\n\n| key | what | example |\n| --- | --- | --- |\n", title)
			last = table
		}
		mark := ""
		if s.Live {
			mark = " *"
		}
		doc := s.Doc
		if s.Stays || slices.Contains(shownFlags(), s.Flag) {
			doc += " `--" + s.Flag + "`"
		}
		fmt.Fprintf(&b, "| `%s`%s | %s | `%s` |\n", leaf, mark, doc, s.Example)
	}
	return b.String()
}

func TestSettingsReference(t *testing.T) {
	want := settingsReference()
	if *update {
		if err := os.WriteFile(daemonDoc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(daemonDoc); err != nil || string(got) != want {
		t.Errorf("%s is not what config.go says: go test ./cmd/mirrord/daemon -run SettingsReference -update (%v)",
			daemonDoc, err)
	}
}

// configure reads flags and the settings beside the jobs directory.
func configure(t *testing.T, text string, args ...string) (daemonFlags, *cobra.Command, *cli.CLI, error) {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, configName, text)
	a := &cli.CLI{JobsFlag: filepath.Join(dir, "jobs.d")}
	var f daemonFlags
	cmd := commandOf(a, &f)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	g, err := f.configured(a, cmd.Flags())
	return g, cmd, a, err
}

// Every flag of the daemon is a key or old; each key takes its example, and a flag wins.
func TestSettings(t *testing.T) {
	none := defaultDaemonFlags()
	var text strings.Builder
	table := ""
	flags := shownFlags()
	for _, s := range none.settings() {
		flags = append(flags, s.Flag)
		if s.Name == "" {
			continue
		}
		in, leaf := s.Table()
		if in != table {
			fmt.Fprintf(&text, "[%s]\n", in)
			table = in
		}
		fmt.Fprintf(&text, "%s = %s\n", leaf, s.Example)
	}
	all, cmd, _, err := configure(t, text.String())
	if err != nil {
		t.Fatal(err)
	}
	live, others := all.changedFrom(&none)
	for _, s := range none.settings() {
		if s.Name != "" && !slices.Contains(slices.Concat(live, others), s.Name) {
			t.Errorf("%s = %s changes nothing", s.Name, s.Example)
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !slices.Contains(flags, f.Name) {
			t.Errorf("--%s is no key of %s", f.Name, configName)
		}
	})

	const some = "max_runs = 7\nscrub = \"90d\"\n[mail]\nvia = \"smtp://a\"\nfrom = \"a@b.org\"\n"
	g, _, _, err := configure(t, some,
		"--mail", "smtp://b", "--scrub", "10d")
	if err != nil || g.maxRuns != 7 || g.mail != "smtp://b" || g.from != "a@b.org" ||
		g.scrub != 10*24*time.Hour || g.gc != none.gc {
		t.Errorf("%+v, %v", g, err)
	}
}

// isUsage reports whether an error is one of usage.
func isUsage(err error) bool {
	known, ok := errors.AsType[*env.Error](err)
	return ok && known.Kind == env.Usage
}

// A file of settings has the errors of job files: file, line, hint.
func TestSettingsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"max_run = 3\n":                   `:1:1: unknown key "max_run"; did you mean "max_runs"?`,
		"max_runs = \"3\"\n":              `:1:1: max_runs wants a number, not a string; write max_runs = 8`,
		"[mail]\nhost = \"a\"\n":          `:2:1: unknown key "host"; host stands above the first [table]`,
		"[mial]\nvia = \"a\"\n":           `:1:2: unknown table "mial"; did you mean [mail]?`,
		"gc = 5\n":                        `:1:1: gc has no unit; write "5s" for seconds`,
		"listen =\n":                      `:1:9: `,
		"max_state = \"10M\"\n":           `:1:1: "10M" is not a size; write 10MB for powers of 1000`,
		"[console]\nhosts = \"a\"\nx=1\n": `:3:1: unknown key "x"; known here are listen, hosts, proxy`,
	} {
		_, _, _, err := configure(t, text)
		if err == nil || !isUsage(err) || !strings.Contains(err.Error(), configName+want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	a := &cli.CLI{JobsFlag: filepath.Join(t.TempDir(), "jobs.d")}
	f := defaultDaemonFlags()
	if _, err := f.configured(a, Command(a).Flags()); err != nil {
		t.Errorf("without a file: %v", err)
	}
	f.config = filepath.Join(t.TempDir(), "none.toml")
	if _, err := f.configured(a, Command(a).Flags()); err == nil || !isUsage(err) {
		t.Errorf("with a file that does not exist: %v", err)
	}
}

// A reload uses what can be used, says what cannot, and keeps all when the file is wrong.
func TestSettingsAreReadAgain(t *testing.T) {
	f, cmd, a, err := configure(t, "max_runs = 2\n[mail]\nvia = \"smtp://a\"\n")
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	var used []daemonFlags
	again := f.rereads(a, cmd.Flags(), slog.New(slog.NewTextHandler(&said, nil)), func(g daemonFlags) error {
		used = append(used, g)
		return nil
	})
	name, _ := f.configPath(a)
	for _, step := range []struct {
		text, says string
		used       int
	}{
		{"max_runs = 3\n[mail]\nvia = \"smtp://a\"\n", "max_runs", 0},
		{"max_runs = 3\nmax_state = \"1GB\"\n[mail]\nvia = \"smtp://b\"\n", "max_state mail.via", 1},
		{"max_runs = 3\nmax_state = \"1GB\"\n[mail]\nvia = \"smtp://b\"\n", "", 1},
	} {
		said.Reset()
		if err := os.WriteFile(name, []byte(step.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := again(); err != nil || len(used) != step.used || !strings.Contains(said.String(), step.says) ||
			(step.says == "") != (said.Len() == 0) {
			t.Errorf("%q: %v, %d, %s", step.text, err, len(used), said.String())
		}
	}
	if len(used) == 1 && (used[0].maxState != job.Size(1e9) || used[0].mail != "smtp://b") {
		t.Errorf("%+v", used[0])
	}
	if err := os.WriteFile(name, []byte("mail = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := again(); err == nil || len(used) != 1 {
		t.Errorf("%v, %d", err, len(used))
	}
}

// An old flag works, is not in the help, and the log says what to write.
func TestOldDaemonFlags(t *testing.T) {
	f, cmd, a, err := configure(t, "", "--mail", "smtp://b", "--poll", "1s", "--listen", ":0", "--keepers", "3")
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	f.warnOldFlags(a, cmd.Flags(), slog.New(slog.NewTextHandler(&said, nil)))
	if text := said.String(); !strings.Contains(text, "flag=--mail key=mail.via") ||
		!strings.Contains(text, "flag=--poll") || strings.Count(text, "\n") != 2 {
		t.Error(text)
	}
	if f.mail != "smtp://b" || f.poll != time.Second || f.listen != ":0" {
		t.Errorf("%+v", f)
	}
}

// The settings that the packages bring are settings.
func TestPackagedSettings(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("../../../packaging", "daemon.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if f, _, _, err := configure(t, string(text)); err != nil || f.mail != "smtp://localhost" {
		t.Errorf("%q, %v", f.mail, err)
	}
}
