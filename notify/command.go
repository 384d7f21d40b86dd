// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"mirrord/job"
	"mirrord/status"
)

// Command runs notify.command.
func (ways) Command() way {
	return way{key: "notify.command", place: 1, receivers: func(n *Notifier, j *job.Job) []receiver {
		line := j.Notify.Command
		if line == "" {
			return nil
		}
		return []receiver{{
			name: commandName(line),
			key:  "command " + line,
			send: func(ctx context.Context, m status.Message) error { return command(ctx, n.o, line, m) },
		}}
	}}
}

// commandName shows of a command what it runs: the rest of the line may have a secret in it.
func commandName(line string) string {
	first, more, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case strings.ContainsAny(first, "=;&|<>()$`\"'\\\n\t"):
		return "command"
	case more != "":
		return "command " + first + " …"
	}
	return "command " + first
}

// shown is how much of what a command wrote is kept for its error, in bytes.
const shown = 2000

// command runs a command of the shell with the message as JSON on its standard input, and what a short script
// needs in its environment. When it does not end in time it is killed, and in any case what it has started
// ends with it.
func command(ctx context.Context, o Options, line string, m status.Message) error {
	in, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var out bounded
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &out
	cmd.Dir = "/"
	cmd.Env = []string{"MIRRORD_JOB=" + m.Job.Name, "MIRRORD_KIND=" + string(m.Kind),
		"MIRRORD_STATE=" + string(m.Job.Health), "MIRRORD_SUBJECT=" + m.Subject}
	for _, k := range []string{"PATH", "HOME", "LANG", "TZ", "USER"} {
		if v, ok := o.LookupEnv(k); ok {
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
		return nil // it ended well, and what it left behind held its output
	}
	if err != nil {
		if text := out.String(); text != "" {
			return fmt.Errorf("%w: %s", err, text)
		}
		return err
	}
	return nil
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ kept []byte }

func (b *bounded) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(shown-len(b.kept), len(p))]...)
	return len(p), nil
}

func (b *bounded) String() string { return strings.TrimSpace(strings.ToValidUTF8(string(b.kept), "?")) }
