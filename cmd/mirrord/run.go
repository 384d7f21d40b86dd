package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"mirrord/job"
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
)

// env is the process's contact with the world, passed in so that run can be tested.
type env struct {
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	lookupEnv func(string) (string, bool)
	terminal  bool // stderr is a terminal: progress may be drawn there
	root      bool // runs as the superuser
}

func environment() env {
	fi, err := os.Stderr.Stat()
	return env{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookupEnv: os.LookupEnv,
		terminal: err == nil && fi.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb",
		root:     os.Geteuid() == 0,
	}
}

// exitErr is an error with an exit code of its own. A nil err prints nothing: the command has said what there is to say.
type exitErr struct {
	code int
	err  error
}

func (e *exitErr) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitErr) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &exitErr{exitUsage, fmt.Errorf(format, args...)}
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, e env, args []string) int {
	a := &app{env: e}
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := exitError
	var coded *exitErr
	var invalid job.Errors
	switch {
	case errors.As(err, &coded):
		code = coded.code
		if coded.err == nil {
			return code
		}
	case errors.Is(err, store.ErrLocked):
		code = exitLocked
	case errors.As(err, &invalid), !a.started: // cobra found fault before any command began
		code = exitUsage
	}
	if errors.As(err, &invalid) {
		fmt.Fprintln(e.stderr, invalid)
		return code
	}
	fmt.Fprintf(e.stderr, "mirrord: %s\n", strings.TrimSpace(err.Error()))
	if code == exitUsage && !a.started {
		fmt.Fprintln(e.stderr, "mirrord help lists the commands, mirrord COMMAND --help explains one")
	}
	return code
}
