// SPDX-License-Identifier: Apache-2.0

package db

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"mirrord/store/disk"
	"mirrord/store/log"
)

// bbolt has no checksum for a value. A bit that flips in a leaf changes a record, and a leaf that a disk
// loses takes its records along; either leaves pages that are good to bbolt. So a database is sealed:
//
//   - Each value ends with four bytes, the CRC-32C of the names of its buckets, its key, and itself. So a
//     value that came under another key is found as well. A value is checked whenever it is read.
//   - The bucket sums has a tally of each other bucket at the top: how many values it has, and the sum of a
//     128-bit hash of each. A transaction updates the tallies. Sums compares them with the values;
//     so values that are missing, and old ones that came back, are found.
//
// A new database is sealed by its first transaction. In this file and database.go values have their
// checksums, in all others they do not.

// bSums has the tallies, by the name of the bucket. A database that has it is sealed.
var bSums = []byte("sums")

// kLogged is the key in the bucket sums of the number of the last transaction, 8 bytes, big endian, as the
// log of the database numbers them.
var kLogged = []byte("\x00log")

// Meta is the bucket of a site's database for small facts, by name. The door reads some of them.
var Meta = []byte("meta")

// Keys of small facts that the door reads.
var (
	KeyFormat = []byte("format")
	KeyKnown  = []byte("known")  // number of URLs that have an ID
	KeyFolded = []byte("folded") // transaction of the last batch of the journal that is folded
)

const sealSize = 4 // bytes

// Tx is one transaction of a database. What it hands out is valid as long as it is open. A value
// that is not what was written ends it: the door returns a *DatabaseError.
type Tx struct {
	tx   *bolt.Tx
	top  map[string]*Bucket // of a writing transaction: those that were used
	redo *log.Log           // that takes the changes; nil for none
	// what was changed, for redo
	changes []byte
	counts  bool           // it gets the next number once it has changed something
	number  uint64         // in the log; 0: none
	later   byte           // log.Later when it need not be synced, else 0
	looks   *atomic.Uint32 // of all transactions, in look-ups of single keys; nil: they are not counted
}

// badSeal is what a transaction panics with when a value is not what was written; the door recovers.
type badSeal struct{ err error }

// begin wraps a transaction of bbolt. The first one that writes a new database seals it.
func begin(tx *bolt.Tx) (*Tx, error) {
	t := &Tx{tx: tx}
	if !tx.Writable() {
		return t, nil
	}
	t.top = map[string]*Bucket{}
	if k, _ := tx.Cursor().First(); k == nil {
		if _, err := tx.CreateBucket(bSums); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// end writes the tallies of what was changed, and the number of the transaction.
func (t *Tx) end() error {
	sums := t.tx.Bucket(bSums)
	for name, b := range t.top {
		if b.tally == nil {
			continue
		}
		b.tally.seq = b.b.Sequence()
		v := b.tally.append(nil)
		if err := sums.Put([]byte(name), sealed(bSums, []byte(name), v)); err != nil {
			return err
		}
		t.note(log.Tally, []byte(name), v)
		if t.counts && t.number == 0 {
			last, _ := t.Logged()
			if t.redo != nil {
				last = t.redo.Last()
			}
			t.number = last + 1
		}
	}
	if t.number == 0 {
		return nil
	}
	return sums.Put(kLogged, sealed(bSums, kLogged, NumberKey(t.number)))
}

// Logged returns the number of the last transaction; ok is false for a database that has none.
func (t *Tx) Logged() (number uint64, ok bool) {
	sums := t.tx.Bucket(bSums)
	if sums == nil {
		return 0, false
	}
	return (&Bucket{b: sums, t: t, name: bSums}).Number(kLogged)
}

func (t *Tx) note(what byte, bucket []byte, rest ...[]byte) {
	if t.redo != nil {
		t.changes = log.AppendChange(t.changes, what, bucket, rest...)
	}
}

// IsFresh reports whether nothing was ever written to the database.
func (t *Tx) IsFresh() bool {
	c := t.tx.Cursor()
	k, _ := c.First()
	if string(k) == string(bSums) {
		k, _ = c.Next()
	}
	return k == nil && t.tx.ID() <= 2
}

// DeferSync has a later transaction sync this one.
func (t *Tx) DeferSync() { t.later = log.Later }

// Writable reports whether the transaction may write.
func (t *Tx) Writable() bool { return t.tx.Writable() }

// Changed reports whether values of a bucket were written.
func (t *Tx) Changed(bucket []byte) bool {
	b := t.top[string(bucket)]
	return (b != nil) && (b.tally != nil)
}

// Meta returns the bucket of small facts, nil when it is missing.
func (t *Tx) Meta() *Bucket { return t.Bucket(Meta) }

// Size returns the size of the database, in bytes.
func (t *Tx) Size() int64 { return t.tx.Size() }

// dropPages gives the memory of the pages that were read back. What was handed out stays valid.
func (t *Tx) dropPages() {
	disk.DropPages(t.tx.DB().Info().Data, t.tx.Size()) // what cannot be given back stays
}

// looksPerDrop is after how many look-ups of single keys the pages that were read are given back. The kernel
// maps 16 pages for each, or as many as lie in one folio, 50 on average with Linux 6.18, so that a few
// thousand keys of any order would map all of a large database. To give back stops other cores, and pages
// that are used again fault again: with 32 look-ups, a run that finds nothing new takes 1.28 of the processor
// time that it takes without (20 000 pages), and 1.06 of that with 64 (75 000 pages). Of a large value, each
// bytesPerLook count as one. Of a small database all may stay mapped.
const (
	looksPerDrop  = 64
	bytesPerLook  = 32 << 10
	smallDatabase = 24 << 20 // bytes
)

// looked counts a look-up of a single key, whose value has a size.
func (t *Tx) looked(size int) {
	if t.looks == nil || t.tx.Size() <= smallDatabase {
		return
	}
	n := uint32(1 + size/bytesPerLook)
	if now := t.looks.Add(n); now/looksPerDrop != (now-n)/looksPerDrop {
		t.dropPages()
	}
}

// Bucket returns a bucket, nil when it is missing.
func (t *Tx) Bucket(name []byte) *Bucket {
	if b := t.top[string(name)]; b != nil {
		return b
	}
	return t.known(name, t.tx.Bucket(name))
}

func (t *Tx) known(name []byte, b *bolt.Bucket) *Bucket {
	if b == nil {
		return nil
	}
	w := &Bucket{b: b, t: t, name: name}
	if t.top != nil {
		w.name = []byte(string(name))
		t.top[string(name)] = w
	}
	return w
}

// CreateBucket makes a bucket that must not be there.
func (t *Tx) CreateBucket(name []byte) (*Bucket, error) {
	b, err := t.tx.CreateBucket(name)
	return t.known(name, b), err
}

// CreateBucketIfNotExists returns a bucket, which it makes if need be.
func (t *Tx) CreateBucketIfNotExists(name []byte) (*Bucket, error) {
	if b := t.top[string(name)]; b != nil {
		return b, nil
	}
	b, err := t.tx.CreateBucketIfNotExists(name)
	return t.known(name, b), err
}

// Bucket is a bucket of a database.
type Bucket struct {
	b     *bolt.Bucket
	t     *Tx
	name  []byte // with those of the buckets above it
	inner bool   // it is nested, and has no tally
	tally *tally // of a writing transaction that has changed it
}

// Get returns a value, nil when it is missing.
func (b *Bucket) Get(key []byte) []byte {
	v := b.b.Get(key)
	b.t.looked(len(v))
	return b.opened(key, v)
}

// NumberKey is a number as a key: keys are in the order of their numbers.
func NumberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// Number returns a value of 8 or 4 bytes, big endian; ok is false without one.
func (b *Bucket) Number(key []byte) (n uint64, ok bool) {
	switch v := b.Get(key); len(v) {
	case 8:
		return binary.BigEndian.Uint64(v), true
	case 4:
		return uint64(binary.BigEndian.Uint32(v)), true
	}
	return 0, false
}

// opened checks a value and returns it without its checksum.
func (b *Bucket) opened(key, v []byte) []byte {
	if v == nil {
		return v
	}
	n := len(v) - sealSize
	if (n < 0) || (binary.LittleEndian.Uint32(v[n:]) != sealOf(b.name, key, v[:n])) {
		panic(badSeal{fmt.Errorf("bucket %q, key %.80q: %w", b.name, key, errSeal)})
	}
	return v[:n:n]
}

var errSeal = errors.New("the value is not what was written")

func sealOf(bucket, key, v []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Update(0, table, bucket)
	sum = crc32.Update(sum, table, key)
	return crc32.Update(sum, table, v)
}

// sealed returns a value with its checksum, in memory of its own.
func sealed(bucket, key, v []byte) []byte {
	out := append(make([]byte, 0, len(v)+sealSize), v...)
	return binary.LittleEndian.AppendUint32(out, sealOf(bucket, key, v))
}

// Put writes a value. It keeps neither slice.
func (b *Bucket) Put(key, v []byte) error {
	b.t.looked(0)
	b.t.note(log.Put, b.name, key, v)
	v = sealed(b.name, key, v)
	if t := b.tallied(); t != nil {
		if old := b.b.Get(key); old != nil {
			t.take(key, old)
		}
		t.add(key, v)
	}
	return b.b.Put(key, v)
}

// PutJSON stores a value as JSON.
func (b *Bucket) PutJSON(k []byte, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.Put(k, raw)
}

// Delete removes a value, if it is there.
func (b *Bucket) Delete(key []byte) error {
	b.t.note(log.Delete, b.name, key)
	if t := b.tallied(); t != nil {
		if old := b.b.Get(key); old != nil {
			t.take(key, old)
			b.t.looked(len(old))
		}
	}
	return b.b.Delete(key)
}

// tallied returns the tally of a bucket that is about to be changed; nil when it has none.
func (b *Bucket) tallied() *tally {
	if b.inner {
		return nil
	}
	if b.tally == nil {
		b.tally = b.t.tallyOf(b.name)
	}
	return b.tally
}

// tallyOf returns the tally of a bucket as it was written.
func (t *Tx) tallyOf(name []byte) *tally {
	out := &tally{seq: anySequence}
	sums := &Bucket{b: t.tx.Bucket(bSums), t: t, name: bSums}
	v := sums.Get(name)
	missing := (v == nil) && t.hasValues(name) // to continue from 0 would write the loss into the log
	if missing || ((v != nil) && !out.decode(v)) {
		panic(badSeal{fmt.Errorf("the tally of bucket %q: %w", name, errSeal)})
	}
	return out
}

// hasValues reports whether a bucket at the top has any value; buckets in it have no tally.
func (t *Tx) hasValues(name []byte) bool {
	b := t.tx.Bucket(name)
	if b == nil {
		return false
	}
	c := b.Cursor()
	k, v := c.First()
	for (k != nil) && (v == nil) {
		k, v = c.Next()
	}
	return k != nil
}

// NextSequence returns a number that no call returned before.
func (b *Bucket) NextSequence() (uint64, error) {
	b.tallied()
	n, err := b.b.NextSequence()
	b.t.note(log.Sequence, b.name, NumberKey(n))
	return n, err
}

// Sequence returns the last number that NextSequence returned.
func (b *Bucket) Sequence() uint64 { return b.b.Sequence() }

// Fill sets how full pages are left that split, from 0 to 1.
func (b *Bucket) Fill(share float64) { b.b.FillPercent = share }

// Bucket returns a bucket in this one, nil when it is missing.
func (b *Bucket) Bucket(name []byte) *Bucket { return b.within(name, b.b.Bucket(name)) }

// CreateBucket makes a bucket in this one that must not be there.
func (b *Bucket) CreateBucket(name []byte) (*Bucket, error) {
	made, err := b.b.CreateBucket(name)
	return b.within(name, made), err
}

func (b *Bucket) DeleteBucket(name []byte) error { return b.b.DeleteBucket(name) }

func (b *Bucket) within(name []byte, in *bolt.Bucket) *Bucket {
	if in == nil {
		return nil
	}
	path := append(append([]byte(string(b.name)), 0), name...)
	return &Bucket{
		b:     in,
		t:     b.t,
		name:  path,
		inner: true,
	}
}

// From yields the keys that are not below one, in order, with their values; that of a bucket in this one is
// nil. Nothing may be changed meanwhile.
func (b *Bucket) From(key []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		c := b.Cursor()
		for k, v := c.Seek(key); k != nil && yield(k, v); k, v = c.Next() {
		}
	}
}

func (b *Bucket) Clear() (err error) {
	c := b.Cursor()
	for k, _ := c.First(); k != nil && err == nil; k, _ = c.First() {
		err = c.Delete()
	}
	return err
}

// Cursor returns a cursor over a bucket.
func (b *Bucket) Cursor() *Cursor { return &Cursor{c: b.b.Cursor(), b: b} }

// Cursor goes through a bucket in key order. The value of a bucket in it is nil.
type Cursor struct {
	c        *bolt.Cursor
	b        *Bucket
	key, raw []byte // where it is
	passed   int    // bytes since the pages that were read were given back
}

// passedPerDrop is after how many bytes of keys and values a cursor gives back the pages that were read.
const passedPerDrop = 1 << 20

func (c *Cursor) at(k, v []byte) (key, value []byte) {
	c.key, c.raw = k, v
	if c.passed += len(k) + len(v); c.passed >= passedPerDrop {
		c.passed = 0
		c.b.t.dropPages()
	}
	return k, c.b.opened(k, v)
}

// First moves to the first key; nil at the end, as for the other moves.
func (c *Cursor) First() (key, value []byte) { return c.at(c.c.First()) }

func (c *Cursor) Last() (key, value []byte) { return c.at(c.c.Last()) }

func (c *Cursor) Next() (key, value []byte) { return c.at(c.c.Next()) }

func (c *Cursor) Prev() (key, value []byte) { return c.at(c.c.Prev()) }

// Seek moves to the first key that is not below one.
func (c *Cursor) Seek(to []byte) (key, value []byte) { return c.at(c.c.Seek(to)) }

// Delete removes the value where the cursor is.
func (c *Cursor) Delete() error {
	c.b.t.note(log.Delete, c.b.name, c.key)
	if t := c.b.tallied(); (t != nil) && (c.raw != nil) {
		t.take(c.key, c.raw)
	}
	return c.c.Delete()
}
