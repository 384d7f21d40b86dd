package main

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mirrord/job"
	"mirrord/scheduler"
)

// checkResult is one file in the JSON output of check.
type checkResult struct {
	File   string       `json:"file"`
	Job    string       `json:"job,omitempty"`
	OK     bool         `json:"ok"`
	Errors []checkError `json:"errors"`
}

type checkError struct {
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func (a *app) checkCommand() *cobra.Command {
	var effective bool
	cmd := &cobra.Command{
		Use:   "check [FILE…]",
		Short: "Validate job files",
		Long: `Validate job files: every error with file, line, column and a hint. Without FILE all files of the jobs directory are checked, and whether they can go
together: what the daemon would refuse is refused here for the same reason. A FILE is held against the jobs directory for what it reuses.
Nothing is asked of any site. Exit code 1 when a file is invalid.`,
		RunE: func(_ *cobra.Command, args []string) error { return a.check(args, effective) },
	}
	cmd.Flags().BoolVar(&effective, "effective", false, "print the whole configuration of each valid file, defaults included")
	return cmd
}

func (a *app) check(args []string, effective bool) error {
	files, err := a.checkFiles(args)
	if err != nil {
		return err
	}
	results, failed := make([]checkResult, 0, len(files)), 0
	for _, f := range files {
		j, err := f.Job, f.Err
		r := checkResult{File: f.Path, OK: err == nil, Errors: checkErrors(err)}
		if err != nil {
			failed++
		}
		if j != nil {
			r.Job = j.Name
		}
		results = append(results, r)
		if a.json {
			continue
		}
		var invalid job.Errors
		switch {
		case errors.As(err, &invalid):
			a.printf("%s\n", invalid)
		case err != nil:
			a.printf("%s: %s\n", f.Path, strings.TrimPrefix(err.Error(), f.Path+": "))
		case effective:
			a.printf("# %s\n%s\n", f.Path, j.Effective())
		default:
			a.printf("%s: ok\n", f.Path)
		}
	}
	if a.json {
		if err := a.printJSON(results); err != nil {
			return err
		}
	} else if len(files) == 0 {
		a.printf("no job files in %s\n", a.jobsDir())
	}
	if failed > 0 {
		return &exitErr{code: exitError}
	}
	return nil
}

// checkFiles reads the arguments: files as they are, directories as a daemon would read them, so that two jobs which cannot go together are found too.
func (a *app) checkFiles(args []string) ([]scheduler.File, error) {
	if len(args) == 0 {
		return checkDir(a.jobsDir())
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
		if f.Job, f.Err = readJob(arg); f.Err == nil && f.Job.Reuse.Job != "" {
			if f.Err = checkReuse(f, a.jobsDir()); f.Err != nil {
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

func checkErrors(err error) []checkError {
	out := []checkError{}
	var invalid job.Errors
	if errors.As(err, &invalid) {
		for _, e := range invalid {
			out = append(out, checkError{Line: e.Line, Column: e.Col, Key: e.Key, Message: e.Msg, Hint: e.Hint})
		}
	} else if err != nil {
		out = append(out, checkError{Message: err.Error()})
	}
	return out
}
