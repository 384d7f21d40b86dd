// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"sync"

	"mirrord/store/record"
)

// unpackedBundles caches the unpacked bundles of a site's packs that were read last: documents read in
// sequence are mostly stored together. They are shared by all readers of the packs. Safe for concurrent use.
type unpackedBundles struct {
	mu    sync.Mutex
	list  []*unpackedBundle // the one that was used last at the end
	most  int               // of them
	least int               // bytes of their buffers
	free  [][]byte          // memory of those no longer in use
}

// unpackedBundle is one of them. Its bytes do not change while it is in use.
type unpackedBundle struct {
	at    record.Place // of the frame
	out   []byte
	index bundleIndex
	users int  // readers that have slices of out
	gone  bool // out of the list
}

const (
	maxUnpacked     = 4               // bundles
	maxUnpackedFree = 1               // buffers for the next ones
	maxUnpackedSize = 2 * bundleBytes // bytes of a buffer that is used again
)

// take returns the bundle at a place for a reader, nil when it has to be read. The reader gives it back.
func (c *unpackedBundles) take(at record.Place) *unpackedBundle {
	at.Doc = 0
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.list, func(u *unpackedBundle) bool { return u.at == at })
	if i < 0 {
		return nil
	}
	u := c.list[i]
	c.list = append(slices.Delete(c.list, i, i+1), u)
	u.users++
	return u
}

// room returns memory for the next bundle.
func (c *unpackedBundles) room(size int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.free); n > 0 && cap(c.free[n-1]) >= size+decodeSlack {
		b := c.free[n-1]
		c.free = c.free[:n-1]
		return b
	}
	return make([]byte, 0, max(size, c.least)+decodeSlack)
}

// add keeps a bundle that a reader has unpacked, and has from now on.
func (c *unpackedBundles) add(at record.Place, out []byte, x bundleIndex) *unpackedBundle {
	at.Doc = 0
	u := &unpackedBundle{
		at:    at,
		out:   out,
		index: x,
		users: 1,
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, u)
	if len(c.list) > c.most {
		c.leave(c.list[0])
		c.list = slices.Delete(c.list, 0, 1)
	}
	return u
}

// giveBack ends what take and add began.
func (c *unpackedBundles) giveBack(u *unpackedBundle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u.users--; u.gone {
		c.reuse(u)
	}
}

// drop lets go of the bundles that which wants, of all when it is nil.
func (c *unpackedBundles) drop(which func(at record.Place) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = slices.DeleteFunc(c.list, func(u *unpackedBundle) bool {
		is := which == nil || which(u.at)
		if is {
			c.leave(u)
		}
		return is
	})
}

// leave notes that a bundle is no longer in the list. The caller holds mu.
func (c *unpackedBundles) leave(u *unpackedBundle) {
	u.gone = true
	c.reuse(u)
}

// reuse takes the memory of a bundle that is no longer in use. The caller holds mu.
func (c *unpackedBundles) reuse(u *unpackedBundle) {
	if u.users == 0 && len(c.free) < maxUnpackedFree && cap(u.out) <= maxUnpackedSize {
		c.free = append(c.free, u.out[:0])
	}
}

// letGo ends the use of the bundle that the last document was read from.
func (r *FrameReader) letGo() {
	if r.shared != nil {
		r.of.giveBack(r.shared)
		r.shared, r.of = nil, nil
	}
}
