// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package app

import "runtime"

// idleThread keeps the goroutine on a thread of its own, which ends with it.
func idleThread() { runtime.LockOSThread() }
