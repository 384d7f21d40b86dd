// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"mirrord/internal/binread"
	"mirrord/site"
)

// The journal has records in the order in which they came, which is any order of keys, and a leaf of the
// database is written whole: 4 kB for each record of a large site. So Fold takes a chunk of batches at a
// time. It writes their links, which lie by number, in the order of the journal, and their records by key, a
// part in each transaction; so each leaf is written about once for a chunk. The transaction of the last part
// removes the batches. Until then the database says which batches the chunk has and up to which key they are
// folded, so that nobody takes these records from the journal once more.

// What Fold holds in memory: the results of a chunk, and the leaves of the database that a part touches. On a
// large site each record of a part lies in a leaf of its own.
const (
	foldItems = 2048     // records of a part
	foldParts = 32       // of a chunk, at least
	foldKeys  = 32 << 20 // bytes of the keys of a chunk, about
)

// Folding says how Fold treats records.
type Folding struct {
	// that the run works for: records that it replaces go into its history, unless it is 1
	Version int
	Pending func(id uint32) bool // the URL still waits for its request; it is kept as such
	// mirror path of a resource in the mirror, "" to leave what the record says
	Path func(r *Resource) (p string)
}

// Fold moves the journal into the buckets that are kept. A crash in between is harmless: what was moved does
// not count in the journal any more, and the rest is moved by the next call.
func (s *Records) Fold(o Folding) error {
	s.gather.rest()
	for {
		c := foldChunk{Folding: o, site: s}
		if err := c.read(); err != nil {
			return err
		}
		if len(c.batches) == 0 {
			s.looks.written = nil
			return nil
		}
		if err := c.fold(); err != nil {
			return err
		}
	}
}

// foldingAt is how far the chunk is that is being folded. The zero value is that of none.
type foldingAt struct {
	last uint64
	key  []byte
}

func readFolding(m *bucket) (at foldingAt) {
	if v := m.Get(kFolding); len(v) > 8 {
		at.last, at.key = binary.BigEndian.Uint64(v), slices.Clone(v[8:])
	}
	return at
}

// folding returns how far the chunk is that is being folded.
func (s *Records) folding() (at foldingAt, err error) {
	err = s.db.View(func(tx *transaction) error {
		at = readFolding(tx.Bucket(bMeta))
		return nil
	})
	return at, err
}

// folded reports whether what a batch says of a URL is among the records already.
func (a *foldingAt) folded(batch []byte, u site.URL) bool {
	if a.last == 0 || u.IsZero() || binary.BigEndian.Uint64(batch) > a.last {
		return false
	}
	return bytes.Compare(u.Key(nil), a.key) <= 0
}

// foldChunk is some batches that are folded together.
type foldChunk struct {
	Folding
	site    *Records
	at      foldingAt // how far an earlier process has come with it
	batches []foldBatch
	items   []foldItem
	keys    []byte // of the items
}

// foldBatch is one batch of a chunk.
type foldBatch struct {
	seq     []byte
	results int
	rest    int // offset of what follows the results
}

// foldItem is a new URL or a result of a batch.
type foldItem struct {
	key   uint32 // where its key begins
	size  uint16 // of the key
	done  bool   // it is a result
	batch uint32
	at    uint32 // offset in the batch
	n     uint32 // number of a new URL, else which result of the batch it is
}

func (c *foldChunk) keyOf(i *foldItem) []byte { return c.keys[i.key:][:i.size] }

// part is how many items one transaction folds.
func (c *foldChunk) part() int { return c.site.foldItems + 1 }

// read reads which batches the chunk has, and what is in them.
func (c *foldChunk) read() error {
	err := c.site.db.View(func(tx *transaction) error {
		c.at = readFolding(tx.Bucket(bMeta))
		j := tx.Bucket(bJournal).Cursor()
		for k, v := j.First(); k != nil; k, v = j.Next() {
			seq := binary.BigEndian.Uint64(k)
			full := len(c.items) >= foldParts*c.part() || len(c.keys) > foldKeys
			if c.at.last > 0 {
				full = seq > c.at.last
			}
			if full && len(c.batches) > 0 {
				break
			}
			if seq > c.at.last {
				c.at = foldingAt{} // of a journal that is gone
			}
			if err := c.add(k, v); err != nil {
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

// parts cuts the items into those of one transaction each; all of a key are in one. There is one at least.
func (c *foldChunk) parts() (out [][]foldItem) {
	rest := c.items
	for len(rest) > c.part() {
		n := c.part()
		for n < len(rest) && bytes.Equal(c.keyOf(&rest[n]), c.keyOf(&rest[n-1])) {
			n++
		}
		out, rest = append(out, rest[:n]), rest[n:]
	}
	if len(rest) > 0 || len(out) == 0 {
		out = append(out, rest)
	}
	return out
}

// fold folds the chunk.
func (c *foldChunk) fold() error {
	parts := c.parts()
	alone := len(parts) == 1 // one transaction does all
	if !alone && (c.at.last == 0) {
		if err := c.links(); err != nil {
			return err
		}
	}
	for i, part := range parts {
		err := c.site.update("fold journal", func(tx *transaction) error {
			if alone && (c.at.last == 0) {
				if err := c.linksOf(tx, c.batches); err != nil {
					return err
				}
			}
			if err := c.records(tx, part); err != nil {
				return err
			}
			if i == len(parts)-1 {
				return c.end(tx)
			}
			at := slices.Concat(c.batches[len(c.batches)-1].seq, c.keyOf(&part[len(part)-1]))
			return tx.Bucket(bMeta).Put(kFolding, at)
		})
		if err != nil {
			return err
		}
		c.site.dropPages()
		c.site.at("folded a part")
	}
	return nil
}

// links writes the links of all batches.
func (c *foldChunk) links() error {
	for rest := c.batches; len(rest) > 0; {
		n, results := 0, 0
		for n < len(rest) && (n == 0 || results+rest[n].results <= c.site.foldItems) {
			results += rest[n].results
			n++
		}
		err := c.site.update("fold links", func(tx *transaction) error { return c.linksOf(tx, rest[:n]) })
		if err != nil {
			return err
		}
		rest = rest[n:]
		c.site.dropPages()
		c.site.at("folded links")
	}
	return nil
}

// linksOf writes the links of some batches, in the order of the numbers of their documents.
func (c *foldChunk) linksOf(tx *transaction, batches []foldBatch) error {
	type idTargets struct {
		id uint32
		v  []byte
	}
	var all []idTargets
	var b batch
	var r Resource
	for i := range batches {
		if err := b.decode(tx.Bucket(bJournal).Get(batches[i].seq)); err != nil {
			return err
		}
		for _, d := range b.done {
			if !d.linked {
				continue
			}
			if err := r.decode(site.URL{}, d.rec); err != nil {
				return err
			}
			all = append(all, idTargets{r.ID, slices.Clone(d.targets)})
		}
	}
	slices.SortStableFunc(all, func(a, b idTargets) int { return cmp.Compare(a.id, b.id) })
	links := tx.Bucket(bLinks)
	links.fill(0.9)
	for _, t := range all {
		if err := links.Put(binary.BigEndian.AppendUint32(nil, t.id), t.v); err != nil {
			return err
		}
	}
	return nil
}

// records writes the records of a part.
func (c *foldChunk) records(tx *transaction, part []foldItem) (err error) {
	s := c.site
	f := fold{
		Folding: c.Folding,
		site:    s,
		res:     tx.Bucket(bResources),
		hist:    tx.Bucket(bHistory),
		recs:    map[string]*folded{},
	}
	if f.looked, err = s.looks.folded(tx); err != nil {
		return err
	}
	if !s.volatile {
		if err := s.heads.begin(tx); err != nil {
			return err
		}
	}
	part = slices.Clone(part) // in the order of the journal
	slices.SortFunc(part, func(a, b foldItem) int {
		return cmp.Or(cmp.Compare(a.batch, b.batch), cmp.Compare(a.at, b.at))
	})
	var v []byte
	var answers [][]byte
	for n := range part {
		i := &part[n]
		if b := &c.batches[i.batch]; n == 0 || i.batch != part[n-1].batch {
			v = tx.Bucket(bJournal).Get(b.seq)
			d := binread.Reader{Rest: v[b.rest:]}
			answers, _ = s.zip.read(d.Bytes(), b.results) // heads that are damaged are lost, and no more
		}
		d := binread.Reader{Rest: v[i.at:]}
		if !i.done {
			u := readNew(&d)
			err = f.addNew(i.n, &u)
		} else {
			var answer []byte
			if answers != nil {
				answer = answers[i.n]
			}
			r := readDone(&d)
			err = f.addDone(&r, answer)
		}
		if err != nil {
			return err
		}
	}
	if err := f.flush(); err != nil {
		return err
	}
	return s.heads.flush(tx)
}

// end keeps the looks of the batches, and removes them from the journal.
func (c *foldChunk) end(tx *transaction) error {
	var looks []look
	j := tx.Bucket(bJournal)
	for i := range c.batches {
		d := binread.Reader{Rest: j.Get(c.batches[i].seq)[c.batches[i].rest:]}
		if len(d.Rest) > 0 {
			d.Bytes() // heads
		}
		for len(d.Rest) > 0 && !d.Bad {
			looks = join(looks, readLook(&d))
		}
		if d.Bad {
			return fmt.Errorf("journal: %w: short batch", errValue)
		}
	}
	if err := addLooks(tx.Bucket(bLooks), looks); err != nil {
		return err
	}
	for i := range c.batches {
		if err := j.Delete(c.batches[i].seq); err != nil {
			return err
		}
	}
	return tx.Bucket(bMeta).Delete(kFolding)
}
