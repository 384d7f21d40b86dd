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
)

// ErrTooLong says that a URL is longer than MaxURL.
var ErrTooLong = errors.New("URL is too long to be stored")

// explain says in front of an error, where there is one, what was being done.
func explain(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), *err)
	}
}
