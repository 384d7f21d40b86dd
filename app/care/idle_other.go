// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package care

import "runtime"

// IdleThread keeps the goroutine on a thread of its own, which ends with it.
func IdleThread() { runtime.LockOSThread() }
