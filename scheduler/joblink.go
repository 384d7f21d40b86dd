// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A job file may be a symbolic link, as ConfigMaps, Secrets, stow and Ansible make them. Its target is taken
// when no other user can change it: the file and each folder on the way belong to root, to the user of this
// process or to the owner of the jobs directory, and others may not write there, or the folder is sticky, or
// its file system is mounted read-only.

const (
	maxLinks    = 40 // followed for one file, as Linux has it
	followTries = 3  // the folder that a ConfigMap links to may be replaced at any moment
)

// LinkedTo returns the file to which a job file leads that is a symbolic link, "" for any other file.
func LinkedTo(path string) string {
	to, err := os.Readlink(path)
	if err != nil {
		return ""
	}
	if end, err := filepath.EvalSymlinks(path); err == nil {
		return end
	}
	return to
}

// follow returns the file to which a symbolic link leads. The error is fs.ErrNotExist when there is no link
// now; that it points nowhere is another one.
func follow(link string) (target string, fi fs.FileInfo, err error) {
	for range followTries {
		if target, fi, err = followOnce(link); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	to, lerr := os.Readlink(link)
	switch {
	case errors.Is(lerr, fs.ErrNotExist):
		err = lerr
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("is a symbolic link to %s, and there is no such file", to)
	case err != nil:
		err = fmt.Errorf("is a symbolic link to %s: %w", to, err)
	}
	return target, fi, err
}

func followOnce(link string) (string, fs.FileInfo, error) {
	at, err := filepath.Abs(filepath.Dir(link))
	if err == nil {
		at, err = filepath.EvalSymlinks(at) // so that ".." is the folder above
	}
	if err != nil {
		return "", nil, err
	}
	trusted := []int{0, os.Geteuid()}
	if fi, err := os.Stat(at); err == nil {
		trusted = append(trusted, userOf(fi))
	}
	rest, links := []string{filepath.Base(link)}, 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		if err := safeFolder(at, trusted); err != nil {
			return "", nil, err
		}
		p := filepath.Join(at, name)
		fi, err := os.Lstat(p)
		if err != nil {
			return "", nil, err
		}
		if links > 0 && !slices.Contains(trusted, userOf(fi)) { // whose the first link is does not matter
			return "", nil, ownerError(p, userOf(fi))
		}
		switch m := fi.Mode(); {
		case m&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			if links++; err == nil && links > maxLinks {
				err = syscall.ELOOP
			}
			if err != nil {
				return "", nil, err
			}
			if filepath.IsAbs(to) {
				at = "/"
			}
			rest = slices.Concat(strings.Split(to, "/"), rest)
		case m.IsDir() && len(rest) > 0:
			at = p
		case len(rest) == 0:
			return p, fi, nil
		default:
			return "", nil, &fs.PathError{Op: "follow", Path: p, Err: syscall.ENOTDIR}
		}
	}
	return "", nil, errors.New("it links to a directory; a job is one file")
}

// safeFolder returns an error when an untrusted user may change the targets of the names in a folder.
func safeFolder(dir string, trusted []int) error {
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !slices.Contains(trusted, userOf(fi)) {
		return ownerError(dir, userOf(fi))
	}
	if othersWrite(dir, fi) && fi.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("anybody may write into %s (mode %04o), and a job file can name commands to run; "+
			"chmod o-w %s", dir, fi.Mode().Perm(), dir)
	}
	return nil
}

func ownerError(path string, uid int) error {
	return fmt.Errorf("%s belongs to the user with the number %d, and a job file can name commands to run; "+
		"let it belong to root: chown root %s", path, uid, path)
}

// othersWrite reports whether anybody may write a file or into a directory.
func othersWrite(path string, fi fs.FileInfo) bool {
	if fi.Mode().Perm()&0o002 == 0 {
		return false
	}
	var at unix.Statfs_t
	return unix.Statfs(path, &at) != nil || at.Flags&unix.ST_RDONLY == 0
}

// userOf is the number of the user to whom a file belongs, -1 when it is not known.
func userOf(fi fs.FileInfo) int {
	if sys, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(sys.Uid)
	}
	return -1
}
