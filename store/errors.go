// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"syscall"
)

// Errors of opening.
var (
	ErrLocked      = errors.New("locked by another process")
	ErrNewerFormat = errors.New("written by a newer mirrord")
	ErrNoSite      = errors.New("no such site")
	ErrNoVersion   = errors.New("no version is published")
	ErrClosed      = errors.New("site is closed")
	ErrBusy        = errors.New("it is in use: try again")
)

// busyError is an ErrBusy for another reason than that a site is written too often.
type busyError struct {
	why string
	err error // nil when there is no error behind it
}

func (e *busyError) Error() string {
	if e.err == nil {
		return e.why
	}
	return fmt.Sprintf("%s: %v", e.why, e.err)
}

func (e *busyError) Unwrap() error { return e.err }

// Is makes it an ErrBusy.
func (e *busyError) Is(target error) bool { return target == ErrBusy }

// ErrTooLong says that a URL is longer than MaxURL.
var ErrTooLong = errors.New("URL is too long to be stored")

// ErrDamaged says that something on disk is not what the records say.
var ErrDamaged = errors.New("damaged")

// DiskError is a failure of the disk itself: full, read-only, or an I/O error. It ends a run cleanly as
// partial.
type DiskError struct {
	Op  string
	Err error
}

func (e *DiskError) Error() string {
	hint := ""
	switch {
	case isFull(e.Err):
		hint = " (free some space, or inodes by df -i, and run again; nothing is lost)"
	case isLoss(e.Err):
		hint = " (the disk failed: check it with smartctl -a; what was committed before is kept)"
	case errors.Is(e.Err, syscall.EMFILE):
		hint = " (the process may not open more: raise LimitNOFILE= of its unit, or ulimit -n)"
	case errors.Is(e.Err, syscall.EROFS):
		hint = " (the state directory is on a read-only file system: see dmesg, and mount it writable)"
	}
	return fmt.Sprintf("%s: %v%s", e.Op, e.Err, hint)
}

func (e *DiskError) Unwrap() error { return e.Err }

// isFull reports whether an error says that the disk, or a quota of it, is full.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// diskErr makes a DiskError of what the system said; what we said ourselves stays as it is.
func diskErr(op string, err error) error {
	if err == nil {
		return nil
	}
	var d *DiskError
	if errors.As(err, &d) {
		return err
	}
	for _, ours := range []error{ErrLocked, ErrBusy, ErrLeaseLost, ErrDamaged, ErrNewerFormat, errOldFormat,
		ErrNoSite} {
		if errors.Is(err, ours) {
			return err
		}
	}
	return &DiskError{Op: op, Err: err}
}
