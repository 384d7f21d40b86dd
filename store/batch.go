// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"fmt"

	"mirrord/internal/binread"
	"mirrord/site"
)

// MaxURL is the longest URL that can be stored, in bytes: a key of bbolt has at most 32 KiB, and the history
// adds a version to it.
const MaxURL = 32<<10 - 64

// NewURL is a URL that has its number but was not requested yet.
type NewURL struct {
	URL      string
	Referrer uint32
	Depth    int
	Requis   bool
}

// Done is what one fetch or decision yielded.
type Done struct {
	Resource
	Targets []uint32 // sorted numbers of the URLs it links to; nil keeps the stored ones
	Linked  bool     // Targets replaces the stored ones, even when it is empty
}

// saysNothingNew reports whether the answer tells of a body that stays what the last one told of it. Its head
// need not be compared then.
func (d *Done) saysNothingNew() bool {
	return d.Outcome == site.Unchanged && !d.Head.IsZero() && d.HeadSum != 0 && d.HeadSum == d.Answer.Sum()
}

type batch struct {
	first uint32
	news  []NewURL
	done  []rawDone
	heads []byte // of done, packed
	looks []look
}

func (b *batch) decode(v []byte) error {
	d := binread.Reader{Rest: v}
	b.first = uint32(d.Uvarint())
	b.news = b.news[:0]
	for n := d.Uvarint(); n > 0 && !d.Bad; n-- {
		b.news = append(b.news, readNew(&d))
	}
	b.done = b.done[:0]
	for n := d.Uvarint(); n > 0 && !d.Bad; n-- {
		b.done = append(b.done, readDone(&d))
	}
	if b.heads = nil; len(d.Rest) > 0 {
		b.heads = d.Bytes()
	}
	for b.looks = nil; len(d.Rest) > 0 && !d.Bad; {
		b.looks = append(b.looks, readLook(&d))
	}
	if d.Bad {
		return fmt.Errorf("journal: %w: short batch", errValue)
	}
	return nil
}

type rawDone struct {
	url     []byte
	rec     []byte
	targets []byte
	linked  bool
}

func (d *rawDone) append(b []byte) []byte {
	for _, x := range [][]byte{d.url, d.rec} {
		b = append(binary.AppendUvarint(b, uint64(len(x))), x...)
	}
	if !d.linked {
		return binary.AppendUvarint(b, 0)
	}
	return append(binary.AppendUvarint(b, uint64(len(d.targets))+1), d.targets...)
}

func readDone(d *binread.Reader) rawDone {
	r := rawDone{url: d.Bytes(), rec: d.Bytes()}
	if l := d.Uvarint(); l > 0 {
		r.linked, r.targets = true, d.Take(int(l-1))
	}
	return r
}

// journalURL returns the URL of an item of a batch.
func journalURL(text []byte) (site.URL, error) {
	u, err := storedURL(string(text))
	if err != nil {
		return u, fmt.Errorf("journal: %w", err)
	}
	return u, nil
}

// skipNews reads the new URLs of a batch, and keeps none of them.
func skipNews(d *binread.Reader) {
	d.Uvarint()
	for n := d.Uvarint(); n > 0 && !d.Bad; n-- {
		d.Bytes()
		d.Uvarint()
		d.Uvarint()
	}
}

func readNew(d *binread.Reader) NewURL {
	text := d.Text()
	u := readReferral(d)
	u.URL = text
	return u
}

// readReferral is readNew without the URL, which was read.
func readReferral(d *binread.Reader) (u NewURL) {
	u.Referrer = uint32(d.Uvarint())
	x := d.Uvarint()
	u.Depth, u.Requis = int(x>>1), x&1 != 0
	return u
}

// append writes what readNew reads.
func (u *NewURL) append(b []byte) []byte {
	x := uint64(u.Depth) << 1
	if u.Requis {
		x |= 1
	}
	b = binread.AppendString(b, u.URL)
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(u.Referrer)), x)
}
