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
	j, bad, err := allowedJob(out, made, err)
	if len(bad) > 0 || err != nil {
		return nil, bad, err
	}
	err = MayWriteJob(a, out, made)
	if e, ok := errors.AsType[*env.Error](err); ok && e.Field == "" { // refused beside the other jobs
		return nil, checkErrors(errors.New(strings.TrimPrefix(e.Error(), out.File+": "))), nil
	}
	if err != nil {
		return nil, nil, err
	}
	if r.Paused { // before a daemon can read the file
		if _, err := SetPaused(a, out.Job, true); err != nil {
			return nil, nil, err
		}
	}
	out.First = newFirstRuns(a).of(out.Job, j)
	if err = WriteNewJob(out, made); err != nil && r.Paused {
		_, undone := SetPaused(a, out.Job, false)
		err = errors.Join(err, undone)
	}
	return out, nil, err
}

// PlannedJob is the job that CreateJob would write, for a preview. Nothing is written.
func PlannedJob(a *env.App, r InitRequest) (*job.Job, []JobFileError, error) {
	return allowedJob(newJobText(a, r))
}

// allowedJob is the job of a new file, or why a user without an account on the machine may not make it. err
// is that of the file.
func allowedJob(f *NewJobFile, text []byte, err error) (j *job.Job, _ []JobFileError, _ error) {
	if err == nil {
		j, err = job.Parse(f.Job, f.File, text)
	}
	if _, inFile := errors.AsType[job.Errors](err); inFile {
		return nil, checkErrors(err), nil
	}
	if err != nil {
		return nil, nil, err
	}
	bad := machineErrors(job.Default(), j, "make it on the machine: mirrord init, or "+f.File)
	for i := range bad {
		if bad[i].Key == "url" && !j.Auth.Given() {
			bad[i].Message = "a private address, which only users of the machine may mirror"
		}
	}
	return j, bad, nil
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
