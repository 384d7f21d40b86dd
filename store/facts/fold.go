// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
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
		c := foldChunk{Folding: o, site: s}
		if err := c.read(); err != nil {
			return err
		}
		if c.last == 0 {
			s.looks.written = nil
			return nil
		}
		if err := c.fold(); err != nil {
			return err
		}
	}
}

// foldChunk is some batches that are folded together.
type foldChunk struct {
	Folding
	site  *Records
	last  uint64 // of the last batch; 0 without one
	items []foldItem
	bytes int // of the items
	links []foldedLinks
	looks []record.Look
	known uint32   // URLs that have a number
	recs  []folded // of a part, in the order of their keys
}

// foldItem is a new URL or a result of a batch.
type foldItem struct {
	key    []byte // of its URL
	record []byte
	answer []byte // head of its answer
	done   bool   // it is a result
}

// read reads the batches of the chunk, and writes their links.
func (c *foldChunk) read() error {
	var b record.LogBatch
	err := c.site.DB.Batches(func(tx uint64, batch []byte) error {
		if len(c.items) >= c.site.FoldParts*(c.site.FoldItems+1) || c.bytes > foldBytes {
			return errPassed
		}
		c.last = tx
		if err := b.Decode(batch); err != nil {
			return err
		}
		if err := c.add(&b); err != nil {
			return err
		}
		return c.putLinks(c.site.FoldItems)
	})
	if err == nil || errors.Is(err, errPassed) {
		err = c.putLinks(1)
	}
	slices.SortStableFunc(c.items, func(a, b foldItem) int { return bytes.Compare(a.key, b.key) })
	return c.site.DB.DamagedValue(err)
}

func (c *foldChunk) add(b *record.LogBatch) error {
	item := func(text string, rec, answer []byte, done bool) error {
		u, err := record.StoredURL(text)
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		i := foldItem{
			key:    u.Key(nil),
			record: slices.Clone(rec),
			answer: slices.Clone(answer),
			done:   done,
		}
		c.items = append(c.items, i)
		c.bytes += len(i.key) + len(rec) + len(answer)
		return nil
	}
	for n := range b.News {
		id := b.First + uint32(n)
		if !c.Pending(id) {
			continue
		}
		r := record.Resource{
			ID:       id,
			Referrer: b.News[n].Referrer,
			Depth:    b.News[n].Depth,
			Requis:   b.News[n].Requis,
		}
		if err := item(b.News[n].URL, r.Append(nil), nil, false); err != nil {
			return err
		}
	}
	answers := c.site.frames.ReadAnswers(b.Heads, len(b.Done))
	var r record.Resource
	for n := range b.Done {
		d := &b.Done[n]
		var answer []byte
		if answers != nil {
			answer = answers[n]
		}
		if err := item(string(d.URL), d.Record, answer, true); err != nil {
			return err
		}
		if d.Linked {
			if err := d.Decode(&r); err != nil {
				return err
			}
			c.links = append(c.links, foldedLinks{r.ID, slices.Clone(d.Targets)})
		}
	}
	c.known = max(c.known, b.First+uint32(len(b.News)))
	for _, l := range b.Looks {
		c.looks = record.JoinLooks(c.looks, l)
	}
	return nil
}

func (c *foldChunk) fold() error {
	for rest, last := c.items, false; !last; {
		n := min(len(rest), c.site.FoldItems+1)
		for (n > 0) && (n < len(rest)) && bytes.Equal(rest[n].key, rest[n-1].key) {
			n++ // those of a key together
		}
		err := c.readPart(rest[:n])
		if err != nil {
			return disk.Err("fold journal", err)
		}
		rest, last = rest[n:], n == len(rest)
		err = c.site.Update("fold journal", func(tx *db.Tx) error {
			tx.DeferSync()
			if err := c.records(tx); (err != nil) || !last {
				return err
			}
			return c.end(tx)
		})
		if err != nil {
			return err
		}
		c.site.DB.DropPages()
		c.site.At("folded a part")
	}
	c.site.DB.Journal.Drop(c.last)
	return nil
}

func (c *foldChunk) readPart(items []foldItem) error {
	c.recs = c.recs[:0]
	for n := range items {
		i := &items[n]
		if n == 0 || !bytes.Equal(i.key, items[n-1].key) {
			u, err := record.URLOfKey(i.key)
			if err != nil {
				return c.site.DB.DamagedValue(err)
			}
			c.recs = append(c.recs, folded{key: i.key, Resource: record.Resource{URL: u}})
		} else if !i.done { // a URL that is only known replaces nothing
			continue
		}
		if err := c.take(&c.recs[len(c.recs)-1], i); err != nil {
			return c.site.DB.DamagedValue(err)
		}
	}
	if c.Err != nil {
		return c.Err()
	}
	return nil
}

// foldedLinks is a list of targets.
type foldedLinks struct {
	id      uint32
	targets []byte
}

// putLinks writes the links of the batches that were read, in the order of their documents, if these are so
// many.
func (c *foldChunk) putLinks(least int) error {
	if len(c.links) < least {
		return nil
	}
	slices.SortStableFunc(c.links, func(a, b foldedLinks) int { return cmp.Compare(a.id, b.id) })
	err := c.site.Update("fold links", func(tx *db.Tx) error {
		tx.DeferSync()
		links := tx.Bucket(home.Links)
		links.Fill(0.9)
		var key []byte
		for _, l := range c.links {
			key = binary.BigEndian.AppendUint32(key[:0], l.id)
			if err := links.Put(key, l.targets); err != nil {
				return err
			}
		}
		return nil
	})
	c.links = c.links[:0]
	c.site.DB.DropPages()
	c.site.At("folded links")
	return err
}

func (c *foldChunk) records(tx *db.Tx) (err error) {
	s := c.site
	f := recordWriter{foldChunk: c, res: tx.Bucket(home.Resources), hist: tx.Bucket(home.History)}
	if f.looked, err = s.looks.folded(tx); (err == nil) && !s.Volatile {
		err = s.heads.Begin(tx.Meta().Get(home.KeyHeads))
	}
	f.res.Fill(0.9)
	f.hist.Fill(0.9) // it grows at its end
	for i := range f.recs {
		if r := &f.recs[i]; (err == nil) && (r.done || f.res.Get(r.key) == nil) {
			err = f.put(r)
		}
	}
	if err != nil {
		return err
	}
	return CollectedRecords{s}.flushHeads(tx)
}

// end keeps the looks of the batches, and says that these are folded.
func (c *foldChunk) end(tx *db.Tx) error {
	m := tx.Meta()
	known, _ := m.Number(db.KeyKnown)
	c.known = max(c.known, uint32(known))
	return errors.Join(
		addLooks(tx.Bucket(home.Looks), c.looks),
		m.Put(db.KeyFolded, db.NumberKey(c.last)),
		m.Put(db.KeyKnown, binary.BigEndian.AppendUint32(nil, c.known)),
		c.site.notePacks(tx),
	)
}

// recordWriter writes the records of a part.
type recordWriter struct {
	*foldChunk
	res, hist *db.Bucket
	looked    []record.Look // of the runs before
	buf       []byte        // of a record
}

// folded is what the batches say of one URL.
type folded struct {
	key []byte
	record.Resource
	done   bool   // it is not only known
	answer []byte // head of the last answer that had one, coded
}

// take takes an item for a record, in place of those before.
func (c *foldChunk) take(r *folded, i *foldItem) error {
	if err := r.Decode(r.URL, i.record); err != nil || !i.done {
		return err
	}
	r.done = true
	if p := c.Path(&r.Resource); r.InSet && p != "" && p != r.Path {
		r.Path, r.Moved = p, c.Version
	}
	if len(i.answer) > 0 {
		r.answer = i.answer
	}
	return nil
}

// put writes one record, with the heads that it is to have.
func (f *recordWriter) put(r *folded) error {
	keeps := r.done && !f.site.Volatile
	var old *record.Resource // the record before
	var was []byte
	if keeps || f.Version > 1 {
		if was = f.res.Get(r.key); was != nil {
			old = new(record.Resource)
			if err := old.Decode(r.URL, was); err != nil {
				return err
			}
			if record.ApplyLooks(f.looked, old) {
				was = old.Append(nil)
			}
		}
	}
	if f.Version > 1 {
		if err := f.remember(r.key, was, old, &r.Resource); err != nil {
			return err
		}
	}
	if keeps {
		f.site.heads.Place(&r.Resource, old, r.answer)
	}
	f.buf = r.Append(f.buf[:0])
	return f.res.Put(r.key, f.buf)
}

// remember keeps the value that is replaced when the mirror's content differs by it; nil for a new record.
func (f *recordWriter) remember(key, value []byte, old, now *record.Resource) error {
	same := (old != nil) && old.InSet == now.InSet && old.Digest == now.Digest && old.Path == now.Path &&
		old.Target == now.Target && old.Fragment == now.Fragment &&
		old.MIME == now.MIME && old.Charset == now.Charset
	if same {
		return nil
	}
	hk := append(binary.BigEndian.AppendUint64(nil, uint64(f.Version)), key...)
	if f.hist.Get(hk) != nil {
		return nil // the first one of this version is the one to go back to
	}
	return f.hist.Put(hk, append([]byte{}, value...))
}
