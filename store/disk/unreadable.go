// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"mirrord/internal/regular"
)

// UnreadableError says that the disk does not give back a part of a file: a bad sector, or a checksum of the
// file system. What should be there is damaged like wrong bytes are, so it is an ErrDamaged, and can be had
// again from elsewhere.
type UnreadableError struct {
	File string
	Err  error // of the system
}

func (e *UnreadableError) Error() string {
	var errno syscall.Errno
	why := e.Err.Error()
	if errors.As(e.Err, &errno) {
		why = errno.Error()
	}
	text := fmt.Sprintf("the disk returned an error for %s (%s): check the disk with smartctl -a", e.File, why)
	if name := JobOfFile(e.File); name != "" {
		text += ", then mirrord repair " + name
	}
	return text
}

func (e *UnreadableError) Unwrap() error { return e.Err }

// Is makes it an ErrDamaged.
func (e *UnreadableError) Is(target error) bool { return target == ErrDamaged }

// JobOfFile names the job whose site a file belongs to, JOB for a file of all sites, and "" for other files.
func JobOfFile(name string) string {
	parts := strings.Split(filepath.Dir(name), "/")
	for i, p := range parts {
		switch rest := parts[i+1:]; {
		case p == "blobs":
			return "JOB"
		case p != "sites" || len(rest) == 0:
		case len(rest) == 1, rest[1] == "packs", rest[1] == "trees", rest[1] == "log":
			return rest[0]
		}
	}
	return ""
}

// Unreadable makes an *UnreadableError of an error of reading that means that the disk has lost what it was
// given, and an ErrDamaged of one that says that no regular file is there. Other errors, and those of
// writing, stay as they are.
func Unreadable(err error) error {
	if errors.Is(err, regular.ErrNotRegular) && !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	var known *UnreadableError
	var path *fs.PathError
	if errors.As(err, &known) || !errors.As(err, &path) || !IsLoss(path.Err) {
		return err
	}
	switch path.Op {
	case "read", "open", "openat", "stat", "lstat", "statat", "lstatat", "fstatat", "readdirent", "readlinkat":
		return &UnreadableError{File: filepath.Clean(path.Path), Err: err}
	}
	return err
}

// IsLoss reports whether the system says that the disk, or a checksum of the file system, failed.
func IsLoss(err error) bool {
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.EBADMSG) || errors.Is(err, syscall.EUCLEAN)
}

// ReadErr is Err for reading what can be had again from elsewhere: what the disk has lost is damage.
func ReadErr(op string, err error) error { return Err(op, Unreadable(err)) }

// LossReader reads a file and keeps the first error of a disk that lost a part of it.
type LossReader struct {
	*os.File
	Lost error
}

func (r *LossReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.File.ReadAt(p, off)
	if u, ok := errors.AsType[*UnreadableError](Unreadable(err)); ok && (r.Lost == nil) {
		r.Lost = u
	}
	return n, err
}
