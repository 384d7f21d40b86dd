// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"mirrord/internal/regular"
)

// What an export writes lies aside, under a hidden name, until it is whole. It is locked as long as its
// process lives. So the next export to the same place knows what a killed one has left, and removes it.

// asideMark is in the name of a file that will take the place of another one: .NAME.mirrord-RANDOM.
const asideMark = ".mirrord-"

// asideFolder begins the name of a folder beside the place of an export.
const asideFolder = ".mirrord-export-"

// pendingFile is a file that is written aside and then takes its place.
type pendingFile struct {
	*os.File
	out  string
	done bool
}

// PendingOutput begins a file that takes the place of an older one, with the permissions of that: who has
// closed an archive to others does not find the next one open.
func PendingOutput(out string) (*pendingFile, error) {
	prefix := filepath.Join(filepath.Dir(out), "."+filepath.Base(out)+asideMark)
	removeLeft(prefix)
	perm := fs.FileMode(0o644)
	was, err := os.Lstat(out)
	replaces := err == nil && was.Mode().IsRegular()
	if replaces {
		perm = was.Mode().Perm()
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := lockedAside(prefix, func(name string) (*os.File, error) {
		return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	})
	if err != nil {
		return nil, err
	}
	p := &pendingFile{File: f, out: out}
	if replaces {
		if err := f.Chmod(perm); err != nil { // regardless of the umask
			return nil, errors.Join(err, p.Cleanup())
		}
	}
	return p, nil
}

// Cleanup removes the file unless it is in its place.
func (p *pendingFile) Cleanup() error {
	if p.done {
		return nil
	}
	p.done = true
	return errors.Join(os.Remove(p.Name()), p.Close())
}

// CloseAtomicallyReplace syncs the file and puts it in its place.
func (p *pendingFile) CloseAtomicallyReplace() error {
	if err := p.Sync(); err != nil {
		return err
	}
	if err := os.Rename(p.Name(), p.out); err != nil { // while it is locked
		return err
	}
	p.done = true
	return p.Close()
}

// AsideDir makes a folder beside the place of an export; above is "" for one among temporary files. done
// removes it.
func AsideDir(above string) (name string, done func() error, err error) {
	if above == "" {
		above = os.TempDir()
	} else {
		removeLeft(filepath.Join(above, asideFolder))
	}
	f, err := lockedAside(filepath.Join(above, asideFolder), func(name string) (*os.File, error) {
		if err := os.Mkdir(name, 0o700); err != nil {
			return nil, err
		}
		return regular.Open(name)
	})
	if err != nil {
		return "", nil, err
	}
	return f.Name(), func() error { return errors.Join(os.RemoveAll(f.Name()), f.Close()) }, nil
}

// lockedAside makes a file or a folder whose name begins with a prefix, and locks it.
func lockedAside(prefix string, create func(name string) (*os.File, error)) (*os.File, error) {
	for {
		f, err := create(prefix + strconv.FormatUint(rand.Uint64()>>14, 36))
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if held, err := lockAside(f); held || err != nil { // where there are no locks nothing is removed
			return f, nil
		}
		f.Close() // another process has treated it as abandoned
	}
}

// lockAside locks a file that is aside, unless another process has it, or it has lost its name.
func lockAside(f *os.File) (held bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	is, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(is, named), nil
}

// removeLeft removes what killed processes have left under names that begin with a prefix. What cannot be
// removed stays, as does what a process has locked.
func removeLeft(prefix string) {
	entries, err := os.ReadDir(filepath.Dir(prefix))
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), filepath.Base(prefix)) || (!e.Type().IsRegular() && !e.IsDir()) {
			continue
		}
		f, err := regular.Open(filepath.Join(filepath.Dir(prefix), e.Name()))
		if err != nil {
			continue
		}
		if held, err := lockAside(f); held && err == nil {
			os.RemoveAll(f.Name())
		}
		f.Close()
	}
}
