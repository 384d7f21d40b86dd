// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"strings"

	"mirrord/job"
	"mirrord/mirror/report"
)

// Choices are changes to a job for one run.
type Choices struct {
	Set  []string // KEY=VALUE of the job
	Full bool     // ask for every known URL, whatever evidence and policy would spare
	Now  bool     // do not wait for the window; with Full, nor for a host that asked to wait, if it answers well
	Only []string // URLs of the job, or references from its entry point: request only these; none: all
}

// Apply changes a job, and checks what Set leaves of it. The error is of type job.Errors.
func (c Choices) Apply(j *job.Job) error {
	if err := applySets(j, c.Set); err != nil {
		return err
	}
	if c.Full {
		j.AskAll()
	}
	if c.Now {
		j.Window = ""
	}
	j.Insist = c.Full && c.Now
	return c.only(j)
}

// only makes a run of the job one for the URLs of Only.
func (c Choices) only(j *job.Job) error {
	if len(c.Only) == 0 {
		return nil
	}
	if c.Full {
		return Usagef("a full run is not for single URLs: choose one of the two")
	}
	only, err := report.Named(j, c.Only)
	if _, is := errors.AsType[*report.NotMirroredError](err); is {
		return &Error{Kind: Usage, Err: fmt.Errorf("job %s: %w", j.Name, err)}
	}
	j.Only = only
	return err
}

// applySets applies assignments KEY=VALUE and checks the job that they leave. The error is a job.Errors.
func applySets(j *job.Job, set []string) error {
	var all job.Errors
	for _, kv := range set {
		key, value, ok := cutAssign(kv)
		if !ok {
			all = append(all, job.Error{
				File: job.SetSource,
				Msg:  fmt.Sprintf("%q sets nothing", kv),
				Hint: "write KEY=VALUE",
			})
			continue
		}
		if strings.HasPrefix(key, job.HookPrefix) {
			all = append(all, job.Error{
				File: job.SetSource,
				Key:  key,
				Msg:  fmt.Sprintf("%s names a command, which only a job file may do", key),
				Hint: "write it into the job's file",
			})
			continue
		}
		all = append(all, asErrors(j.Set(key, value))...)
	}
	if len(all) > 0 {
		return all
	}
	return j.Validate()
}

func cutAssign(s string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(s, "=")
	return strings.TrimSpace(key), strings.TrimSpace(value), ok && strings.TrimSpace(key) != ""
}

// asErrors returns the single errors of what package job returned.
func asErrors(err error) job.Errors {
	var es job.Errors
	if errors.As(err, &es) {
		return es
	}
	if err != nil {
		return job.Errors{{Msg: err.Error()}}
	}
	return nil
}
