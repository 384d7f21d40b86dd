// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"

	"mirrord/store/disk"
)

// Errors of opening.
var (
	ErrNoSite    = disk.Said("no such site")
	ErrNoVersion = errors.New("no version is published")
	ErrClosed    = errors.New("site is closed")
	ErrBusy      = disk.Said("it is in use: try again")
)

// ErrLeaseLost reports that another process may write the site now: this one must no longer change it.
var ErrLeaseLost = disk.Said("lost the ownership of the site: another process may write it now")

// ErrTooLong says that a URL is longer than MaxURL.
var ErrTooLong = errors.New("URL is too long to be stored")

// errOldFormat reports a database that this program does not read.
var errOldFormat = disk.Said("written by an older mirrord")

// busyError is an ErrBusy with words of its own.
type busyError struct{ error }

func (e busyError) Unwrap() []error { return []error{ErrBusy, e.error} }

// explain says in front of an error, where there is one, what was being done.
func explain(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), *err)
	}
}
