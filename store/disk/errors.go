// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// said is an error of our own words: not a failure of the disk.
type said struct{ text string }

func (s *said) Error() string { return s.text }

// Said makes an error that Err leaves as it is, for what a caller says about its files. Each is itself only.
func Said(text string) error { return &said{text: text} }

var (
	// ErrLocked says that another process holds the lock of a file.
	ErrLocked = Said("locked by another process")
	// ErrDamaged says that something on disk is not what the records say.
	ErrDamaged = Said("damaged")
)

// DiskError is a failure of the disk itself: full, read-only, or an I/O error. It ends a run cleanly as
// partial.
type DiskError struct {
	Op  string
	Err error
}

func (e *DiskError) Error() string {
	hint := ""
	switch {
	case IsFull(e.Err):
		hint = " (free some space there, as by mirrord gc, or inodes by df -i, and run again; nothing is lost)"
	case IsLoss(e.Err):
		hint = " (the disk failed: check it with smartctl -a; what was committed before is kept)"
	case errors.Is(e.Err, syscall.EMFILE):
		hint = " (the process may not open more: raise LimitNOFILE= of its unit, or ulimit -n)"
	case errors.Is(e.Err, syscall.EROFS):
		hint = " (the state directory is on a read-only file system: see dmesg, and mount it writable)"
	}
	return fmt.Sprintf("%s: %v%s", e.Op, e.Err, hint)
}

func (e *DiskError) Unwrap() error { return e.Err }

// IsFull reports whether an error says that the disk, or a quota of it, is full.
func IsFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// Err makes a DiskError of what the system said; what we said ourselves stays as it is.
func Err(op string, err error) error {
	if err == nil {
		return nil
	}
	var d *DiskError
	if errors.As(err, &d) {
		return err
	}
	if ours := (*said)(nil); errors.As(err, &ours) || errors.Is(err, ErrDamaged) {
		return err
	}
	return &DiskError{Op: op, Err: err}
}

// UnlessGone leaves out what was removed in the meantime.
func UnlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Explain says in front of an error, where there is one, what was being done.
func Explain(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), *err)
	}
}
