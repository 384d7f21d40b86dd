// SPDX-License-Identifier: Apache-2.0

package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// DropCached lets go of what the system has of a synced file in memory, so that it is read from the disk. It
// is no error where it cannot.
func DropCached(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }
