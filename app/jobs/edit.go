// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"mirrord/app/env"
	"mirrord/job"
	"mirrord/phm/diff"
	"mirrord/scheduler"
)

// JobText is a job file as it is on the disk.
type JobText struct {
	Job, File string
	Text      []byte
	Tag       string // tells this text from others
}

// JobEdit is a new text for a job file.
type JobEdit struct {
	Job  string
	Text []byte
	Tag  string // of the text that it was made from
}

// EditedJob is what a new text would do.
type EditedJob struct {
	Now      *JobText       // the file on the disk
	Moved    bool           // that is not what the new text was made from
	Errors   []JobFileError // why it is refused
	Warnings []string       // what will go wrong although it is not
	First    string         // when the first run of its job comes, such as "runs now"; "" when it has had one
	Diff     *diff.Page     // from the file on the disk to the new text

	text []byte // the new one as it is written
}

// ErrJobMoved says that another process has changed the job file.
var ErrJobMoved = errors.New("the job file was changed on the disk since it was shown")

// ReadJobText reads a job file that can be changed here, also one that is refused. One that is a symbolic
// link is an error.
func ReadJobText(a *env.App, name string) (*JobText, error) {
	if !job.ValidName(name) {
		return nil, env.NotAName(name)
	}
	t, err := ReadTextAt(a.JobFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		_, err = a.FindJob(name) // says which there are
	}
	if err != nil {
		return nil, err
	}
	t.Job = name
	return t, nil
}

// ReadTextAt is ReadJobText for any file beside the jobs.
func ReadTextAt(path string) (*JobText, error) {
	if to := scheduler.LinkedTo(path); to != "" {
		return nil, env.Usagef("%s is a symbolic link to %s: change it there", path, to)
	}
	text, err := scheduler.ReadText(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return &JobText{File: path, Text: text, Tag: hex.EncodeToString(sum[:])}, nil
}

// CheckEdit says what a new text for a job file would do. Nothing is written.
func CheckEdit(a *env.App, e JobEdit) (*EditedJob, error) {
	now, err := ReadJobText(a, e.Job)
	if err != nil {
		return nil, err
	}
	out := &EditedJob{Now: now, Moved: now.Tag != e.Tag, text: withLinesOf(e.Text, now.Text)}
	out.Diff = diff.Pages(diff.Body{Data: now.Text, Type: "text/plain"},
		diff.Body{Data: out.text, Type: "text/plain"}, diff.Options{})
	f := scheduler.File{Name: e.Job, Path: now.File, Text: out.text}
	if len(out.text) > job.MaxFile {
		out.Errors = checkErrors(fmt.Errorf("has %d bytes; a job file has at most %d", len(out.text), job.MaxFile))
		return out, nil
	}
	if f.Job, f.Err = job.Parse(e.Job, now.File, out.text); f.Err != nil {
		out.Errors = checkErrors(f.Err)
		return out, nil
	}
	if why := refusedBeside(a, f); why != "" {
		out.Errors = checkErrors(errors.New(strings.TrimPrefix(why, now.File+": ")))
	}
	was, err := job.Parse(e.Job, now.File, now.Text)
	if err != nil {
		was = job.Default()
	}
	out.Errors = append(out.Errors, machineErrors(was, f.Job, "change it in the file itself, on the machine: "+
		now.File)...)
	for _, w := range f.Job.Warnings {
		out.Warnings = append(out.Warnings, warningText(w))
	}
	if w := checkLeaving(a, []scheduler.File{f})[f.Job]; w != "" {
		out.Warnings = append(out.Warnings, w)
	}
	out.First = newFirstRuns(a).of(e.Job, f.Job)
	return out, nil
}

// machineErrors are the keys in which two jobs differ that only users with an account on the machine may
// change. The hint says how they do.
func machineErrors(was, now *job.Job, hint string) (out []JobFileError) {
	for _, key := range job.MachineKeys(was, now) {
		out = append(out, JobFileError{
			Key:     key,
			Message: job.MachineKey,
			Hint:    hint,
		})
	}
	return out
}

// withLinesOf gives a text the ends of lines of another one; forms send CRLF.
func withLinesOf(text, like []byte) []byte {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	if bytes.Contains(like, []byte("\r\n")) {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
	}
	return text
}

// SaveEdit replaces a job file by a new text, in one step, when it would be accepted and the file is still
// the one that the text was made from. A daemon sees it by itself.
func SaveEdit(a *env.App, e JobEdit) error {
	c, err := CheckEdit(a, e)
	switch {
	case err != nil:
		return err
	case c.Moved:
		return ErrJobMoved
	case len(c.Errors) > 0:
		return env.Usagef("%s: %s", e.Job, c.Errors[0].Message)
	case len(c.Diff.Hunks) == 0 && bytes.Equal(c.text, c.Now.Text):
		return nil
	}
	err = ReplaceJob(c.Now, c.text)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w: the daemon may not write its job files here; change the file on the machine", err)
	}
	return err
}

// ReplaceJob writes beside a job file, under a name that a daemon does not read, and renames.
func ReplaceJob(now *JobText, text []byte) error {
	old, err := os.Lstat(now.File)
	if err != nil {
		return err
	}
	aside, err := os.CreateTemp(filepath.Dir(now.File), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(aside.Name())
	_, err = aside.Write(text)
	err = errors.Join(err, aside.Chmod(old.Mode().Perm()), aside.Sync(), aside.Close())
	if err != nil {
		return err
	}
	if sys, ok := old.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		if err := os.Lchown(aside.Name(), int(sys.Uid), int(sys.Gid)); err != nil {
			return err
		}
	}
	if last, err := scheduler.ReadText(now.File); err != nil || !bytes.Equal(last, now.Text) {
		return ErrJobMoved
	}
	return os.Rename(aside.Name(), now.File)
}
