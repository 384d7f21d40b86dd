// SPDX-License-Identifier: Apache-2.0

package db

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// tally is how many values a bucket has, the sum of their hashes modulo 2^128, and the last number that
// NextSequence returned. Before format 10 it had no such number.
type tally struct{ n, hi, lo, seq uint64 }

func (t *tally) add(key, sealed []byte) {
	h := hashOf(key, sealed)
	var carry uint64
	t.lo, carry = bits.Add64(t.lo, h.Lo, 0)
	t.hi, _ = bits.Add64(t.hi, h.Hi, carry)
	t.n++
}

func (t *tally) take(key, sealed []byte) {
	h := hashOf(key, sealed)
	var borrow uint64
	t.lo, borrow = bits.Sub64(t.lo, h.Lo, 0)
	t.hi, _ = bits.Sub64(t.hi, h.Hi, borrow)
	t.n--
}

// hashOf is the hash of a value with its checksum, which covers the key.
func hashOf(key, sealed []byte) xxh3.Uint128 { return xxh3.Hash128Seed(sealed, xxh3.Hash(key)) }

func (t *tally) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, t.n)
	b = binary.LittleEndian.AppendUint64(b, t.hi)
	b = binary.LittleEndian.AppendUint64(b, t.lo)
	return binary.LittleEndian.AppendUint64(b, t.seq)
}

func (t *tally) decode(b []byte) bool {
	if len(b) != 32 && len(b) != 24 {
		return false
	}
	t.n, t.hi, t.lo = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]),
		binary.LittleEndian.Uint64(b[16:])
	if t.seq = anySequence; len(b) == 32 {
		t.seq = binary.LittleEndian.Uint64(b[24:])
	}
	return true
}

// anySequence is the number of a tally that has none.
const anySequence = ^uint64(0)

// same reports whether a tally is what was written.
func (t tally) same(written tally) bool {
	if written.seq == anySequence {
		t.seq = anySequence
	}
	return t == written
}

// readAll reads all values of a bucket and of those in it, each of which must be what was written.
func (b *Bucket) readAll() {
	for key, v := range b.From(nil) {
		if in := b.Bucket(key); (v == nil) && (in != nil) {
			in.readAll()
		}
	}
}

// CheckSums reads all values of a database and reports wrong values and wrong numbers of values.
func (t *Tx) CheckSums() error {
	if t.IsFresh() {
		return nil
	}
	root := t.tx.Cursor()
	found := map[string]bool{}
	for k, v := root.First(); k != nil; k, v = root.Next() {
		if (v != nil) || (string(k) == string(bSums)) {
			continue
		}
		found[string(k)] = true
		b := &Bucket{b: t.tx.Bucket(k), t: t, name: k}
		got := tally{seq: b.Sequence()}
		c := b.Cursor()
		for key, _ := c.First(); key != nil; key, _ = c.Next() {
			if c.raw != nil {
				got.add(key, c.raw)
			} else if in := b.Bucket(key); in != nil {
				in.readAll()
			}
		}
		if want := t.tallyOf(k); !got.same(*want) {
			return fmt.Errorf("bucket %q has %d values, of %d that were written, or others than those", k, got.n,
				want.n)
		}
	}
	sums := t.tx.Bucket(bSums).Cursor()
	for k, _ := sums.First(); k != nil; k, _ = sums.Next() {
		if !found[string(k)] && string(k) != string(kLogged) {
			return fmt.Errorf("bucket %q is missing", k)
		}
	}
	return nil
}
