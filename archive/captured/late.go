// SPDX-License-Identifier: Apache-2.0

package captured

import (
	"sync"

	"mirrord/archive/warc"
)

// LateChecks are the results for the records of an archive that is checked while it is imported. The
// zero value is ready for use.
type LateChecks struct {
	memories sync.Pool

	mu     sync.Mutex // guards what follows
	good   map[int]uint64
	damage error
}

// Checked reports whether a record was found to be good.
func (c *LateChecks) Checked(record int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.good[record/64]&(1<<(record%64)) != 0
}

// Note stores the error of a record, nil for a good one.
func (c *LateChecks) Note(record int, wrong error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case wrong == nil && c.good == nil:
		c.good = map[int]uint64{record / 64: 1 << (record % 64)}
	case wrong == nil:
		c.good[record/64] |= 1 << (record % 64)
	case c.damage == nil:
		c.damage = wrong
	}
}

// Damage returns the first thing that was found to be wrong; nil for nothing.
func (c *LateChecks) Damage() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.damage
}

// Take returns memory for one record.
func (c *LateChecks) Take() *warc.Memory {
	if m, ok := c.memories.Get().(*warc.Memory); ok {
		return m
	}
	return warc.NewMemory()
}

// Give takes memory back.
func (c *LateChecks) Give(m *warc.Memory) {
	m.Shrink()
	c.memories.Put(m)
}
