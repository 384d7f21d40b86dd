// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"mirrord/internal/binread"
	"mirrord/site"
)

// The journal has records in the order in which they came, which is any order of keys, and a leaf of the
// database is written whole: 4 kB for each record of a large site. So Fold takes a chunk of batches at a
// time. It writes their links, which lie by number, in the order of the journal, and their records by key, a
// part in each transaction; so each leaf is written about once for a chunk. The transaction of the last part
// removes the batches. Until then the database says which batches the chunk has and up to which key they are
// folded, so that these records are not read from the journal again.

// What Fold holds in memory: the results of a chunk, and the leaves of the database that a part touches. On a
// large site each record of a part is in a leaf of its own.
const (
	foldItems = 2048     // records of a part
	foldParts = 32       // of a chunk in memory
	foldKeys  = 32 << 20 // bytes of the keys of a chunk in memory, about
)

// Folding says how Fold treats records.
type Folding struct {
	// that the run works for: records that it replaces go into its history, unless it is 1
	Version int
	Pending func(id uint32) bool // the URL still waits for its request; it is kept as such
	// mirror path of a resource in the mirror, "" to leave what the record says
	Path func(r *Resource) (p string)
	// Err says why what the functions returned does not count: nothing of that is written then. nil: it counts
	Err func() error
}

// Fold moves the journal into the buckets that are kept. A crash in between is harmless: what was moved no
// longer counts in the journal, and the next call moves the rest.
func (s *Records) Fold(o Folding) error {
	s.gather.rest()
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

	// of readPart
	parts [2]fold // by turns: one is written while the other is read
	turn  int
	order []foldStep
	buf   []byte // see bytesOf
	bufAt int64  // where in the database's file
}

// foldBatch is one batch of a chunk.
type foldBatch struct {
	seq     []byte
	off     int64 // bucket.offset
	size    int   // bytes
	results int
	rest    int     // offset of what follows the results
	heads   stretch // of the answers; no bytes for none
}

// foldItem is a new URL or a result of a batch.
type foldItem struct {
	key   uint32 // where its key begins
	size  uint16 // of the key
	done  bool   // it is a result
	batch uint32
	stretch
	n uint32 // number of a new URL, else which result of the batch it is
}

// foldStep is an item of a part, with the record that it belongs to.
type foldStep struct {
	*foldItem
	rec int
}

func (c *foldChunk) keyOf(i *foldItem) []byte { return c.keys[i.key:][:i.size] }

// part is how many items one transaction folds.
func (c *foldChunk) part() int { return c.site.foldItems + 1 }

// foldPart is what one transaction folds.
type foldPart struct {
	items []foldItem
	key   []byte // the last one
	last  bool   // no other follows
	recs  *fold  // what the items make; until the part after the next one is read
}

// inParts returns the parts of a chunk: one at least. All items of a key are in one.
func (c *foldChunk) inParts() (all []foldPart) {
	for rest := c.items; len(all) == 0 || len(rest) > 0; {
		n := min(len(rest), c.part())
		for (n > 0) && (n < len(rest)) && bytes.Equal(c.keyOf(&rest[n]), c.keyOf(&rest[n-1])) {
			n++
		}
		p := foldPart{items: rest[:n], last: n == len(rest)}
		if n > 0 {
			p.key = c.keyOf(&rest[n-1])
		}
		all, rest = append(all, p), rest[n:]
	}
	return all
}

// readPart reads what a part folds.
func (c *foldChunk) readPart(p *foldPart) error {
	p.recs = &c.parts[c.turn]
	c.turn = 1 - c.turn
	p.recs.Folding, p.recs.recs = c.Folding, p.recs.recs[:0]
	err := c.addItems(p.recs, p.items)
	if errors.Is(err, errValue) {
		err = c.site.db.damaged(err)
	}
	if (err == nil) && (c.Err != nil) {
		err = c.Err()
	}
	return err
}

// ahead calls next until that says that what it returned is the last one, each time while the caller is busy
// with what came before.
func ahead[T any](next func() (v T, last bool, err error)) iter.Seq2[T, error] {
	type result struct {
		v    T
		last bool
		err  error
	}
	return func(yield func(T, error) bool) {
		results, stop := make(chan result), make(chan struct{})
		var wg sync.WaitGroup
		defer wg.Wait()
		defer close(stop)
		wg.Go(func() {
			for last := false; !last; {
				var r result
				r.v, r.last, r.err = next()
				last = r.last || (r.err != nil)
				select {
				case results <- r:
				case <-stop:
					return
				}
			}
		})
		for last := false; !last; {
			r := <-results
			if last = r.last || (r.err != nil); !yield(r.v, r.err) {
				return
			}
		}
	}
}

func (c *foldChunk) fold() error {
	rest := c.inParts()
	var links linksAside
	defer links.Wait()
	whole := len(rest) == 1 && c.at.last == 0 // one transaction does all
	if whole {
		links.begin(c)
	} else if c.at.last == 0 {
		if err := c.links(); err != nil {
			return err
		}
	}
	for part, err := range ahead(func() (p foldPart, last bool, err error) {
		p, rest = rest[0], rest[1:]
		return p, p.last, c.readPart(&p)
	}) {
		if err != nil {
			return diskErr("fold journal", err)
		}
		err = c.site.update("fold journal", func(tx *transaction) error {
			tx.later = true
			if whole {
				if err := links.write(tx); err != nil {
					return err
				}
			}
			if err := c.records(tx, part.recs); err != nil {
				return err
			}
			if part.last {
				return c.end(tx)
			}
			return tx.Bucket(bMeta).Put(kFolding, slices.Concat(c.batches[len(c.batches)-1].seq, part.key))
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
	rest := c.batches
	for all, err := range ahead(func() (all []foldedLinks, last bool, err error) {
		n, results := 0, 0
		for n < len(rest) && (n == 0 || results+rest[n].results <= c.site.foldItems) {
			results += rest[n].results
			n++
		}
		err = c.site.db.View(func(tx *transaction) (err error) {
			all, err = c.linksOf(tx, rest[:n])
			return err
		})
		rest = rest[n:]
		return all, len(rest) == 0, err
	}) {
		if err == nil {
			err = c.site.update("fold links", func(tx *transaction) error {
				tx.later = true
				return writeLinks(tx, all)
			})
		}
		if err != nil {
			return err
		}
		c.site.dropPages()
		c.site.at("folded links")
	}
	return nil
}

// linksAside are the links of all batches of a chunk, which are read while its records are.
type linksAside struct {
	sync.WaitGroup
	all []foldedLinks
	err error
}

func (l *linksAside) begin(c *foldChunk) {
	l.Go(func() {
		l.err = c.site.db.View(func(tx *transaction) (err error) {
			l.all, err = c.linksOf(tx, c.batches)
			return err
		})
	})
}

func (l *linksAside) write(tx *transaction) error {
	if l.Wait(); l.err != nil {
		return l.err
	}
	return writeLinks(tx, l.all)
}

// foldedLinks is a list of targets.
type foldedLinks struct {
	id      uint32
	targets []byte
}

// linksOf returns the links of some batches, in the order of the numbers of their documents.
func (c *foldChunk) linksOf(tx *transaction, batches []foldBatch) (all []foldedLinks, err error) {
	for i := range batches {
		r := binread.Reader{Rest: tx.Bucket(bJournal).Get(batches[i].seq)}
		skipNews(&r)
		for n := r.Uvarint(); n > 0 && !r.Bad; n-- {
			d := readDone(&r)
			if !d.linked {
				continue
			}
			id, _, err := numbersOf(nil, d.rec)
			if err != nil {
				return nil, err
			}
			all = append(all, foldedLinks{id, slices.Clone(d.targets)})
		}
		if r.Bad {
			return nil, fmt.Errorf("journal: %w: short batch", errValue)
		}
	}
	slices.SortStableFunc(all, func(a, b foldedLinks) int { return cmp.Compare(a.id, b.id) })
	return all, nil
}

// linksNear is how far the numbers of two documents are apart whose links lie on one page, or on neighbours:
// most lists have less than 300 bytes.
const linksNear = 8

// writeLinks writes links, in the order of their documents.
func writeLinks(tx *transaction, all []foldedLinks) error {
	links := tx.Bucket(bLinks)
	links.fill(0.9)
	var key []byte
	for i, t := range all {
		put := links.Put
		if i > 0 && t.id-all[i-1].id <= linksNear {
			put = links.PutNear
		}
		key = binary.BigEndian.AppendUint32(key[:0], t.id)
		if err := put(key, t.targets); err != nil {
			return err
		}
	}
	return nil
}

// records writes the records of a part.
func (c *foldChunk) records(tx *transaction, part *fold) (err error) {
	s := c.site
	f := recordWriter{
		fold: part,
		site: s,
		res:  tx.Bucket(bResources),
		hist: tx.Bucket(bHistory),
	}
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

// addItems adds some items of a chunk.
func (c *foldChunk) addItems(f *fold, part []foldItem) error {
	c.order = c.order[:0]
	for n := range part {
		if n == 0 || !bytes.Equal(c.keyOf(&part[n]), c.keyOf(&part[n-1])) {
			f.begin(c.keyOf(&part[n]))
		}
		c.order = append(c.order, foldStep{&part[n], len(f.recs) - 1})
	}
	slices.SortFunc(c.order, func(a, b foldStep) int { // as the journal has them
		return cmp.Or(cmp.Compare(a.batch, b.batch), cmp.Compare(a.at, b.at))
	})
	var answers [][]byte
	for n, i := range c.order {
		b := &c.batches[i.batch]
		if n == 0 || i.batch != c.order[n-1].batch {
			heads, err := c.bytesOf(b, b.heads)
			if err != nil {
				return err
			}
			answers, _ = c.site.zip.read(heads, b.results) // heads that are damaged are lost, and no more
		}
		raw, err := c.bytesOf(b, i.stretch)
		if err != nil {
			return err
		}
		d := binread.Reader{Rest: raw}
		text := d.Bytes()
		r := &f.recs[i.rec]
		u := r.URL // all items of a record have it
		if u.IsZero() {
			if u, err = journalURL(text); err != nil {
				return err
			}
		}
		if !i.done {
			n := readReferral(&d)
			r.addNew(i.n, u, &n)
			continue
		}
		d.Rest = raw
		var answer []byte
		if answers != nil {
			answer = answers[i.n]
		}
		if err := f.addDone(r, u, readDone(&d).rec, answer); err != nil {
			return err
		}
	}
	return nil
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
