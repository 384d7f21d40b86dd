// SPDX-License-Identifier: Apache-2.0

package run

import (
	"runtime/debug"
	"runtime/metrics"
)

// worthRelease is the size in bytes of a heap that is worth a collection and the calls that give it back.
const worthRelease = 48 << 20

// Release gives unused memory back to the system, unless the heap is small: at the end of
// a phase of a run, so that the run needs the larger of its phases and not their sum.
func Release() {
	if heap() > worthRelease {
		debug.FreeOSMemory()
	}
}

// heap is how many bytes the heap has of the system.
func heap() (n uint64) {
	parts := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(parts)
	for _, p := range parts {
		n += p.Value.Uint64()
	}
	return n
}
