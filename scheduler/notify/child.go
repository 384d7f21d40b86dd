// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Child is a command that a user names. It runs in a process group of its own, with little of the
// environment.
type Child struct {
	Args []string // the program, and its arguments; no shell reads them
	Dir  string   // where it runs; "" is the root directory
	In   []byte   // its standard input
	Env  []string // NAME=VALUE, beside PATH, HOME, LANG, TZ and USER

	LookupEnv func(string) (string, bool) // where these come from; nil: nowhere
}

// Run runs the command and returns the beginning of what it wrote. When ctx ends it is killed, and in any
// case what it has started ends with it. An exit code other than 0 is an *exec.ExitError.
func (c Child) Run(ctx context.Context) (output string, err error) {
	var out bounded
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.In), &out, &out
	cmd.Dir = cmp.Or(c.Dir, "/")
	cmd.Env = append([]string{}, c.Env...)
	for _, k := range []string{"PATH", "HOME", "LANG", "TZ", "USER"} {
		if c.LookupEnv == nil {
			break
		}
		if v, ok := c.LookupEnv(k); ok {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // a grandchild that left the group may hold the pipes
	err = cmd.Run()
	if cmd.Process != nil {
		cmd.Cancel() // what it has left behind; usually nothing
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well, and what it left behind held its output
	}
	return out.String(), err
}

// bounded keeps the beginning of the text that is written to it.
type bounded struct{ kept []byte }

func (b *bounded) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(shown-len(b.kept), len(p))]...)
	return len(p), nil
}

func (b *bounded) String() string { return strings.TrimSpace(strings.ToValidUTF8(string(b.kept), "?")) }
