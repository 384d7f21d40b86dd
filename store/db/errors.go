// SPDX-License-Identifier: Apache-2.0

package db

import (
	"errors"
	"fmt"

	"mirrord/store/disk"
)

// ErrBusy says that something is in use for longer than one waits for it.
var ErrBusy = disk.Said("it is in use: try again")

// ErrLeaseLost reports that another process may write the site now: this one must no longer change it.
var ErrLeaseLost = disk.Said("lost the ownership of the site: another process may write it now")

// ErrOldFormat reports a database that this program does not read.
var ErrOldFormat = disk.Said("written by an older mirrord")

// ErrNoDatabase says that a site has lost its database: taking it for a new one would lose what it had.
var ErrNoDatabase = errors.New("it is missing or empty, but there is a log, or a version is published")

// ErrOlder says that a database is whole, but older than the version published beside it: an earlier copy
// was restored. To continue from there would lose the versions between.
var ErrOlder = errors.New("it is an older copy")

// ErrNoBodies says that a database has results whose bodies a loss of power has cost.
var ErrNoBodies = errors.New("it has results without their bodies")

// ErrBehind says that a database is whole, and its log has transactions that it has not.
var ErrBehind = errors.New("its log has more")

// errReplaced reports that another process replaced the file that was waited for.
var errReplaced = errors.New("the file was replaced")

// DatabaseError says that a database cannot be used: its pages, or values in it, are not what they must be.
// It is an ErrDamaged.
type DatabaseError struct {
	Site string // "" for the state's own database
	File string // site.db or mirror.db
	Err  error  // the defect
}

func (e *DatabaseError) Error() string { return fmt.Sprintf("%s is damaged: %v", e.File, e.Err) }
func (e *DatabaseError) Unwrap() error { return e.Err }

// Is makes it an ErrDamaged.
func (e *DatabaseError) Is(target error) bool { return target == disk.ErrDamaged }

// busyError is an ErrBusy with words of its own.
type busyError struct{ error }

func (e busyError) Unwrap() []error { return []error{ErrBusy, e.error} }

// Busy makes an error an ErrBusy.
func Busy(err error) error { return busyError{err} }
