// SPDX-License-Identifier: Apache-2.0

package care

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// IdleThread keeps the goroutine on a thread of its own, which ends with it, and which the kernel schedules
// only when no other thread is ready. Where the kernel refuses, it is a thread like any other.
func IdleThread() {
	const lowest, whoProcess, classIdle = 19, 1, 3 << 13
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, lowest) // of Linux: this thread
	unix.Syscall(unix.SYS_IOPRIO_SET, whoProcess, 0, classIdle)
}
