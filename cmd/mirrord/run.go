// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/cmd/mirrord/cli"
	"mirrord/fetch"
	"mirrord/internal/regular"
	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
)

func environment() cli.Environ {
	onTerminal := func(f *os.File) bool { _, ok := cli.TerminalOf(f); return ok }
	columns := func(f *os.File) func() int { return func() int { n, _ := cli.TerminalOf(f); return n } }
	e := cli.Environ{
		Stdin:     os.Stdin,
		Stdout:    os.Stdout,
		Stderr:    os.Stderr,
		LookupEnv: os.LookupEnv,
		Network:   fetch.System(), // one for all runs of the process: it remembers names
		Screen: cli.Screen{
			Drawn:   onTerminal(os.Stderr) && os.Getenv("TERM") != "dumb",
			Columns: columns(os.Stderr),
			Color:   cli.ColorsWanted(os.LookupEnv),
		},
		Ascii: cli.AsciiLocale(os.LookupEnv),
		Asks:  onTerminal(os.Stderr) && onTerminal(os.Stdin),
		Root:  os.Geteuid() == 0,
	}
	if onTerminal(os.Stdout) {
		e.Table = columns(os.Stdout)
	}
	return e
}

// exitCode is the exit code of an error. It is the one place where errors become exit codes.
func exitCode(err error, started bool) int {
	var known *env.Error
	var invalid job.Errors
	switch {
	case err == nil:
		return cli.ExitOK
	case errors.As(err, &known):
		return map[env.Kind]int{
			env.Failed:     cli.ExitError,
			env.Usage:      cli.ExitUsage,
			env.Partial:    cli.ExitPartial,
			env.Suspicious: cli.ExitSuspicious,
			env.Locked:     cli.ExitLocked,
			env.Gaps:       cli.ExitGaps,
		}[known.Kind]
	case errors.Is(err, disk.ErrLocked), errors.Is(err, db.ErrBusy):
		return cli.ExitLocked
	case errors.As(err, &invalid), !started: // cobra found fault before any command began
		return cli.ExitUsage
	}
	return cli.ExitError
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, e cli.Environ, args []string) int {
	e.Stdin = regular.UntilReader(ctx, e.Stdin)
	out := &output{Writer: e.Stdout}
	e.Stdout = out
	a := &cli.CLI{Environ: e}
	a.ReplaceForTerminals()
	e = a.Environ
	root := rootCommand(a)
	root.SetArgs(args)
	root.SetIn(e.Stdin)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = unknownBelow(cmd)
	}
	if out.broken.Load() && !slices.Contains([]string{"daemon", "serve"}, cmd.Name()) {
		return exitBroken
	}
	code := exitCode(err, a.Started)
	if code == cli.ExitError {
		err = unknownJob(a, cmd, err)
		code = exitCode(err, true)
	}
	if a.Started && !errors.Is(err, home.ErrNoSite) && readsMirrors(cmd) {
		for _, name := range cmd.Flags().Args() {
			if note := env.NewerElsewhere(ctx, a.App(), name); job.ValidName(name) && note != "" {
				fmt.Fprintf(e.Stderr, "mirrord: %s\n", note)
			}
		}
	}
	var said *env.Error
	if err == nil || (errors.As(err, &said) && said.Err == nil) {
		return code
	}
	var invalid job.Errors
	if errors.As(err, &invalid) {
		fmt.Fprintln(e.Stderr, withSetFlag(invalid))
		return code
	}
	if errors.Is(err, home.ErrNoSite) {
		for _, name := range args[1:] {
			if job.ValidName(name) {
				err = cmp.Or(env.Elsewhere(ctx, a.App(), name), err)
			}
		}
	}
	fmt.Fprintf(e.Stderr, "mirrord: %s\n", withFlag(a.App().NotYours(err)))
	if code == cli.ExitUsage && !a.Started {
		fmt.Fprintln(e.Stderr, "mirrord help lists the commands, mirrord COMMAND --help explains one")
	}
	return code
}

// unknownJob returns the error of a command that failed because neither a job nor a mirror, nor a file where
// the command takes one, has a name that it was given; else err.
func unknownJob(a *cli.CLI, cmd *cobra.Command, err error) error {
	takes, _, _ := strings.Cut(strings.TrimPrefix(cmd.Use, cmd.Name()+" "), " ")
	if !a.Started || cmd.Parent() != cmd.Root() || !strings.Contains(takes, "JOB") ||
		strings.Contains(takes, "DIR") { // which is no job unless flags say so
		return err
	}
	names := cmd.Flags().Args()
	if !strings.Contains(takes, "…") {
		names = names[:min(len(names), 1)]
	}
	for _, name := range names {
		if bare := strings.TrimSuffix(name, scheduler.Suffix); !job.ValidName(bare) || env.IsFile(a.App(), name) {
			continue
		}
		known := env.KnownJob(a.App(), name)
		if known == nil {
			continue
		}
		if strings.Contains(cmd.Use, "FILE") || strings.Contains(takes, "PATH") {
			known = env.Usagef("there is no file %s, and %w", name, known)
		}
		if f := env.FieldOf(err); f == env.FieldState { // maybe another state is meant
			known = &env.Error{
				Kind:  env.Usage,
				Field: f,
				Err:   fmt.Errorf("%w: %w", known, err),
			}
		}
		return known
	}
	return err
}

// exitBroken is how shells show the end by SIGPIPE.
const exitBroken = 128 + int(syscall.SIGPIPE)

// output notes that the reader of the standard output has ended, as in "mirrord find WORD | head".
type output struct {
	io.Writer
	broken atomic.Bool
}

func (w *output) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		w.broken.Store(true)
	}
	return n, err
}

// readsMirrors reports whether a command shows what a mirror on this machine has.
func readsMirrors(c *cobra.Command) bool {
	if c.Name() == "status" {
		return c.Flags().Changed("versions")
	}
	return slices.Contains([]string{
		"versions", "diff", "explain", "export", "verify", "evolution", "rules", "plan", "replay", "tune",
	}, c.Name())
}

// withFlag returns the text of an error with the flag that sets what it is about.
func withFlag(err error) string {
	text := env.Remedied(err)
	switch env.FieldOf(err) {
	case env.FieldState:
		return text + ": set --state, or run a job first"
	case env.FieldJobs:
		return text + ": create it or set --jobs"
	case env.FieldImported:
		return text + "; choose another name with --as"
	case env.FieldVersion:
		return text + "; mirrord status JOB --versions lists them"
	case env.FieldReason:
		return text + ": set --reason"
	case env.FieldDamaged:
		return text + "; --lenient leaves out damaged files"
	case env.FieldFormat, env.FieldMask, env.FieldSince, env.FieldURL:
		return "--" + text
	}
	return text
}

// withSetFlag names the flag in errors of its arguments.
func withSetFlag(es job.Errors) job.Errors {
	es = slices.Clone(es)
	for i := range es {
		if es[i].File == job.SetSource {
			es[i].File = "--set"
		}
	}
	return es
}
