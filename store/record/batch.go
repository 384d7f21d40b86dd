// SPDX-License-Identifier: Apache-2.0

package record

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

// SaysNothingNew reports whether the answer tells of a body that stays what the last one told of it. Its head
// need not be compared then.
func (d *Done) SaysNothingNew() bool {
	return d.Outcome == site.Unchanged && !d.Head.IsZero() && d.HeadSum != 0 && d.HeadSum == d.Answer.Sum()
}

// EndSize is how many bytes before a batch say where the packs end: number of the last one and its size.
const EndSize = 12

// AppendEnd writes where the packs end.
func AppendEnd(b []byte, num uint32, size int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, num), uint64(size))
}

// ReadEnd reads where the packs end; 0 for what does not say it.
func ReadEnd(v []byte) (num uint32, size int64) {
	if len(v) < EndSize {
		return 0, 0
	}
	return binary.BigEndian.Uint32(v), int64(binary.BigEndian.Uint64(v[4:]))
}

type LogBatch struct {
	First uint32
	News  []NewURL
	Done  []RawDone
	Heads []byte // of done, packed
	Looks []Look
}

func (b *LogBatch) Decode(v []byte) error {
	d := binread.Reader{Rest: v}
	b.First = uint32(d.Uvarint())
	b.News = b.News[:0]
	for n := d.Uvarint(); n > 0 && !d.Bad; n-- {
		var u NewURL
		read(&d, u.code)
		b.News = append(b.News, u)
	}
	b.Done = b.Done[:0]
	for n := d.Uvarint(); n > 0 && !d.Bad; n-- {
		b.Done = append(b.Done, readDone(&d))
	}
	if b.Heads = nil; len(d.Rest) > 0 {
		b.Heads = d.Bytes()
	}
	for b.Looks = nil; len(d.Rest) > 0 && !d.Bad; {
		b.Looks = append(b.Looks, ReadLook(&d))
	}
	if d.Bad {
		return fmt.Errorf("journal: %w: short batch", ErrValue)
	}
	return nil
}

type RawDone struct {
	URL     []byte
	Record  []byte
	Targets []byte
	Linked  bool
}

// Decode reads the record of a result, with its URL.
func (d *RawDone) Decode(r *Resource) error {
	u, err := StoredURL(string(d.URL))
	if err == nil {
		err = r.Decode(u, d.Record)
	}
	if err != nil {
		err = fmt.Errorf("journal: %w", err)
	}
	return err
}

// Append writes what readDone reads.
func (d *RawDone) Append(b []byte) []byte {
	for _, x := range [][]byte{d.URL, d.Record} {
		b = append(binary.AppendUvarint(b, uint64(len(x))), x...)
	}
	if !d.Linked {
		return binary.AppendUvarint(b, 0)
	}
	return append(binary.AppendUvarint(b, uint64(len(d.Targets))+1), d.Targets...)
}

func readDone(d *binread.Reader) RawDone {
	r := RawDone{URL: d.Bytes(), Record: d.Bytes()}
	if l := d.Uvarint(); l > 0 {
		r.Linked, r.Targets = true, d.Take(int(l-1))
	}
	return r
}

func (u *NewURL) Append(b []byte) []byte { return written(b, u.code) }

func (u *NewURL) code(c *coder) {
	c.texts(&u.URL)
	numbers(c, &u.Referrer)
	depth := withBit(uint64(u.Depth), u.Requis)
	if numbers(c, &depth); c.reads {
		u.Depth, u.Requis = int(depth>>1), depth&1 != 0
	}
}
