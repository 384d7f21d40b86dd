// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"os"
	"slices"

	"mirrord/internal/binread"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// The journal has records in the order in which they came, which is any order of keys, and a leaf of the
// database is written whole: 4 kB for each record of a large site. So Fold takes a chunk of batches at a
// time. It writes their links, which lie by number, in the order of the journal, and their records by key, a
// part in each transaction; so each leaf is written about once for a chunk. The transaction of the last part
// says that the batches are folded. After a crash before it they are folded once more, which makes the same
// records: a value that a version goes back to is not written again.

// What Fold holds in memory: the results of a chunk, and the leaves of the database that a part touches. On a
// large site each record of a part is in a leaf of its own.
const (
	foldItems = 2048     // records of a part
	foldParts = 32       // of a chunk in memory
	foldBytes = 32 << 20 // of the keys, records and heads of a chunk in memory, about
)

// Folding says how Fold treats records.
type Folding struct {
	// that the run works for: records that it replaces go into its history, unless it is 1
	Version int
	Pending func(id uint32) bool // the URL still waits for its request; it is kept as such
	// mirror path of a resource in the mirror, "" to leave what the record says
	Path func(r *record.Resource) (p string)
	// Err says why what the functions returned does not count: nothing of that is written then. nil: it counts
	Err func() error
}

// Fold moves the journal into the buckets. A crash in between is harmless.
func (s *Records) Fold(o Folding) error {
	for {
		done, err := s.foldNext(o)
		if err != nil {
			return err
		}
		if done {
			s.looks.written = nil
			return nil
		}
	}
}

// foldNext folds a chunk; done means that there was none.
func (s *Records) foldNext(o Folding) (done bool, err error) {
	c := foldChunk{Folding: o, site: s}
	if err := c.read(); err != nil || len(c.batches) == 0 {
		return err == nil, err
	}
	return false, c.fold()
}

// foldChunk is some batches that are folded together.
type foldChunk struct {
	Folding
	site    *Records
	file    *os.File // the segment of the log that has them
	batches []foldBatch
	entries []journalEntry // of the batches
	items   []foldItem
	values  []byte // keys of the items, and what the batches say of them
	looks   []record.Look
	known   uint32 // URLs that have a number
	order   []foldStep
	recs    []folded // of a part, in the order of their keys
}

// foldBatch is one batch of a chunk.
type foldBatch struct {
	results int
	heads   []byte // of the answers, packed; nil for none
}

// foldItem is a new URL or a result of a batch.
type foldItem struct {
	at     int    // where its key begins, and behind that what the batch says
	key    uint16 // bytes of the key
	size   uint32 // bytes of what the batch says: the record of a result, else the referral
	done   bool   // it is a result
	number uint32 // among all items
	batch  uint32
	n      uint32 // number of a new URL, else which result of the batch it is
}

// read reads the batches of the chunk.
func (c *foldChunk) read() error {
	file, entries := c.site.db.journal.list()
	c.file = file
	err := readBatches(file, entries, func(tx uint64, payload []byte) error {
		if len(c.items) >= c.site.foldParts*(c.site.foldItems+1) || len(c.values) > foldBytes {
			return errEnd
		}
		return c.add(payload[packEnd:])
	})
	if errors.Is(err, errEnd) {
		err = nil
	}
	c.entries = entries[:len(c.batches)]
	slices.SortFunc(c.items, func(a, b foldItem) int {
		return cmp.Or(bytes.Compare(c.keyOf(&a), c.keyOf(&b)), cmp.Compare(a.number, b.number))
	})
	return c.site.db.damagedValue(err)
}

// add takes a batch into the chunk.
func (c *foldChunk) add(v []byte) error {
	d := binread.Reader{Rest: v}
	item := func(text, said []byte, i foldItem) error {
		u, err := record.BatchURL(text)
		if err != nil {
			return err
		}
		i.at, i.batch, i.number = len(c.values), uint32(len(c.batches)), uint32(len(c.items))
		c.values = u.Key(c.values)
		i.key, i.size = uint16(len(c.values)-i.at), uint32(len(said))
		c.values = append(c.values, said...)
		c.items = append(c.items, i)
		return nil
	}
	first := uint32(d.Uvarint())
	news := uint32(d.Uvarint())
	for n := uint32(0); n < news && !d.Bad; n++ {
		text := d.Bytes()
		said := d.Rest
		d.Uvarint()
		d.Uvarint()
		if d.Bad || !c.Pending(first+n) {
			continue
		}
		if err := item(text, said[:len(said)-len(d.Rest)], foldItem{n: first + n}); err != nil {
			return err
		}
	}
	c.known = max(c.known, first+news)
	b := foldBatch{results: int(d.Uvarint())}
	for n := 0; n < b.results && !d.Bad; n++ {
		r := record.ReadDone(&d)
		if d.Bad {
			break
		}
		if err := item(r.URL, r.Record, foldItem{n: uint32(n), done: true}); err != nil {
			return err
		}
	}
	if len(d.Rest) > 0 {
		b.heads = slices.Clone(d.Bytes())
	}
	for len(d.Rest) > 0 && !d.Bad {
		c.looks = record.JoinLooks(c.looks, record.ReadLook(&d))
	}
	if d.Bad {
		return errBatch
	}
	c.batches = append(c.batches, b)
	return nil
}

// foldStep is an item of a part, with the record that it belongs to.
type foldStep struct {
	*foldItem
	rec int
}

func (c *foldChunk) keyOf(i *foldItem) []byte { return c.values[i.at:][:i.key] }

// said is what the batch says of an item.
func (c *foldChunk) said(i *foldItem) []byte { return c.values[i.at+int(i.key):][:i.size] }

// nextPart is how many of the items that are left one transaction folds: those of a key together.
func (c *foldChunk) nextPart(rest []foldItem) int {
	n := min(len(rest), c.site.foldItems+1)
	for (n > 0) && (n < len(rest)) && bytes.Equal(c.keyOf(&rest[n]), c.keyOf(&rest[n-1])) {
		n++
	}
	return n
}

func (c *foldChunk) fold() error {
	if err := c.links(); err != nil {
		return err
	}
	for rest, last := c.items, false; !last; {
		n := c.nextPart(rest)
		err := c.readPart(rest[:n])
		if err != nil {
			return disk.Err("fold journal", err)
		}
		rest, last = rest[n:], n == len(rest)
		err = c.site.update("fold journal", func(tx *transaction) error {
			tx.later = redoLater
			if err := c.records(tx); (err != nil) || !last {
				return err
			}
			return c.end(tx)
		})
		if err != nil {
			return err
		}
		c.site.dropPages()
		c.site.at("folded a part")
	}
	c.site.db.journal.drop(c.entries[len(c.entries)-1].tx)
	return nil
}

// readPart makes the records of some items.
func (c *foldChunk) readPart(items []foldItem) error {
	c.recs = c.recs[:0]
	err := c.site.db.damagedValue(c.addItems(items))
	if (err == nil) && (c.Err != nil) {
		err = c.Err()
	}
	return err
}

// links writes the links of all batches.
func (c *foldChunk) links() error {
	for from, to := 0, 0; from < len(c.batches); from = to {
		results := c.batches[from].results
		for to = from + 1; to < len(c.batches) && results+c.batches[to].results <= c.site.foldItems; to++ {
			results += c.batches[to].results
		}
		all, err := c.linksOf(c.entries[from:to])
		if (err == nil) && (len(all) > 0) {
			err = c.site.update("fold links", func(tx *transaction) error {
				tx.later = redoLater
				return writeLinks(tx, all)
			})
			c.site.dropPages()
			c.site.at("folded links")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// foldedLinks is a list of targets.
type foldedLinks struct {
	id      uint32
	targets []byte
}

// linksOf returns the links of some batches, in the order of the numbers of their documents.
func (c *foldChunk) linksOf(entries []journalEntry) (all []foldedLinks, err error) {
	err = readBatches(c.file, entries, func(_ uint64, payload []byte) error {
		r := binread.Reader{Rest: payload[packEnd:]}
		record.SkipNews(&r)
		for n := r.Uvarint(); n > 0 && !r.Bad; n-- {
			d := record.ReadDone(&r)
			if !d.Linked {
				continue
			}
			id, _, err := record.NumbersOf(nil, d.Record)
			if err != nil {
				return err
			}
			all = append(all, foldedLinks{id, slices.Clone(d.Targets)})
		}
		if r.Bad {
			return errBatch
		}
		return nil
	})
	slices.SortStableFunc(all, func(a, b foldedLinks) int { return cmp.Compare(a.id, b.id) })
	return all, c.site.db.damagedValue(err)
}

// writeLinks writes links, in the order of their documents.
func writeLinks(tx *transaction, all []foldedLinks) error {
	links := tx.Bucket(bLinks)
	links.fill(0.9)
	var key []byte
	for _, t := range all {
		key = binary.BigEndian.AppendUint32(key[:0], t.id)
		if err := links.Put(key, t.targets); err != nil {
			return err
		}
	}
	return nil
}

// records writes the records of a part.
func (c *foldChunk) records(tx *transaction) (err error) {
	s := c.site
	f := recordWriter{foldChunk: c, res: tx.Bucket(bResources), hist: tx.Bucket(bHistory)}
	if f.looked, err = s.looks.folded(tx); (err == nil) && !s.volatile {
		err = s.heads.begin(tx)
	}
	if err == nil {
		err = f.flush()
	}
	if err != nil {
		return err
	}
	return s.heads.flush(tx)
}

// addItems makes records of some items of a chunk.
func (c *foldChunk) addItems(part []foldItem) error {
	c.order = c.order[:0]
	for n := range part {
		if n == 0 || !bytes.Equal(c.keyOf(&part[n]), c.keyOf(&part[n-1])) {
			c.recs = append(c.recs, folded{key: c.keyOf(&part[n])})
		}
		c.order = append(c.order, foldStep{&part[n], len(c.recs) - 1})
	}
	slices.SortFunc(c.order, func(a, b foldStep) int { return cmp.Compare(a.number, b.number) })
	var answers [][]byte
	for n, i := range c.order {
		if n == 0 || i.batch != c.order[n-1].batch {
			b := &c.batches[i.batch]
			answers, _ = c.site.zip.read(b.heads, b.results) // heads that are damaged are lost, and no more
		}
		r := &c.recs[i.rec]
		u := r.URL // all items of a record have it
		if u.IsZero() {
			var err error
			if u, err = record.URLOfKey(c.keyOf(i.foldItem)); err != nil {
				return err
			}
		}
		if !i.done {
			n := record.ReadReferral(&binread.Reader{Rest: c.said(i.foldItem)})
			r.addNew(i.n, u, &n)
			continue
		}
		var answer []byte
		if answers != nil {
			answer = answers[i.n]
		}
		if err := c.addDone(r, u, c.said(i.foldItem), answer); err != nil {
			return err
		}
	}
	return nil
}

// end keeps the looks of the batches, and says that these are folded.
func (c *foldChunk) end(tx *transaction) error {
	m := tx.Bucket(bMeta)
	if v := m.Get(kKnown); len(v) == 4 {
		c.known = max(c.known, binary.BigEndian.Uint32(v))
	}
	return errors.Join(
		addLooks(tx.Bucket(bLooks), c.looks),
		m.Put(kFolded, seqKey(c.entries[len(c.entries)-1].tx)),
		m.Put(kKnown, binary.BigEndian.AppendUint32(nil, c.known)),
		c.site.packs.note(tx),
	)
}
