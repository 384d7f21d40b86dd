// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"
	"strings"

	"mirrord/app/env"
	"mirrord/job"
)

// CreateJob writes a new job file for a user who may only change jobs, and has no account on the machine:
// one that Init would write, or, when text is not empty, that text. It writes nothing when problems come
// back, and overwrites nothing.
func CreateJob(a *env.App, r InitRequest, text []byte) (*NewJobFile, []JobFileError, error) {
	out, made, err := newJobFrom(a, r, text)
	if _, inFile := errors.AsType[job.Errors](err); inFile {
		return nil, checkErrors(err), nil
	}
	if err != nil {
		return nil, nil, err
	}
	j, err := job.Parse(out.Job, out.File, made)
	if err != nil {
		return nil, checkErrors(err), nil
	}
	bad := machineErrors(job.Default(), j, "make it on the machine: mirrord init, or "+out.File)
	if len(bad) > 0 {
		return nil, bad, nil
	}
	out.First = newFirstRuns(a).of(out.Job, j)
	err = MayWriteJob(a, out, made)
	if e, ok := errors.AsType[*env.Error](err); ok && e.Field == "" { // refused beside the other jobs
		return nil, checkErrors(errors.New(strings.TrimPrefix(e.Error(), out.File+": "))), nil
	}
	if err != nil {
		return nil, nil, err
	}
	return out, nil, WriteNewJob(out, made)
}

func newJobFrom(a *env.App, r InitRequest, text []byte) (*NewJobFile, []byte, error) {
	switch {
	case len(text) == 0:
		return newJobText(a, r)
	case r.URL != "" || r.Schedule != "":
		return nil, nil, env.Usagef("give a whole job file, or the URL and schedule of a new one, not both")
	case r.Job == "":
		return nil, nil, env.Usagef("a whole job file has no name in it; name the job beside it")
	case len(text) > job.MaxFile:
		return nil, nil, env.Usagef("the job file has %d bytes; at most %d", len(text), job.MaxFile)
	}
	out, err := JobFileFor(a, r)
	return out, text, err
}
