// SPDX-License-Identifier: Apache-2.0

package depot

import (
	"context"
	"sync"

	"mirrord/cluster/objects"
)

// knownBodies are the bodies that are known to be in a depot. Its methods may be called from several
// goroutines.
type knownBodies struct {
	mu    sync.Mutex
	all   *Bodies
	since uint64 // the epoch in which all was begun
}

// in returns the known bodies of an epoch. What was known in an earlier one may have been collected since.
func (k *knownBodies) in(ctx context.Context, from objects.Store, epoch uint64) *Bodies {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.all == nil || k.since != epoch {
		k.all, k.since = NewBodies(ctx, from), epoch
	}
	return k.all
}

// loaded reports whether an object of bodies was seen in this epoch.
func (k *knownBodies) loaded(name string) bool {
	k.mu.Lock()
	b := k.all
	k.mu.Unlock()
	return b != nil && b.has(name)
}
