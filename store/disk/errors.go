// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"errors"
	"fmt"
	"io/fs"
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

// ErrLeaseLost reports that another process may write the site now: this one must no longer change it.
var ErrLeaseLost = errors.New("lost the ownership of the site: another process may write it now")

// ErrOldFormat reports a database that this program does not read.
var ErrOldFormat = errors.New("written by an older mirrord")

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
	case IsFull(e.Err):
		hint = " (free some space, or inodes by df -i, and run again; nothing is lost)"
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
	for _, ours := range []error{ErrLocked, ErrBusy, ErrLeaseLost, ErrDamaged, ErrNewerFormat, ErrOldFormat,
		ErrNoSite} {
		if errors.Is(err, ours) {
			return err
		}
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
