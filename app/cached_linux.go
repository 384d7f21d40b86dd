// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropCached lets go of what the system has of a synced file in memory, so that it is read from the disk. It
// is no error where it cannot.
func dropCached(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }
