// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"unsafe"

	"mirrord/internal/binread"
)

// read reads the batches of the chunk.
func (c *foldChunk) read() error {
	c.batches, c.items, c.keys = nil, nil, nil
	err := c.site.db.View(func(tx *transaction) error {
		c.at = readFolding(tx.Bucket(bMeta))
		journal := tx.Bucket(bJournal)
		j := journal.Cursor()
		for k, v := j.First(); k != nil; k, v = j.Next() {
			seq := binary.BigEndian.Uint64(k)
			if len(c.batches) == 0 && seq > c.at.last {
				c.at = foldingAt{} // of a journal that is gone
			}
			if c.ends(seq) {
				return nil
			}
			if err := c.add(k, v, journal.offset(v)); err != nil {
				return err
			}
		}
		return nil
	})
	c.site.dropPages()
	slices.SortFunc(c.items, func(a, b foldItem) int {
		return cmp.Or(bytes.Compare(c.keyOf(&a), c.keyOf(&b)), cmp.Compare(a.batch, b.batch),
			cmp.Compare(a.at, b.at))
	})
	return err
}

// ends reports whether the chunk ends before a batch. One that an earlier process has begun ends where that
// process had it end.
func (c *foldChunk) ends(seq uint64) bool {
	if c.at.last > 0 {
		return seq > c.at.last
	}
	return len(c.items) >= c.site.foldParts*c.part() || len(c.keys) > foldKeys
}

// add takes a batch into the chunk.
func (c *foldChunk) add(seq, v []byte, off int64) error {
	d := binread.Reader{Rest: v}
	number := uint32(len(c.batches))
	item := func(text []byte, at int, i foldItem) error {
		u, err := journalURL(text)
		if err != nil {
			return err
		}
		if c.at.folded(seq, u) {
			return nil
		}
		i.batch, i.key = number, uint32(len(c.keys))
		i.stretch = stretchOf(v, at, len(v)-len(d.Rest))
		c.keys = u.Key(c.keys)
		i.size = uint16(len(c.keys) - int(i.key))
		c.items = append(c.items, i)
		return nil
	}
	first := uint32(d.Uvarint())
	news := uint32(d.Uvarint())
	for n := uint32(0); n < news && !d.Bad; n++ {
		at := len(v) - len(d.Rest)
		text := d.Bytes()
		d.Uvarint()
		d.Uvarint()
		if d.Bad || !c.Pending(first+n) {
			continue
		}
		if err := item(text, at, foldItem{n: first + n}); err != nil {
			return err
		}
	}
	b := foldBatch{
		seq:     slices.Clone(seq),
		off:     off,
		size:    len(v),
		results: int(d.Uvarint()),
	}
	for n := 0; n < b.results && !d.Bad; n++ {
		at := len(v) - len(d.Rest)
		r := readDone(&d)
		if d.Bad {
			break
		}
		if err := item(r.url, at, foldItem{n: uint32(n), done: true}); err != nil {
			return err
		}
	}
	if d.Bad {
		return fmt.Errorf("journal: %w: short batch", errValue)
	}
	if b.rest = len(v) - len(d.Rest); len(d.Rest) > 0 {
		frame := d.Bytes()
		end := len(v) - len(d.Rest)
		b.heads = stretchOf(v, end-len(frame), end)
	}
	c.batches = append(c.batches, b)
	return nil
}

// stretch is some bytes of a batch. The items of a part lie anywhere in the journal: they are read from the
// file, since through the mapping all of the journal would be mapped for each part, and given back again.
type stretch struct {
	at, size uint32 // from the beginning of the batch
	sum      uint32 // crc32c of the bytes, when the batch was checked
}

func stretchOf(batch []byte, from, to int) stretch {
	return stretch{
		at:   uint32(from),
		size: uint32(to - from),
		sum:  crc32.Checksum(batch[from:to], castagnoli),
	}
}

// foldAhead is how many bytes of a batch are read at once at least: the items of one part mostly lie near
// each other.
const foldAhead = 4 << 10

// bytesOf reads a stretch of a batch. They are valid until the next call.
func (c *foldChunk) bytesOf(b *foldBatch, s stretch) ([]byte, error) {
	if s.size == 0 {
		return nil, nil
	}
	at := b.off + int64(s.at)
	if have := c.bufAt + int64(len(c.buf)); b.off < 0 || at < c.bufAt || at+int64(s.size) > have {
		n := max(int(s.size), min(foldAhead, b.size-int(s.at)))
		c.buf, c.bufAt = slices.Grow(c.buf[:0], n)[:n], at
		if err := c.fill(b, s.at); err != nil {
			c.buf = c.buf[:0]
			return nil, err
		}
	}
	v := c.buf[at-c.bufAt:][:s.size]
	if crc32.Checksum(v, castagnoli) != s.sum {
		return nil, fmt.Errorf("journal: %w: other bytes than before", errValue)
	}
	return v, nil
}

// fill fills the buffer from a byte of a batch on.
func (c *foldChunk) fill(b *foldBatch, from uint32) error {
	if b.off >= 0 {
		return c.site.db.readAt(c.buf, b.off+int64(from))
	}
	return c.site.db.View(func(tx *transaction) error { // a small journal
		copy(c.buf, tx.Bucket(bJournal).Get(b.seq)[from:])
		return nil
	})
}

// offset returns where in the database's file a value lies that was read in a transaction that does not
// write. It lies there until the bucket is changed. A small bucket has no pages of its own: -1.
func (b *bucket) offset(v []byte) int64 {
	if b.b.RootPage() == 0 {
		return -1
	}
	return int64(uintptr(unsafe.Pointer(unsafe.SliceData(v))) - b.t.tx.DB().Info().Data)
}
