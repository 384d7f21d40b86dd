// SPDX-License-Identifier: Apache-2.0

package run

import (
	"runtime"
	"testing"
)

// A large heap goes back to the system, a small one is left alone.
func TestRelease(t *testing.T) {
	cycles := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumForcedGC
	}
	Release()
	if before := heap(); before < worthRelease {
		was := cycles()
		if Release(); cycles() != was {
			t.Errorf("a heap of %d MB was collected", before>>20)
		}
	}
	b := make([]byte, 2*worthRelease)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	runtime.KeepAlive(b)
	large := heap()
	b = nil
	if Release(); large < 2*worthRelease || heap() > large-worthRelease {
		t.Errorf("a heap of %d MB has %d after it was released", large>>20, heap()>>20)
	}
}
