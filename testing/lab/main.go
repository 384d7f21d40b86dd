// SPDX-License-Identifier: Apache-2.0

// Command lab repeats what papers measured with the packages of mirrord: their experiments on recorded
// histories, their figures, their rules to the letter, and the checks against files of expected values.
// docs/replay.md and docs/engineering/replicas.md say what the figures mean.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/spf13/cobra"

	"mirrord/app/depots"
	"mirrord/app/env"
	"mirrord/internal/regular"
)

// lab is what its commands share.
type lab struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	jobs, state   string
	json, verbose bool
	started       bool // a command has begun: from here on an error is not one of usage
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := (&lab{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}).run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// run executes one command line, and returns 0, 1 for an error or 2 for wrong usage.
func (l *lab) run(ctx context.Context, args []string) int {
	l.stdin = regular.UntilReader(ctx, l.stdin)
	root := &cobra.Command{
		Use:               "lab",
		Short:             "Repeat what papers measured",
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRun:  func(*cobra.Command, []string) { l.started = true },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetArgs(args)
	root.SetOut(l.stdout)
	root.SetErr(l.stderr)
	f := root.PersistentFlags()
	f.StringVar(&l.jobs, "jobs", "jobs.d", "`DIR` of the job files")
	f.StringVar(&l.state, "state", "", "`DIR` of the mirrors (default $STATE_DIRECTORY)")
	f.BoolVar(&l.json, "json", false, "write the result as JSON")
	f.BoolVarP(&l.verbose, "verbose", "v", false, "log more")
	root.AddCommand(replayCommand(l), replicasCommand(l), planCommand(l), nearGoldenCommand(l),
		replicaGoldenCommand(l))
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(l.stderr, "lab: %v\n", err)
	var known *env.Error
	if !l.started || (errors.As(err, &known) && known.Kind == env.Usage) {
		return 2
	}
	return 1
}

// app is the application with the choices of this command line.
func (l *lab) app() *env.App {
	return &env.App{
		State:     l.stateDir,
		Jobs:      l.jobs,
		Log:       l.log(),
		LookupEnv: os.LookupEnv,
		AsOwner:   true,
		Away:      depots.LeftBehind,
		Warn:      func(line string) { fmt.Fprintln(l.stderr, line) },
	}
}

func (l *lab) stateDir() (string, error) {
	if l.state != "" {
		return l.state, nil
	}
	if d := os.Getenv("STATE_DIRECTORY"); d != "" {
		return filepath.SplitList(d)[0], nil
	}
	return "", env.Usagef("no state directory: set --state")
}

func (l *lab) log() *slog.Logger {
	level := slog.LevelWarn
	if l.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(l.stderr, &slog.HandlerOptions{Level: level}))
}

func (l *lab) printJSON(v any) error {
	enc := json.NewEncoder(l.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
