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
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/env"
	"mirrord/fetch"
	"mirrord/internal/regular"
	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/store"
)

// Exit codes: a contract with scripts, see docs/jobs.md and mirrord help.
const (
	exitOK         = 0 // complete and published, or nothing to do
	exitError      = 1
	exitUsage      = 2 // wrong usage or invalid job file
	exitPartial    = 3 // can be resumed
	exitSuspicious = 4 // waits for accept
	exitLocked     = 5 // another process works on it
	exitGaps       = 6 // published, but a part that could not be had is new
)

// env is the process's contact with the world, passed in so that run can be tested.
type environ struct {
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	lookupEnv func(string) (string, bool)
	network   fetch.Network    // that sites are reached by; nil is the system's
	clock     func() time.Time // of states and runs; nil is the system's
	screen    screen           // the terminal on stderr
	table     func() int       // how wide the terminal on stdout is, 0 when it does not say; nil is no terminal
	root      bool             // runs as the superuser
	under     string           // where the directories of the system lie; "" is the root directory
	asks      bool             // somebody sits there: questions may be asked on stderr and answered on stdin
	ascii     bool             // terminals show ASCII only
}

func environment() environ {
	onTerminal := func(f *os.File) bool { _, ok := terminalOf(f); return ok }
	columns := func(f *os.File) func() int { return func() int { n, _ := terminalOf(f); return n } }
	e := environ{
		stdin:     os.Stdin,
		stdout:    os.Stdout,
		stderr:    os.Stderr,
		lookupEnv: os.LookupEnv,
		network:   fetch.System(), // one for all runs of the process: it remembers names
		screen: screen{
			drawn:   onTerminal(os.Stderr) && os.Getenv("TERM") != "dumb",
			columns: columns(os.Stderr),
			color:   colorsWanted(os.LookupEnv),
		},
		ascii: asciiLocale(os.LookupEnv),
		asks:  onTerminal(os.Stderr) && onTerminal(os.Stdin),
		root:  os.Geteuid() == 0,
	}
	if onTerminal(os.Stdout) {
		e.table = columns(os.Stdout)
	}
	return e
}

// exitCode is the exit code of an error. It is the one place where errors become exit codes.
func exitCode(err error, started bool) int {
	var known *env.Error
	var invalid job.Errors
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &known):
		return map[env.Kind]int{
			env.Failed:     exitError,
			env.Usage:      exitUsage,
			env.Partial:    exitPartial,
			env.Suspicious: exitSuspicious,
			env.Locked:     exitLocked,
			env.Gaps:       exitGaps,
		}[known.Kind]
	case errors.Is(err, store.ErrLocked), errors.Is(err, store.ErrBusy):
		return exitLocked
	case errors.As(err, &invalid), !started: // cobra found fault before any command began
		return exitUsage
	}
	return exitError
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, e environ, args []string) int {
	e.stdin = regular.UntilReader(ctx, e.stdin)
	out := &output{Writer: e.stdout}
	e.stdout = out
	a := &cli{environ: e}
	a.replaceForTerminals()
	e = a.environ
	root := rootCommand(a)
	root.SetArgs(args)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = unknownBelow(cmd)
	}
	if out.broken.Load() && !slices.Contains([]string{"daemon", "serve"}, cmd.Name()) {
		return exitBroken
	}
	code := exitCode(err, a.started)
	if code == exitError {
		err = unknownJob(a, cmd, err)
		code = exitCode(err, true)
	}
	if a.started && !errors.Is(err, store.ErrNoSite) && readsMirrors(cmd.Name()) {
		for _, name := range cmd.Flags().Args() {
			if note := env.NewerElsewhere(ctx, a.app(), name); job.ValidName(name) && note != "" {
				fmt.Fprintf(e.stderr, "mirrord: %s\n", note)
			}
		}
	}
	var said *env.Error
	if err == nil || (errors.As(err, &said) && said.Err == nil) {
		return code
	}
	var invalid job.Errors
	if errors.As(err, &invalid) {
		fmt.Fprintln(e.stderr, withSetFlag(invalid))
		return code
	}
	if errors.Is(err, store.ErrNoSite) {
		for _, name := range args[1:] {
			if job.ValidName(name) {
				err = cmp.Or(env.Elsewhere(ctx, a.app(), name), err)
			}
		}
	}
	fmt.Fprintf(e.stderr, "mirrord: %s\n", withFlag(a.app().NotYours(err)))
	if code == exitUsage && !a.started {
		fmt.Fprintln(e.stderr, "mirrord help lists the commands, mirrord COMMAND --help explains one")
	}
	return code
}

// unknownJob returns the error of a command that failed because neither a job nor a mirror, nor a file where
// the command takes one, has a name that it was given; else err.
func unknownJob(a *cli, cmd *cobra.Command, err error) error {
	takes, _, _ := strings.Cut(strings.TrimPrefix(cmd.Use, cmd.Name()+" "), " ")
	if !a.started || cmd.Parent() != cmd.Root() || !strings.Contains(takes, "JOB") ||
		strings.Contains(takes, "DIR") { // which is no job unless flags say so
		return err
	}
	names := cmd.Flags().Args()
	if !strings.Contains(takes, "…") {
		names = names[:min(len(names), 1)]
	}
	for _, name := range names {
		if bare := strings.TrimSuffix(name, scheduler.Suffix); !job.ValidName(bare) || env.IsFile(a.app(), name) {
			continue
		}
		known := env.KnownJob(a.app(), name)
		if known == nil {
			continue
		}
		if strings.Contains(cmd.Use, "FILE") || strings.Contains(takes, "PATH") {
			known = &env.Error{Kind: env.Usage, Err: fmt.Errorf("there is no file %s, and %w", name, known)}
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
func readsMirrors(command string) bool {
	return slices.Contains([]string{
		"versions", "diff", "explain", "export", "verify", "evolution", "rules", "plan", "replay", "tune",
	}, command)
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
	case env.FieldReason:
		return text + ": set --reason"
	case env.FieldDamaged:
		return text + "; --lenient leaves out what is damaged"
	case env.FieldFormat, env.FieldMask, env.FieldSince, env.FieldURL:
		return "--" + text
	}
	return text
}

// withSetFlag names the flag in what is wrong with its arguments.
func withSetFlag(es job.Errors) job.Errors {
	es = slices.Clone(es)
	for i := range es {
		if es[i].File == job.SetSource {
			es[i].File = "--set"
		}
	}
	return es
}
