// SPDX-License-Identifier: Apache-2.0

package collections

import (
	"encoding/binary"
	"fmt"
	"slices"

	"mirrord/replica/text"
)

// bandColumns are the keys of all pages and bands. They are written by blocks of pages, in which the keys of
// a band lie together, so that a band is read without the others: 4 bytes a page.
type bandColumns struct {
	pile  pile
	block int    // pages of a block
	held  []byte // the last block
	pages int

	whole int // pages whose keys of a band are held at a time, at most
	keys  []uint32
	raw   []byte
	tick  func(n int) error // receives the number of pages read; an error ends it
}

// newBandColumns makes columns that take limit bytes, and as much again while they are read.
func newBandColumns(spill Spill, limit int, tick func(int) error) bandColumns {
	// an odd number of cache lines in a band, or else all bands would fall on the same ones
	block := min(limit/128, 1<<14)/32*32 - 16
	return bandColumns{
		pile:  newPile(spill, limit),
		block: max(block, 16),
		whole: limit / 4,
		tick:  tick,
	}
}

func (c *bandColumns) add(s *text.Sketch) error {
	if c.held == nil {
		c.held = make([]byte, c.block*text.Bins)
	}
	at := c.pages % c.block * text.BandRows
	for i := 0; i < text.Bins; i += text.BandRows {
		copy(c.held[at+i*c.block:][:text.BandRows], s[i:i+text.BandRows])
	}
	if c.pages++; c.pages%c.block == 0 {
		return c.pile.add(c.held)
	}
	return nil
}

// settle says that no page follows.
func (c *bandColumns) settle() error {
	if c.pages%c.block > 0 {
		if err := c.pile.add(c.held); err != nil {
			return err
		}
	}
	c.held = nil
	return c.pile.settle()
}

// band gives the keys of a band. They are read once, when they can be held, or else each time that they are
// needed.
func (c *bandColumns) band(band int) (column, error) {
	if c.pages > c.whole {
		return func(visit func(int, []uint32) error) error { return c.read(band, visit) }, nil
	}
	c.keys = c.keys[:0]
	c.keys = slices.Grow(c.keys, c.pages)
	err := c.read(band, func(int, []uint32) error { return nil })
	keys := c.keys
	return func(visit func(int, []uint32) error) error {
		for from := 0; from < len(keys); from += c.block {
			if err := visit(from, keys[from:min(from+c.block, len(keys))]); err != nil {
				return err
			}
			if err := c.tick(c.block); err != nil {
				return err
			}
		}
		return nil
	}, err
}

// read reads the keys of a band block by block. keys keeps all of them when its room is enough, or else the
// last block.
func (c *bandColumns) read(band int, visit func(int, []uint32) error) error {
	for from := 0; from < c.pages; from += c.block {
		n := min(c.block, c.pages-from)
		c.raw = slices.Grow(c.raw[:0], n*text.BandRows)[:n*text.BandRows]
		if _, err := c.pile.ReadAt(c.raw, int64(from)*text.Bins+int64(band*c.block*text.BandRows)); err != nil {
			return fmt.Errorf("keys of band %d: %w", band, err)
		}
		if c.pages > c.whole {
			c.keys = c.keys[:0]
		}
		for i := 0; i < len(c.raw); i += text.BandRows {
			c.keys = append(c.keys, binary.LittleEndian.Uint32(c.raw[i:]))
		}
		if err := visit(from, c.keys[len(c.keys)-n:]); err != nil {
			return err
		}
		if err := c.tick(n); err != nil {
			return err
		}
	}
	return nil
}

func (c *bandColumns) close() error {
	c.held, c.keys, c.raw = nil, nil, nil
	return c.pile.close()
}
