// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange swaps two directories in one step, so that there is always one at each name.
func exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) {
		return exchangeSlowly(a, b) // a file system that cannot
	}
	return err
}
