// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"mirrord/internal/binread"
)

// errManyKeys says that a chunk is too large for the memory.
var errManyKeys = errors.New("the journal is larger than a chunk")

// read reads which batches the chunk has, and what is in them.
func (c *foldChunk) read() error {
	full := func() bool { return len(c.items) >= c.site.foldParts*c.part() || len(c.keys) > foldKeys }
	err := c.take(c.add, func(tx *transaction, seq uint64) (bool, error) {
		if full() && (c.at.last > 0 || seq <= c.share(tx)) {
			return false, errManyKeys
		}
		return full(), nil
	})
	if errors.Is(err, errManyKeys) {
		if err = c.sort(); c.sorter != nil || err != nil {
			return err
		}
		// There is no room to sort: a chunk as large as the memory. One that was begun is as large as it is.
		err = c.take(c.add, func(*transaction, uint64) (bool, error) { return full(), nil })
	}
	slices.SortFunc(c.items, func(a, b foldItem) int {
		return cmp.Or(bytes.Compare(c.keyOf(&a), c.keyOf(&b)), cmp.Compare(a.batch, b.batch),
			cmp.Compare(a.at, b.at))
	})
	return err
}

// share returns the number of the last batch of a share of the journal that begins with the chunk.
func (c *foldChunk) share(tx *transaction) uint64 {
	first := binary.BigEndian.Uint64(c.batches[0].seq)
	return first + (tx.Bucket(bJournal).Sequence()-first)/foldShare
}

// sort reads the chunk, and sorts it on the disk. Where there is no room for that, there is no sorter.
func (c *foldChunk) sort() (err error) {
	if c.sorter, err = newFoldSorter(c.site.dir); err != nil {
		return nil
	}
	err = c.take(c.addSorted, func(tx *transaction, seq uint64) (bool, error) { return seq > c.share(tx), nil })
	if err == nil {
		err = diskErr("sort journal", c.sorter.merge())
	}
	if c.sorter.full {
		c.close()
		c.sorter, err = nil, nil
	}
	c.site.at("sorted the journal")
	return err
}

// take calls add for the batches of the chunk. ends is called before each but the first one, with its number;
// it reports whether the chunk ends before it. One that an earlier process has begun ends where that had it
// end, whatever ends reports.
func (c *foldChunk) take(
	add func(seq, v []byte) error, ends func(tx *transaction, seq uint64) (bool, error),
) error {
	c.batches, c.items, c.keys = nil, nil, nil
	err := c.site.db.View(func(tx *transaction) error {
		c.at = readFolding(tx.Bucket(bMeta))
		j := tx.Bucket(bJournal).Cursor()
		for k, v := j.First(); k != nil; k, v = j.Next() {
			seq := binary.BigEndian.Uint64(k)
			if len(c.batches) > 0 {
				if c.at.last > 0 && seq > c.at.last {
					return nil
				}
				if end, err := ends(tx, seq); err != nil || (end && c.at.last == 0) {
					return err
				}
			} else if seq > c.at.last {
				c.at = foldingAt{} // of a journal that is gone
			}
			if err := add(k, v); err != nil {
				return err
			}
		}
		return nil
	})
	c.site.dropPages()
	return err
}

// addSorted gives the items of a batch to the sorter.
func (c *foldChunk) addSorted(seq, v []byte) error {
	var b batch
	if err := b.decode(v); err != nil {
		return err
	}
	answers, _ := c.site.zip.read(b.heads, len(b.done)) // heads that are damaged are lost, and no more
	number, at := uint32(len(c.batches)), uint32(0)
	var key []byte
	wanted := func(text string) (bool, error) {
		at++
		u, err := storedURL(text)
		if err != nil {
			return false, fmt.Errorf("journal: %w", err)
		}
		key = u.Key(key[:0])
		return !c.at.folded(seq, u), nil
	}
	for i := range b.news {
		id := b.first + uint32(i)
		if !c.Pending(id) {
			continue
		}
		ok, err := wanted(b.news[i].URL)
		if ok {
			err = c.sorter.addNew(key, number, at, id, &b.news[i])
		}
		if err != nil {
			return err
		}
	}
	for i := range b.done {
		ok, err := wanted(b.done[i].url)
		if ok {
			var answer []byte
			if answers != nil {
				answer = answers[i]
			}
			err = c.sorter.addDone(key, number, at, b.done[i].rec, answer)
		}
		if err != nil {
			return err
		}
	}
	c.batches = append(c.batches, foldBatch{seq: slices.Clone(seq), results: len(b.done), rest: b.rest})
	return nil
}

// add takes a batch into the chunk.
func (c *foldChunk) add(seq, v []byte) error {
	d := binread.Reader{Rest: v}
	number := uint32(len(c.batches))
	item := func(text []byte, i foldItem) error {
		u, err := storedURL(string(text))
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		if c.at.folded(seq, u) {
			return nil
		}
		i.batch, i.key = number, uint32(len(c.keys))
		c.keys = u.Key(c.keys)
		i.size = uint16(len(c.keys) - int(i.key))
		c.items = append(c.items, i)
		return nil
	}
	first := uint32(d.Uvarint())
	news := uint32(d.Uvarint())
	for n := uint32(0); n < news && !d.Bad; n++ {
		at := uint32(len(v) - len(d.Rest))
		text := d.Bytes()
		d.Uvarint()
		d.Uvarint()
		if d.Bad || !c.Pending(first+n) {
			continue
		}
		if err := item(text, foldItem{at: at, n: first + n}); err != nil {
			return err
		}
	}
	b := foldBatch{seq: slices.Clone(seq), results: int(d.Uvarint())}
	for n := 0; n < b.results && !d.Bad; n++ {
		at := uint32(len(v) - len(d.Rest))
		r := readDone(&d)
		if d.Bad {
			break
		}
		if err := item([]byte(r.url), foldItem{at: at, n: uint32(n), done: true}); err != nil {
			return err
		}
	}
	if d.Bad {
		return fmt.Errorf("journal: %w: short batch", errValue)
	}
	b.rest = len(v) - len(d.Rest)
	c.batches = append(c.batches, b)
	return nil
}
