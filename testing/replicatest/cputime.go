// SPDX-License-Identifier: Apache-2.0

//go:build unix

package replicatest

import (
	"syscall"
	"testing"
)

// CPUSeconds returns the processor time this process has used. On a shared machine it says more than the
// clock does.
func CPUSeconds(tb testing.TB) float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		tb.Fatal(err)
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}
