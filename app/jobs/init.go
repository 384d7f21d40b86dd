// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"mirrord/app/env"
	"mirrord/job"
	"mirrord/scheduler"
	"mirrord/scheduler/control"
)

// InitRequest asks for a new job file.
type InitRequest struct {
	URL      string
	Job      string // its name; "" is one made from the URL
	Schedule string // "" means only by hand
	Paused   bool   // of CreateJob: no run begins before the job is resumed
}

// NewJobFile is a job file that Init has written.
type NewJobFile struct {
	Job      string `json:"job"`
	File     string `json:"file"`
	Schedule string `json:"schedule,omitempty"`
	First    string `json:"first_run,omitempty"` // when its first run comes, such as "runs now"
}

// Init writes a commented job file into the jobs directory, which it makes when it is missing. The file is
// checked before it is there, as it will be read beside the other jobs. Nothing is overwritten.
func Init(a *env.App, r InitRequest) (*NewJobFile, error) {
	out, text, err := newJobText(a, r)
	if err != nil {
		return nil, err
	}
	if err := MayWriteJob(a, out, text); err != nil {
		return nil, err
	}
	return out, WriteNewJob(out, text)
}

// newJobText is the file that a request asks for, before it is written.
func newJobText(a *env.App, r InitRequest) (*NewJobFile, []byte, error) {
	j := job.Default(r.URL)
	j.Schedule = r.Schedule
	if err := j.Validate(); err != nil {
		return nil, nil, err
	}
	u := j.Seeds()[0]
	if r.Job == "" {
		r.Job = job.NameFor(u)
	}
	out, err := JobFileFor(a, r)
	if err != nil {
		return nil, nil, err
	}
	out.First = newFirstRuns(a).of(out.Job, j)
	return out, job.Template(u.String(), r.Schedule), nil
}

// JobFileFor is where the file of a new job lies.
func JobFileFor(a *env.App, r InitRequest) (*NewJobFile, error) {
	r.Job = strings.TrimSuffix(r.Job, scheduler.Suffix)
	if !job.ValidName(r.Job) {
		return nil, env.NotAName(r.Job)
	}
	return &NewJobFile{
		Job:      r.Job,
		File:     filepath.Join(NewJobDir(a), r.Job+scheduler.Suffix),
		Schedule: r.Schedule,
	}, nil
}

// NewJobDir is the directory of the file of a new job: the daemon's own one for the daemon, when it may not
// write the other one, as with the packages.
func NewJobDir(a *env.App) string {
	dirs := a.JobDirs()
	mayWrite := func(dir string) error { return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK, unix.AT_EACCESS) }
	err := mayWrite(dirs[0])
	closed := errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS)
	if closed && len(dirs) > 1 && mayWrite(filepath.Dir(dirs[1])) == nil {
		return dirs[1]
	}
	return dirs[0]
}

// ErrJobThere says that a name of a job is taken.
var ErrJobThere = errors.New("there is a job of that name already")

// NewJob writes a job file with this text into the jobs directory, as Init does.
func NewJob(a *env.App, name string, text []byte) (*NewJobFile, error) {
	if !job.ValidName(name) {
		return nil, env.NotAName(name)
	}
	out := &NewJobFile{Job: name, File: filepath.Join(NewJobDir(a), name+scheduler.Suffix)}
	if err := MayWriteJob(a, out, text); err != nil {
		return nil, err
	}
	err := WriteNewJob(out, text)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil, fmt.Errorf("%w: the daemon may not write job files into %s", err, a.Jobs)
	}
	return out, err
}

// MayWriteJob makes the jobs directory when it is missing, and returns why a new file cannot be written.
func MayWriteJob(a *env.App, f *NewJobFile, text []byte) error {
	if err := os.MkdirAll(a.Jobs, 0o755); err != nil {
		return fmt.Errorf("new job: %w", err)
	}
	if dir := filepath.Dir(f.File); !env.Exists(dir) { // the daemon's own
		if err := errors.Join(os.Mkdir(dir, 0o750), os.Chmod(dir, 0o750)); err != nil {
			return fmt.Errorf("new job: %w", err)
		}
	}
	if at := a.JobFile(f.Job); env.Exists(at) {
		return JobThere(f.Job, at)
	}
	return acceptedBeside(a.JobsDir(), f, text)
}

// JobThere says that a name of a job is taken.
func JobThere(name, file string) error {
	err := fmt.Errorf("there is a job %s already, from %s", name, file)
	return &env.Error{Field: env.FieldImported, Err: control.WithCode(err, ErrJobThere)}
}

// ErrBeside says that a new job cannot be beside those that are there.
var ErrBeside = errors.New("the other jobs are in the way")

// acceptedBeside returns why a daemon would refuse a new file beside the others of its directory.
func acceptedBeside(dir *scheduler.Dir, f *NewJobFile, text []byte) error {
	files, err := dir.Read()
	if err != nil {
		return err
	}
	j, err := job.Parse(f.Job, f.File, text)
	if err != nil {
		return err
	}
	last := scheduler.Resolve(files, nil) // existing jobs stay
	files = append(files, scheduler.File{
		Name: f.Job,
		Path: f.File,
		Text: text,
		Job:  j,
	})
	if e := scheduler.Resolve(files, last)[f.Job]; len(e.Refused) > 0 {
		return &env.Error{Err: control.WithCode(errors.New(strings.Join(e.Refused, "\n")), ErrBeside)}
	}
	return nil
}

// WriteNewJob writes a job file under a name that a daemon does not read, and gives it its own name when it
// is whole.
func WriteNewJob(f *NewJobFile, text []byte) error {
	err := WriteNewFile(f.File, text, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return JobThere(f.Job, f.File)
	}
	return err
}

// WriteNewFile writes beside a file that is not there, and gives it its name in one step.
func WriteNewFile(path string, text []byte, mode fs.FileMode) error {
	aside, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(aside.Name())
	_, err = aside.Write(text)
	err = errors.Join(err, aside.Chmod(mode), aside.Sync(), aside.Close())
	if err == nil {
		err = os.Link(aside.Name(), path)
	}
	return err
}
