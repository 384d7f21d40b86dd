// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"

	"mirrord/store/disk"
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
func (e *busyError) Is(target error) bool { return target == disk.ErrBusy }

// ErrTooLong says that a URL is longer than MaxURL.
var ErrTooLong = errors.New("URL is too long to be stored")
