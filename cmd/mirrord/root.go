// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"mirrord/app/depots"
	"mirrord/app/env"
	"mirrord/app/ops"
	"mirrord/internal/version"
)

// cli holds what all commands share: the environment and the global flags.
type cli struct {
	environ
	jobsFlag  string
	stateFlag string
	json      bool
	verbose   bool
	started   bool // a command has begun: from here on an error is not one of usage
}

func rootCommand(a *cli) *cobra.Command {
	root := &cobra.Command{
		Use:   "mirrord",
		Short: "Keep faithful, portable, browsable copies of web sites",
		Long: `mirrord keeps faithful, portable, browsable copies of web sites fresh.

A job is a file NAME.toml in the jobs directory (/etc/mirrord/jobs.d, else ./jobs.d). Mirrors lie in the state
directory: $STATE_DIRECTORY, else /var/lib/mirrord for root and beside /etc/mirrord/jobs.d, else mirrord in the user's
state directory.

Exit codes: 0 complete, or nothing to do; 1 error; 2 wrong usage, unknown job or invalid job file; 3 partial: run again to go on;
4 suspicious: see mirrord accept; 5 locked by another process; 6 published with new gaps: see mirrord status JOB.`,
		Version:       version.Text(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.ValidateFlagGroups(); err != nil { // cobra does so after this, and then it is no usage error
				return err
			}
			a.started = true
			noteOld(a.stderr, cmd)
			return nil
		},
	}
	root.SetVersionTemplate("mirrord {{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = false
	f := root.PersistentFlags()
	f.StringVar(&a.jobsFlag, "jobs", "", "`DIR` of the job files")
	f.StringVar(&a.stateFlag, "state", "", "`DIR` of the mirrors")
	f.BoolVar(&a.json, "json", false, "write the result as JSON")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "log more")
	for _, g := range commandGroups(a) {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.title
			describe(c)
		}
		root.AddCommand(g.commands...)
	}
	root.AddCommand(oldCommand(reloadCommand(a), "daemon reload"), oldCommand(healthCommand(a), "daemon health"),
		oldCommand(notifyTestCommand(a, "notify-test"), "daemon notify"),
		oldCommand(tokenCommand(a), "console token"),
		oldCommand(forgetAddressCommand(a), "forget --address"))
	root.AddCommand(replayCommand(a), movedCommand("near-golden"), movedCommand("replica-golden"), manCommand(a),
		versionCommand(a))
	nameUsage(root)
	root.SetHelpCommand(helpCommand())
	refuseUnknown(root)
	return root
}

// describe gives a command, and those below it, the sentence of its operation.
func describe(c *cobra.Command) {
	if o, is := ops.OfCommand(c.Name()); is && c.Short == "" {
		c.Short = o.Doc
	}
	for _, below := range c.Commands() {
		describe(below)
	}
}

// app is the application with the choices of this command line.
func (a *cli) app() *env.App {
	return &env.App{
		State:     a.stateDir,
		Jobs:      a.jobsDir(),
		JobsNamed: a.jobsFlag != "",
		Activates: a.systemSocket(),
		Log:       a.log(),
		LookupEnv: a.lookupEnv,
		Network:   a.network,
		Now:       a.clock,
		AsOwner:   true,
		Away:      depots.LeftBehind,
		Warn:      func(line string) { fmt.Fprintln(a.stderr, line) },
	}
}

// log returns the logger: text on standard error, warnings only unless verbose.
func (a *cli) log() *slog.Logger {
	level := slog.LevelWarn
	if a.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{
		Level:       level,
		ReplaceAttr: withoutEmpty,
	}))
}

// printJSON writes v as one indented JSON value.
func (a *cli) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// stateDir returns the state directory: --state, $STATE_DIRECTORY (systemd; the first of a list),
// /var/lib/mirrord for root and where the jobs are those of the system, else the user's state directory (XDG
// base directories).
func (a *cli) stateDir() (string, error) {
	if a.stateFlag != "" {
		return a.stateFlag, nil
	}
	if d, ok := a.lookupEnv("STATE_DIRECTORY"); ok && d != "" {
		return filepath.SplitList(d)[0], nil
	}
	if a.root {
		return a.under + systemState, nil
	}
	// The jobs of the system have their mirrors in the state of the system, whoever names them.
	if a.jobsFlag == "" && a.folder(systemJobs) && a.folder(systemState) {
		return a.under + systemState, nil
	}
	if d, ok := a.lookupEnv("XDG_STATE_HOME"); ok && filepath.IsAbs(d) {
		return filepath.Join(d, "mirrord"), nil
	}
	if home, ok := a.lookupEnv("HOME"); ok && home != "" {
		return filepath.Join(home, ".local", "state", "mirrord"), nil
	}
	return "", env.Usagef("no state directory: set --state")
}

// systemSocket is where systemd may listen for the daemon of the system, when its state and jobs are meant.
func (a *cli) systemSocket() string {
	if a.jobsDir() != a.under+systemJobs {
		return ""
	}
	if dir, err := a.stateDir(); err != nil || dir != a.under+systemState {
		return ""
	}
	return a.under + systemSocket
}

// jobsDir returns the directory of job files: --jobs, /etc/mirrord/jobs.d when it exists, else jobs.d.
func (a *cli) jobsDir() string {
	if a.jobsFlag != "" {
		return a.jobsFlag
	}
	if a.folder(systemJobs) {
		return a.under + systemJobs
	}
	return "jobs.d"
}

// The directories of a daemon that the packages start.
const (
	systemJobs  = "/etc/mirrord/jobs.d"
	systemState = "/var/lib/mirrord"
	// of packaging/mirrord.socket
	systemSocket = "/run/mirrord.sock"
)

func (a *cli) folder(path string) bool {
	fi, err := os.Stat(a.under + path)
	return err == nil && fi.IsDir()
}

func (a *cli) printf(format string, args ...any) { fmt.Fprintf(a.stdout, format, args...) }
