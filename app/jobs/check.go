// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mirrord/app/env"
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
	NotRead  bool     `json:"not_read,omitempty"` // the name is not that of a job file; Warnings says so
	// of a file of the jobs directory: when the first run of its job comes, such as "runs now"
	First string `json:"first_run,omitempty"`

	Parsed *job.Job `json:"-"` // nil unless OK
	Err    error    `json:"-"` // nil if OK; all of Errors in one
}

// Text lists the errors of the file, one a line, in the words of the daemon; "" when it is OK.
func (f *CheckedFile) Text() string {
	if f.Err == nil {
		return ""
	}
	if invalid, ok := errors.AsType[job.Errors](f.Err); ok {
		return invalid.Error()
	}
	return f.File + ": " + strings.TrimPrefix(f.Err.Error(), f.File+": ")
}

// JobFileError is one fault of a job file.
type JobFileError struct {
	Line    int    `json:"line,omitempty"` // from 1; 0 when the error has no place
	Column  int    `json:"column,omitempty"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // what to do
}

// Checked is what Check says of job files.
type Checked struct {
	Files      []CheckedFile
	Unresolved []string // host names that could not be resolved: whether these are private is unknown
	// the user as whom the daemon runs, when the caller is another one and could look with its own rights only
	NotAs string
}

// Check validates job files: those named, and those in directories that are named; without names the jobs
// directory. It warns of private addresses that jobs may not reach, for which it asks the resolver if resolve
// is set, and of files that leave a mirror because the rules of its job changed. It makes no request to any
// site.
func Check(ctx context.Context, a *env.App, names []string, resolve bool) (*Checked, error) {
	files, beside, err := checkFiles(a, names)
	if err != nil {
		return nil, err
	}
	warnings, unknown := checkReach(ctx, a, files, resolve)
	leaving := checkLeaving(a, files)
	out := &Checked{Files: make([]CheckedFile, 0, len(files)), Unresolved: unknown}
	daemon, looked := eyesOf(a), false
	first := newFirstRuns(a)
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
			if w := leaving[f.Job]; w != "" {
				r.Warnings = append(r.Warnings, w)
			}
			for _, e := range f.Job.Warnings {
				r.Warnings = append(r.Warnings, warningText(e))
			}
			r.Warnings = append(r.Warnings, MirrorWarnings(a, f.Job.Name)...)
			access := daemon.accessWarnings(f.Job)
			r.Warnings, looked = append(r.Warnings, access...), looked || len(access) > 0
			if why := beside[f.Path]; why != "" {
				r.Warnings = append(r.Warnings, why)
			} else if isOfJobs(a, f.Path) {
				r.First = first.of(r.Job, f.Job)
			}
		}
		out.Files = append(out.Files, r)
	}
	for _, dir := range checkedDirs(a, names) {
		out.Files = append(out.Files, notRead(dir)...)
	}
	if me := os.Geteuid(); looked && me != 0 && me != daemon.user.UID {
		out.NotAs = daemon.user.String()
	}
	return out, nil
}

// isOfJobs reports whether a file is in a directory of job files.
func isOfJobs(a *env.App, file string) bool {
	return slices.ContainsFunc(a.JobDirs(), func(dir string) bool { return scheduler.IsIn(dir, file) })
}

// checkedDirs are the directories that are checked as a whole.
func checkedDirs(a *env.App, names []string) []string {
	if len(names) == 0 {
		return []string{a.Jobs}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		fi, err := os.Stat(name)
		return err != nil || !fi.IsDir()
	})
}

// warningText is a warning of a job file as check prints it, behind the name of the file.
func warningText(e job.Error) string {
	e.File = ""
	return fmt.Sprintf("line %d: %s", e.Line, e.Error())
}

// checkFiles reads the arguments: files as they are, directories as a daemon would read them, so that two
// jobs which cannot go together are found too. beside says, by the path of a file, why it would be refused in
// the jobs directory.
func checkFiles(a *env.App, args []string) (files []scheduler.File, beside map[string]string, err error) {
	beside = map[string]string{}
	if len(args) == 0 {
		files, err = checkDir(a, a.JobsDir())
		return files, beside, err
	}
	for _, arg := range args {
		fi, err := os.Stat(arg)
		if of := fileOfJob(a, arg); errors.Is(err, fs.ErrNotExist) && (of != "") {
			arg = of
		}
		if err == nil && fi.IsDir() {
			in, err := checkDir(a, scheduler.NewDir(arg))
			if err != nil {
				return nil, nil, err
			}
			files = append(files, in...)
			continue
		}
		f := scheduler.File{Path: arg}
		if f.Job, f.Err = a.JobsDir().ReadFile(arg); f.Err == nil {
			f.Name = f.Job.Name
			switch why := refusedBeside(a, f); {
			case strings.Contains(why, ": reuse."):
				f.Job, f.Err = nil, errors.New(why)
			case why != "":
				beside[arg] = fmt.Sprintf("in %s it is refused: %s", a.Jobs, strings.TrimPrefix(why, arg+": "))
			}
		}
		files = append(files, f)
	}
	return files, beside, nil
}

// fileOfJob is the file in the jobs directory of the job of this name, "" if there is no such job.
func fileOfJob(a *env.App, name string) string {
	if !job.ValidName(name) {
		return ""
	}
	path := a.JobFile(name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// refusedBeside says why a job would be refused among those of the jobs directory, "" when it would not.
func refusedBeside(a *env.App, f scheduler.File) string {
	files, err := a.JobsDir().Read()
	if err != nil {
		return "" // there is nothing to hold it against
	}
	files = slices.DeleteFunc(files, func(x scheduler.File) bool { return x.Name == f.Name })
	return strings.Join(scheduler.Resolve(append(files, f), inForce(a))[f.Name].Refused, "; ")
}

// inForce is the configuration of the daemon of this state as it was last, nil when there was none. Of two
// jobs that cannot go together the one in force stays.
func inForce(a *env.App) scheduler.Config {
	st, ok, err := a.OpenState()
	if err != nil || !ok {
		return nil
	}
	defer st.Close()
	s, err := scheduler.New(scheduler.Options{Store: Records{Kept: st.Shared, Log: a.Log, ReadOnly: true}})
	if err != nil {
		a.Log.Debug("which jobs are in force is not known", "err", err)
		return nil
	}
	return s.Config()
}

func checkDir(a *env.App, dir *scheduler.Dir) ([]scheduler.File, error) {
	files, err := dir.Read()
	if err != nil {
		return nil, err
	}
	config := scheduler.Resolve(files, inForce(a))
	for i := range files {
		f := &files[i]
		isOther := func(why string) bool { return !strings.HasPrefix(why, f.Path+":") } // of its name
		why := slices.DeleteFunc(slices.Clone(config[f.Name].Refused), isOther)
		if f.Err == nil && len(why) > 0 {
			f.Job, f.Err = nil, errors.New(strings.Join(why, "; "))
		}
	}
	return files, nil
}

// notRead lists the files of a directory that look as if they were meant for job files, and are none by their
// names.
func notRead(dir string) (out []CheckedFile) {
	_, broken := scheduler.Profiles(dir)
	for _, err := range broken {
		out = append(out, CheckedFile{
			File:     scheduler.ProfilesDir(dir),
			OK:       true,
			NotRead:  true,
			Errors:   []JobFileError{},
			Warnings: []string{"left out: " + err.Error()},
		})
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // the error of the directory is reported already
	}
	for _, e := range entries {
		base := e.Name()
		aside := strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
		if e.IsDir() || aside || strings.HasSuffix(base, scheduler.Suffix) || strings.HasPrefix(base, "README") {
			continue
		}
		out = append(out, CheckedFile{
			File:     filepath.Join(dir, base),
			OK:       true,
			NotRead:  true,
			Errors:   []JobFileError{},
			Warnings: []string{"not read: a job file is named NAME" + scheduler.Suffix},
		})
	}
	return out
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
