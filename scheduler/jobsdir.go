// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

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

	stamp stamp
	hash  [32]byte
}

// stamp tells that a file has not been touched.
type stamp struct {
	size, inode    int64
	mtime, changed time.Time
	mode           fs.FileMode
}

// Dir is the directory of job files, and the one of those that the daemon made, which may be missing. It
// remembers what it has read, so that reading it again costs a look at each file that was not touched. It is
// not safe for concurrent use.
type Dir struct {
	paths []string
	now   func() time.Time
	last  map[string]File // by path

	profiles *profile.Catalog
	broken   []error // profiles that cannot be read
}

// NewDir returns a directory that has not been read yet. A second path is that of the daemon's own files: a
// job of the first directory comes before one of its name there.
func NewDir(paths ...string) *Dir { return &Dir{paths: paths, now: time.Now, last: map[string]File{}} }

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
	dir, err := root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	defer dir.Close()
	if fi, err := dir.Stat(); err == nil && othersWrite(path, fi) {
		return nil,
			fmt.Errorf(
				"read jobs: anybody may write into %s (mode %04o), and a job file can name commands to run; chmod o-w %s",
				path, fi.Mode().Perm(), path)
	}
	entries, err := dir.ReadDir(-1)
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
		var at string
		at, f.stamp, f.Err = look(f.Path)
		old, had := d.last[f.Path]
		switch {
		case errors.Is(f.Err, fs.ErrNotExist):
			continue // removed meanwhile
		case f.Err == nil && had && old.Text != nil && old.stamp == f.stamp &&
			d.now().Sub(f.stamp.changed) > settled:
			f = old
		case f.Err == nil:
			f.Text, f.stamp, f.Err = open(at)
			if f.hash = sha256.Sum256(f.Text); had && old.Text != nil && f.Err == nil && f.hash == old.hash {
				f.Job, f.Err = old.Job, old.Err
			} else if f.Err == nil {
				f.Job, f.Err = d.parse(f.Name, f.Path, f.Text)
			}
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

// settled is how long ago a file must have been touched last, so that another change would have another time.
const settled = 2 * time.Second

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
	at, _, err := look(path)
	if err != nil {
		return nil, refusal(path, err)
	}
	text, _, err := open(at)
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

// look says what lies at a name without opening it: opening a pipe would wait for its other end. at is the
// path of the file itself, when the name is that of a symbolic link.
func look(path string) (at string, s stamp, err error) {
	fi, err := os.Lstat(path)
	if at = path; err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		at, fi, err = follow(path)
	}
	if err != nil {
		return "", stamp{}, err
	}
	s, err = acceptable(at, fi)
	return at, s, err
}

// acceptable refuses what cannot be a job file from a user in charge.
func acceptable(path string, fi fs.FileInfo) (stamp, error) {
	s := stamp{size: fi.Size(), mtime: fi.ModTime(), mode: fi.Mode()}
	if sys, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.inode, s.changed = int64(sys.Ino), time.Unix(sys.Ctim.Unix())
	}
	switch m := fi.Mode(); {
	case m.IsDir():
		return s, errors.New("is a directory; a job is one file")
	case !m.IsRegular():
		return s, errors.New("is no ordinary file")
	case othersWrite(path, fi):
		return s,
			fmt.Errorf("anybody may write it (mode %04o), and a job file can name commands to run; chmod o-w it",
				m.Perm())
	case fi.Size() > job.MaxFile:
		return s, fmt.Errorf("has %d bytes; a job file has at most %d", fi.Size(), job.MaxFile)
	}
	return s, nil
}

// open reads the file that look has found. It does not follow a link and does not wait for a pipe, should one
// have taken its place.
func open(path string) ([]byte, stamp, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, stamp{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, stamp{}, err
	}
	s, err := acceptable(path, fi)
	if err != nil {
		return nil, s, err
	}
	text, err := io.ReadAll(io.LimitReader(f, job.MaxFile+1))
	if err == nil && len(text) > job.MaxFile {
		err = fmt.Errorf("has more than %d bytes", job.MaxFile)
	}
	return text, s, err
}
