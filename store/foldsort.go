// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"slices"

	"github.com/klauspost/compress/s2"

	"mirrord/internal/binread"
)

// foldSorter sorts the items of a chunk that is too large for the memory, with what their batches say of
// them: it writes sorted runs to a file without a name in the site's folder, and merges them. So nothing is
// left of it after a kill, and the file counts for nothing: the journal has all that is in it.
//
// A run is blocks of items, packed, each behind its length and checksum: 4 bytes each, little endian. An item
// is
//
//	uvarint length, key   of its URL
//	uvarint batch, at     which batch of the chunk, and which item of it
//	uvarint done          1 + number of a URL that is new, 0 for a result
//	of a URL that is new: uvarint referrer, uvarint depth<<1 | requisite
//	of a result: bytes record, bytes head of the answer
type foldSorter struct {
	file *os.File
	size int64    // of file
	raw  []byte   // items of the open run
	at   []uint32 // where they begin
	runs []sortedRun

	run, block int // bytes of one
	packed     []byte
	full       bool   // the file could not be written
	items      []byte // of a part
}

// What sorting holds in memory: an open run, then a block of each run.
const (
	sortRun   = 4 << 20  // bytes of a run
	sortBlock = 32 << 10 // bytes of a block, before it is packed
)

// maxSorted is how many bytes a block is believed to have.
const maxSorted = 64 << 20

// sortedRun is a part of the file in which items are in order.
type sortedRun struct {
	from, to int64
	block    []byte // unread part of the current block
	buf      []byte // of block
	item     sortedItem
}

// sortedItem is an item with its place in the order.
type sortedItem struct {
	key       []byte
	batch, at uint32
	raw       []byte // all of it
	rest      []byte // behind batch and at
}

func (i *sortedItem) compare(o *sortedItem) int {
	return cmp.Or(bytes.Compare(i.key, o.key), cmp.Compare(i.batch, o.batch), cmp.Compare(i.at, o.at))
}

// read reads the item that b begins with.
func (i *sortedItem) read(b []byte) (rest []byte, err error) {
	d := binread.Reader{Rest: b}
	i.key = d.Bytes()
	i.batch, i.at = uint32(d.Uvarint()), uint32(d.Uvarint())
	i.rest = d.Rest
	if done := d.Uvarint() == 0; done {
		d.Bytes()
		d.Bytes()
	} else {
		d.Uvarint()
		d.Uvarint()
	}
	if d.Bad {
		return nil, errSorted
	}
	i.raw = b[:len(b)-len(d.Rest)]
	i.rest = i.rest[:len(i.rest)-len(d.Rest)]
	return d.Rest, nil
}

// errSorted says that the file of a foldSorter does not have what was written to it.
var errSorted = errors.New("the sorted journal is not what was written")

func newFoldSorter(dir string) (*foldSorter, error) {
	f, err := temporaryFile(dir, true)
	if err != nil {
		return nil, err
	}
	return &foldSorter{file: f, run: sortRun, block: sortBlock}, nil
}

// begin begins an item; what it says is appended to raw.
func (s *foldSorter) begin(key []byte, batch, at uint32) error {
	if len(s.raw) >= s.run {
		if err := s.write(); err != nil {
			return err
		}
	}
	if s.raw == nil {
		s.raw = make([]byte, 0, s.run+s.run/16)
	}
	s.at = append(s.at, uint32(len(s.raw)))
	s.raw = binread.AppendString(s.raw, string(key))
	s.raw = binary.AppendUvarint(s.raw, uint64(batch))
	s.raw = binary.AppendUvarint(s.raw, uint64(at))
	return nil
}

// addNew adds a URL that is pending.
func (s *foldSorter) addNew(key []byte, batch, at, id uint32, u *NewURL) error {
	if err := s.begin(key, batch, at); err != nil {
		return err
	}
	s.raw = binary.AppendUvarint(s.raw, uint64(id)+1)
	s.raw = binary.AppendUvarint(s.raw, uint64(u.Referrer))
	s.raw = appendDepth(s.raw, u)
	return nil
}

// addDone adds a result, with the head of its answer.
func (s *foldSorter) addDone(key []byte, batch, at uint32, record, answer []byte) error {
	if err := s.begin(key, batch, at); err != nil {
		return err
	}
	s.raw = append(s.raw, 0)
	s.raw = appendBytes(s.raw, record)
	s.raw = appendBytes(s.raw, answer)
	return nil
}

func appendBytes(b, v []byte) []byte { return append(binary.AppendUvarint(b, uint64(len(v))), v...) }

func (s *foldSorter) write() error {
	items := make([]sortedItem, len(s.at))
	for n, at := range s.at {
		if _, err := items[n].read(s.raw[at:]); err != nil {
			return err
		}
	}
	slices.SortFunc(items, func(a, b sortedItem) int { return a.compare(&b) })
	run := sortedRun{from: s.size}
	var block []byte
	for n := range items {
		block = append(block, items[n].raw...)
		if len(block) < s.block && n < len(items)-1 {
			continue
		}
		if err := s.writeBlock(block); err != nil {
			return err
		}
		block = block[:0]
	}
	run.to = s.size
	s.runs = append(s.runs, run)
	s.raw, s.at = s.raw[:0], s.at[:0]
	return nil
}

func (s *foldSorter) writeBlock(block []byte) error {
	const head = 8
	s.packed = slices.Grow(s.packed[:0], head+s2.MaxEncodedLen(len(block)))[:head]
	b := s2.Encode(s.packed[head:cap(s.packed)], block)
	s.packed = s.packed[:head+len(b)]
	binary.LittleEndian.PutUint32(s.packed, uint32(len(b)))
	binary.LittleEndian.PutUint32(s.packed[4:], crc32.Checksum(b, castagnoli))
	if _, err := s.file.WriteAt(s.packed, s.size); err != nil {
		s.full = true
		return err
	}
	s.size += int64(len(s.packed))
	return nil
}

// merge ends the adding: next returns the items from then on.
func (s *foldSorter) merge() error {
	if len(s.at) > 0 {
		if err := s.write(); err != nil {
			return err
		}
	}
	s.raw, s.at = nil, nil
	for n := range s.runs { // none is empty
		if _, err := s.step(&s.runs[n]); err != nil {
			return err
		}
	}
	heap.Init(s)
	return nil
}

// step goes to the next item of a run; ok is false at its end.
func (s *foldSorter) step(r *sortedRun) (ok bool, err error) {
	if len(r.block) == 0 {
		if r.from == r.to {
			return false, nil
		}
		if err := s.readBlock(r); err != nil {
			return false, err
		}
	}
	r.block, err = r.item.read(r.block)
	return err == nil, err
}

func (s *foldSorter) readBlock(r *sortedRun) error {
	var head [8]byte
	if _, err := s.file.ReadAt(head[:], r.from); err != nil {
		return err
	}
	n := int(binary.LittleEndian.Uint32(head[:]))
	if int64(n) > r.to-r.from-int64(len(head)) {
		return errSorted
	}
	s.packed = slices.Grow(s.packed[:0], n)[:n]
	if _, err := s.file.ReadAt(s.packed, r.from+int64(len(head))); err != nil {
		return err
	}
	if crc32.Checksum(s.packed, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return errSorted
	}
	size, err := s2.DecodedLen(s.packed)
	if err != nil || size > maxSorted {
		return errSorted
	}
	if r.buf, err = s2.Decode(r.buf[:cap(r.buf)], s.packed); err != nil || size == 0 {
		return errSorted
	}
	r.block = r.buf
	r.from += int64(len(head) + n)
	return nil
}

// part takes so many of the next items, and what else there is of the last key.
func (s *foldSorter) part(n int) (p foldPart, err error) {
	s.items = s.items[:0]
	for ; len(s.runs) > 0; n-- {
		r := &s.runs[0]
		if n <= 0 && !bytes.Equal(r.item.key, p.key) {
			break
		}
		p.key = append(p.key[:0], r.item.key...)
		s.items = append(s.items, r.item.raw...)
		more, err := s.step(r)
		if err != nil {
			return p, err
		}
		if more {
			heap.Fix(s, 0)
		} else {
			heap.Remove(s, 0)
		}
	}
	p.last = len(s.runs) == 0
	p.add = s.add
	return p, nil
}

// add adds the items of the last part.
func (s *foldSorter) add(f *fold) error {
	var i sortedItem
	for rest := s.items; len(rest) > 0; {
		var err error
		if rest, err = i.read(rest); err != nil {
			return err
		}
		u, err := urlOfKey(i.key)
		if err != nil {
			return err
		}
		if n := len(f.recs); n == 0 || !bytes.Equal(f.recs[n-1].key, i.key) {
			f.begin(bytes.Clone(i.key))
		}
		r := &f.recs[len(f.recs)-1]
		d := binread.Reader{Rest: i.rest}
		if id := d.Uvarint(); id > 0 {
			n := NewURL{Referrer: uint32(d.Uvarint())}
			n.readDepth(&d)
			r.addNew(uint32(id-1), u, &n)
			continue
		}
		rec := d.Bytes()
		if err := f.addDone(r, u, rec, d.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// Len, Less, Swap, Push and Pop make a heap of the runs, of those that have items left.
func (s *foldSorter) Len() int           { return len(s.runs) }
func (s *foldSorter) Less(i, j int) bool { return s.runs[i].item.compare(&s.runs[j].item) < 0 }
func (s *foldSorter) Swap(i, j int)      { s.runs[i], s.runs[j] = s.runs[j], s.runs[i] }
func (s *foldSorter) Push(any)           {}
func (s *foldSorter) Pop() any {
	s.runs = s.runs[:len(s.runs)-1]
	return nil
}
