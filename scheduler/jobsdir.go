// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mirrord/job"
	"mirrord/site/profile"
)

// Suffix is the end of the name of a job file.
const Suffix = ".toml"

// File is one job file as it was read.
type File struct {
	Name string // of the job
	Path string
	Text []byte   // nil when it could not be read
	Job  *job.Job // nil when it is refused
	Err  error    // why; problems of its text are of type job.Errors
}

// Dir is the directory of job files, and the one of those that the daemon made, which may be missing. It
// remembers what it has read, so that a file is not parsed again that is as it was. It is
// not safe for concurrent use.
type Dir struct {
	paths []string
	last  map[string]File // by path

	profiles *profile.Catalog
	broken   []error // profiles that cannot be read
}

// NewDir returns a directory that has not been read yet. A second path is that of the daemon's own files: a
// job of the first directory comes before one of its name there.
func NewDir(paths ...string) *Dir { return &Dir{paths: paths, last: map[string]File{}} }

// Watched returns the directories of which a change counts: those of job files, and that of the profiles.
func (d *Dir) Watched() []string { return append(slices.Clone(d.paths), ProfilesDir(d.paths[0])) }

// Broken returns the profiles that the last Read could not read.
func (d *Dir) Broken() []error { return d.broken }

// readProfiles reads the profiles. When they changed all job files are read again.
func (d *Dir) readProfiles() {
	before := d.profiles
	if d.profiles, d.broken = Profiles(d.paths[0]); before != nil && !before.Same(d.profiles) {
		clear(d.last)
	}
}

// Read reads all job files: NAME.toml, in the order of their names; names that start with a dot or '_' are
// left out, so that a file can be put aside. A job whose rename was interrupted is refused under its old
// name, with a *Renaming. The problem of one file is its Err. The error says
// that the directory as a whole cannot be read or trusted: then nothing is known about any job, which does
// not mean that there are no jobs.
func (d *Dir) Read() (files []File, err error) {
	now := map[string]File{}
	for i, path := range d.paths {
		in, err := d.readIn(path, now)
		if i > 0 && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files = append(files, in...)
	}
	d.last = now
	slices.SortStableFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

// readIn reads the job files of one directory, and adds them to those that were read now.
func (d *Dir) readIn(path string, now map[string]File) ([]File, error) {
	root, err := os.OpenRoot(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no directory of job files at %s: create it or set --jobs: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	defer root.Close()
	if fi, err := root.Stat("."); err == nil && othersWrite(path, fi) {
		return nil,
			fmt.Errorf(
				"read jobs: anybody may write into %s (mode %04o), and a job file can name commands to run; chmod o-w %s",
				path, fi.Mode().Perm(), path)
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	if path == d.paths[0] {
		d.readProfiles()
	}
	files := make([]File, 0, len(entries))
	var aside []File
	for _, e := range entries {
		base := e.Name()
		if r := renamingOf(base); r != nil && !e.IsDir() {
			aside = append(aside, File{Name: r.From, Path: filepath.Join(path, base), Err: r})
		}
		if !jobFileName(base) {
			continue
		}
		f := File{Name: strings.TrimSuffix(base, Suffix), Path: filepath.Join(path, base)}
		f.Text, f.Err = textOf(f.Path)
		old := d.last[f.Path]
		switch {
		case errors.Is(f.Err, fs.ErrNotExist):
			continue // removed meanwhile
		case f.Err != nil:
		case old.Text != nil && bytes.Equal(f.Text, old.Text):
			f = old
		default:
			f.Job, f.Err = d.parse(f.Name, f.Path, f.Text)
		}
		now[f.Path] = f
		files = append(files, f)
	}
	for _, f := range aside {
		if _, is := now[filepath.Join(path, f.Name+Suffix)]; !is { // otherwise a user has made a new one
			files = append(files, f)
		}
	}
	return files, nil
}

// parse reads the text of a file. Of the daemon's own directory, which users without an account on the
// machine can fill, it refuses what only users with one may set.
func (d *Dir) parse(name, path string, text []byte) (*job.Job, error) {
	j, err := job.ParseWith(d.profiles, name, path, text)
	if err != nil || len(d.paths) < 2 || !IsIn(d.paths[1], path) {
		return j, err
	}
	var bad job.Errors
	for _, key := range job.MachineKeys(job.Default(), j) {
		bad = append(bad, job.Error{
			File: path,
			Key:  key,
			Msg:  key + ": " + job.MachineKey,
			Hint: "move the file to " + d.paths[0],
		})
	}
	if len(bad) > 0 {
		return nil, bad
	}
	return j, nil
}

// IsIn reports whether a file is in a directory.
func IsIn(dir, file string) bool {
	in, err := filepath.Abs(filepath.Dir(file))
	abs, derr := filepath.Abs(dir)
	return err == nil && derr == nil && in == abs
}

func jobFileName(base string) bool {
	return strings.HasSuffix(base, Suffix) && !strings.HasPrefix(base, ".") && !strings.HasPrefix(base, "_")
}

// ReadFile reads and checks one job file of any directory. It refuses what Read refuses of a single file.
func (d *Dir) ReadFile(path string) (*job.Job, error) {
	text, err := ReadText(path)
	if err != nil {
		return nil, err
	}
	profiles := filepath.Dir(path)
	if len(d.paths) > 1 && IsIn(d.paths[1], path) {
		profiles = d.paths[0]
	}
	d.profiles, d.broken = Profiles(profiles)
	return d.parse(strings.TrimSuffix(filepath.Base(path), Suffix), path, text)
}

// ReadText is Dir.ReadFile without looking into the file.
func ReadText(path string) ([]byte, error) {
	if !strings.HasSuffix(path, Suffix) {
		return nil, job.Errors{{File: path, Msg: "a job file is named NAME" + Suffix}}
	}
	text, err := textOf(path)
	if err != nil {
		return nil, refusal(path, err)
	}
	return text, nil
}

func refusal(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
	}
	return fmt.Errorf("%s: %w", path, err)
}

// textOf reads a file, after a look at what lies there: opening a pipe would wait for its other end. It does
// not follow a link that has taken the place of what it saw, and does not wait for a pipe.
func textOf(path string) ([]byte, error) {
	fi, err := os.Lstat(path)
	if err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		path, fi, err = follow(path)
	}
	if err == nil {
		err = acceptable(path, fi)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi, err = f.Stat(); err == nil {
		err = acceptable(path, fi)
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, job.MaxFile+1))
	if err == nil && len(text) > job.MaxFile {
		err = fmt.Errorf("has more than %d bytes", job.MaxFile)
	}
	return text, err
}

// acceptable refuses what cannot be a job file from a user in charge.
func acceptable(path string, fi fs.FileInfo) error {
	switch m := fi.Mode(); {
	case m.IsDir():
		return errors.New("is a directory; a job is one file")
	case !m.IsRegular():
		return errors.New("is no ordinary file")
	case othersWrite(path, fi):
		return fmt.Errorf("anybody may write it (mode %04o), and a job file can name commands to run; "+
			"chmod o-w it", m.Perm())
	case fi.Size() > job.MaxFile:
		return fmt.Errorf("has %d bytes; a job file has at most %d", fi.Size(), job.MaxFile)
	}
	return nil
}
