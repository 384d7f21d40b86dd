// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"mirrord/job"
	"mirrord/scheduler/status"
)

// byCommand runs notify.command.
func (n *Notifier) byCommand(j *job.Job) []receiver {
	line := j.Notify.Command
	if line == "" {
		return nil
	}
	return []receiver{{
		name: commandName(line),
		key:  "command " + line,
		send: func(ctx context.Context, m status.Message) error { return command(ctx, n.Options, line, m) },
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
	child := Child{
		Args: []string{"/bin/sh", "-c", line},
		In:   in,
		Env: []string{"MIRRORD_JOB=" + m.Job.Name, "MIRRORD_KIND=" + string(m.Kind),
			"MIRRORD_STATE=" + string(m.Job.Health), "MIRRORD_SUBJECT=" + m.Subject},
		LookupEnv: o.LookupEnv,
	}
	text, err := child.Run(ctx)
	if err != nil && text != "" {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}
