// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"golang.org/x/sys/unix"
)

// steady is a clock that cannot be set and that runs while the machine sleeps.
func steady() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic(err) // every Linux has it
	}
	return time.Duration(ts.Nano())
}
