// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"
	"fmt"
	"strings"

	"mirrord/app/env"
	"mirrord/job"
	"mirrord/mirror/report"
	"mirrord/scheduler/control"
)

// Apply changes a job for one run, and checks what Set leaves of it. The error is of type job.Errors.
func Apply(j *job.Job, r control.RunRequest) error {
	if err := applySets(j, r.Set); err != nil {
		return err
	}
	if r.Full {
		j.AskAll()
	}
	if r.Now {
		j.Window = ""
	}
	j.Insist = r.Full && r.Now
	if len(r.Only) == 0 {
		return nil
	}
	if r.Full {
		return env.Usagef("a full run is not for single URLs: choose one of the two")
	}
	only, err := report.Named(j, r.Only)
	if _, is := errors.AsType[*report.NotMirroredError](err); is {
		return env.Usagef("job %s: %w", j.Name, err)
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
