// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"sync"

	"mirrord/site"
)

// Variants counts the URLs of a site by shape, against endless spaces: a site.TrapCounter that many workers
// share.
type Variants struct {
	mu      sync.Mutex
	counter *site.TrapCounter
}

// NewVariants returns an empty count with the limits of a job.
func NewVariants(limits site.Traps) *Variants {
	return &Variants{counter: site.NewTrapCounter(limits)}
}

// Add counts a URL. trapped says that there are more of its shape than the limits allow, reason which one.
func (v *Variants) Add(u site.URL) (reason string, trapped bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.counter.Add(u)
}

// Drop gives the memory back; Add must no longer be called.
func (v *Variants) Drop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counter = nil
}
