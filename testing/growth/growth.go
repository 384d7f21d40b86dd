// SPDX-License-Identifier: Apache-2.0

// Package growth is for tests: it holds that work grows with its input, and not with the square of it.
package growth

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

const (
	most  = 2.3                   // times the work that twice the input may be
	noise = 20 * time.Millisecond // processor time that says nothing
)

// Check runs the work of an input, and that of twice the input, and compares what they allocate: bytes and
// objects. With MIRRORD_LONG=1 it compares the processor time too, of the best of some tries.
func Check(t *testing.T, what string, one, two func()) {
	t.Helper()
	one() // for work that is done once
	b1, n1 := Allocated(one)
	b2, n2 := Allocated(two)
	t.Logf("%s: %d bytes in %d objects, of twice the input %d in %d", what, b1, n1, b2, n2)
	for _, x := range []struct {
		unit     string
		one, two uint64
	}{{"bytes", b1, b2}, {"objects", n1, n2}} {
		if float64(x.two) > most*float64(x.one) {
			t.Errorf("%s: %d %s, of twice the input %d", what, x.one, x.unit, x.two)
		}
	}
	if os.Getenv("MIRRORD_LONG") == "" {
		return
	}
	const tries = 40 // what grows with the square never passes; other processes disturb most of them
	var c1, c2 time.Duration
	for i := range tries {
		if c := processor(one); i == 0 || c < c1 {
			c1 = c
		}
		if c := processor(two); i == 0 || c < c2 {
			c2 = c
		}
		if float64(c2) <= most*float64(max(c1, noise)) {
			return
		}
	}
	t.Errorf("%s: %v of the processor, of twice the input %v", what, c1, c2)
}

// Allocated returns how much a function allocates.
func Allocated(f func()) (bytes, objects uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs
}

// processor returns the processor time that a function takes.
func processor(f func()) time.Duration {
	runtime.GC()
	before := used()
	f()
	return used() - before
}

// used is the time of the program and of the system for it: how the sum is split is only guessed by ticks.
func used() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
