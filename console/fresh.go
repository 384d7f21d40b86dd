// SPDX-License-Identifier: Apache-2.0

package console

import (
	"slices"
	"sync"
	"time"

	"mirrord/status"
)

// freshStatus keeps the status of all jobs for a moment: with a thousand mirrors it takes the daemon 150 ms,
// and many may look at the list. It is safe for concurrent use.
type freshStatus struct {
	daemon Daemon
	keep   time.Duration

	mu  sync.Mutex
	at  time.Time // zero: nothing is kept
	all status.All
}

// get returns the status, at most keep old. The jobs may be sorted, and what they point to only read.
func (f *freshStatus) get() status.All {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at.IsZero() || time.Since(f.at) >= f.keep {
		f.all, f.at = f.daemon.Status(), time.Now()
	}
	out := f.all
	out.Jobs = slices.Clone(out.Jobs)
	return out
}

// drop forgets it, because somebody has changed something.
func (f *freshStatus) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = time.Time{}
}
