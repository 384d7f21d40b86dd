// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"mirrord/job"
	"mirrord/scheduler"
)

// CheckedFile is what Check says of one job file.
type CheckedFile struct {
	File   string         `json:"file"`
	Job    string         `json:"job,omitempty"`
	OK     bool           `json:"ok"`
	Errors []JobFileError `json:"errors"`

	Warnings []string `json:"warnings,omitempty"` // what will go wrong although the file is valid

	Parsed *job.Job `json:"-"` // nil unless OK
	Err    error    `json:"-"` // nil if OK; all of Errors in one
}

// JobFileError is one fault of a job file.
type JobFileError struct {
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Checked is what Check says of job files.
type Checked struct {
	Files      []CheckedFile
	Unresolved []string // host names that could not be resolved: whether these are private is unknown
}

// Check validates job files: those named, and what is in directories that are named; without names the jobs
// directory. It warns of private addresses that jobs may not reach, for which it asks the resolver if resolve
// is set, and makes no request to any site.
func Check(ctx context.Context, a *App, names []string, resolve bool) (*Checked, error) {
	files, err := checkFiles(a, names)
	if err != nil {
		return nil, err
	}
	warnings, unknown := checkReach(ctx, a, files, resolve)
	out := &Checked{Files: make([]CheckedFile, 0, len(files)), Unresolved: unknown}
	for _, f := range files {
		r := CheckedFile{
			File:   f.Path,
			OK:     f.Err == nil,
			Errors: checkErrors(f.Err),
			Parsed: f.Job,
			Err:    f.Err,
		}
		if f.Job != nil {
			r.Job, r.Warnings = f.Job.Name, warnings[f.Job]
			for _, e := range f.Job.Ignored {
				r.Warnings = append(r.Warnings, fmt.Sprintf("line %d: %s", e.Line, e.Msg))
			}
		}
		out.Files = append(out.Files, r)
	}
	return out, nil
}

// checkFiles reads the arguments: files as they are, directories as a daemon would read them, so that two
// jobs which cannot go together are found too.
func checkFiles(a *App, args []string) ([]scheduler.File, error) {
	if len(args) == 0 {
		return checkDir(a.Jobs)
	}
	var out []scheduler.File
	for _, arg := range args {
		fi, err := os.Stat(arg)
		if err == nil && fi.IsDir() {
			files, err := checkDir(arg)
			if err != nil {
				return nil, err
			}
			out = append(out, files...)
			continue
		}
		f := scheduler.File{Path: arg}
		if f.Job, f.Err = scheduler.ReadFile(arg); f.Err == nil && f.Job.Reuse.Job != "" {
			if f.Err = checkReuse(f, a.Jobs); f.Err != nil {
				f.Job = nil
			}
		}
		out = append(out, f)
	}
	return out, nil
}

// checkReuse looks for what a job reuses among the jobs that it would be beside.
func checkReuse(f scheduler.File, dir string) error {
	files, err := scheduler.NewDir(dir).Read()
	if err != nil {
		return nil // there is nothing to hold it against
	}
	f.Name = f.Job.Name
	files = slices.DeleteFunc(files, func(x scheduler.File) bool { return x.Name == f.Name })
	for _, why := range scheduler.Resolve(append(files, f), nil)[f.Name].Refused {
		if strings.Contains(why, ": reuse.") {
			return errors.New(why)
		}
	}
	return nil
}

func checkDir(dir string) ([]scheduler.File, error) {
	files, err := scheduler.NewDir(dir).Read()
	if err != nil {
		return nil, err
	}
	config := scheduler.Resolve(files, nil)
	for i := range files {
		f := &files[i]
		if e := config[f.Name]; f.Err == nil && len(e.Refused) > 0 {
			f.Job, f.Err = nil, errors.New(strings.Join(e.Refused, "; "))
		}
	}
	return files, nil
}

func checkErrors(err error) []JobFileError {
	out := []JobFileError{}
	var invalid job.Errors
	if errors.As(err, &invalid) {
		for _, e := range invalid {
			out = append(out, JobFileError{
				Line:    e.Line,
				Column:  e.Col,
				Key:     e.Key,
				Message: e.Msg,
				Hint:    e.Hint,
			})
		}
	} else if err != nil {
		out = append(out, JobFileError{Message: err.Error()})
	}
	return out
}
