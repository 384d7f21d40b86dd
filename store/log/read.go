// SPDX-License-Identifier: Apache-2.0

package log

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"mirrord/internal/zst"
	"mirrord/store/disk"
)

// ErrNone says that a site has no log, or none from which a database can be made.
var ErrNone = fmt.Errorf("its log has no whole checkpoint: %w", disk.ErrDamaged)

// Entry is an entry of a segment.
type Entry struct {
	Kind byte
	Tx   uint64
	Off  int64 // in the segment
	Size int64 // with its header
	sum  uint32
}

// IsTransaction reports whether an entry is that of a transaction.
func (e Entry) IsTransaction() bool {
	return e.Kind == Transaction || e.Kind == Later || e.Kind == noted
}

// IsBatch reports whether an entry is a batch of the journal.
func (e Entry) IsBatch() bool { return e.Kind == Batch || e.Kind == Unsynced }

// Readable is what of a segment counts: its entries up to the first that is damaged or was not written as a
// whole.
type Readable struct {
	File    *os.File
	Entries []Entry
}

func Read(segment *os.File) (*Readable, error) {
	s := &Readable{File: segment}
	return s, s.scan(func([]byte) error { return nil })
}

// scan reads the entries, and calls each with what each of them has, packed.
func (s *Readable) scan(each func(packed []byte) error) error {
	size, err := sizeOf(s.File)
	if err != nil {
		return err
	}
	var raw []byte
	before := uint32(0)
	for {
		e, sum, ok := header(s.File, s.End(), size)
		if !ok || sum != before {
			return nil
		}
		if raw, err = whole(s.File, e, raw); err != nil {
			return nil
		}
		s.Entries, before = append(s.Entries, e), e.sum
		if err := each(raw[headerSize:]); err != nil {
			return err
		}
	}
}

func sizeOf(f *os.File) (int64, error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, disk.Err("read log", err)
	}
	return fi.Size(), nil
}

// header reads the header of the entry at an offset of a segment; before is what it says of the checksum of
// the entry before. ok is false without one that fits the size of the segment.
func header(f *os.File, off, size int64) (e Entry, before uint32, ok bool) {
	var b [headerSize]byte
	if _, err := f.ReadAt(b[:], off); err != nil || string(b[:4]) != magic {
		return e, 0, false
	}
	le := binary.LittleEndian
	length := le.Uint32(b[8:])
	e = Entry{
		Kind: b[4],
		Tx:   le.Uint64(b[12:]),
		Off:  off,
		Size: headerSize + int64(length),
		sum:  le.Uint32(b[24:]),
	}
	return e, le.Uint32(b[20:]), (length <= mostBytes) && (e.Size <= size-off)
}

// whole reads an entry into raw, and checks it.
func whole(f *os.File, e Entry, raw []byte) ([]byte, error) {
	raw = slices.Grow(raw[:0], int(e.Size))[:e.Size]
	if _, err := f.ReadAt(raw, e.Off); err != nil || sumOf(raw) != e.sum {
		return raw, ErrEntry
	}
	return raw, nil
}

// last is the last entry, the zero value without one.
func (s *Readable) last() (e Entry) {
	if n := len(s.Entries); n > 0 {
		e = s.Entries[n-1]
	}
	return e
}

// End is where the entries end.
func (s *Readable) End() int64 { return s.last().Off + s.last().Size }

// Last is the transaction of the last entry, 0 without one.
func (s *Readable) Last() uint64 { return s.last().Tx }

// Base is how many bytes the checkpoint has; 0 says that it is not whole.
func (s *Readable) Base() int64 {
	if at := s.Checkpoint(); at != nil {
		return at.Off + at.Size
	}
	return 0
}

// Checkpoint is the last part of the checkpoint; nil when it is not whole.
func (s *Readable) Checkpoint() *Entry {
	i := slices.IndexFunc(s.Entries, func(e Entry) bool { return e.Kind == endCheckpoint })
	if i < 0 {
		return nil
	}
	return &s.Entries[i]
}

// Uncertain are the batches that a loss of power may have left without their bodies: those that were not
// synced, behind the last entry that was.
func (s *Readable) Uncertain() (out []Entry) {
	for _, e := range s.Entries {
		switch e.Kind {
		case Unsynced:
			out = append(out, e)
		case Later, noted:
		default:
			out = nil
		}
	}
	return out
}

// CutAt leaves out the entries from an offset on.
func (s *Readable) CutAt(off int64) {
	s.Entries = slices.DeleteFunc(s.Entries, func(e Entry) bool { return e.Off >= off })
}

// Payloads calls f for some entries of a segment with what they have, which is valid during the call. One
// that is damaged is ErrEntry.
func Payloads(segment *os.File, entries []Entry, f func(e Entry, payload []byte) error) (err error) {
	dec := zst.NewDecoder(mostBytes)
	defer dec.Close()
	var raw, out []byte
	for _, e := range entries {
		if raw, err = whole(segment, e, raw); err != nil {
			return err
		}
		if out, err = dec.DecodeAll(raw[headerSize:], out[:0]); err != nil {
			return ErrEntry
		}
		if err := f(e, out); err != nil {
			return err
		}
	}
	return nil
}

// Has reports whether a site has a log, from which a database can be made.
func Has(site *os.Root) bool {
	f, err := LastOf(site)
	if err == nil {
		f.Close()
	}
	return err == nil || !errors.Is(err, ErrNone)
}

// LastOf opens the last segment of the log in a site's folder for reading. Without one the error is ErrNone.
func LastOf(site *os.Root) (*os.File, error) {
	root, err := site.OpenRoot(Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, disk.Err("open log", err)
	}
	defer root.Close()
	for range 10 {
		nums, err := disk.NumbersIn(root, ".", segmentName)
		if err != nil || len(nums) == 0 {
			return nil, errors.Join(err, ErrNone)
		}
		f, err := root.Open(segmentName(nums[len(nums)-1]))
		if !errors.Is(err, fs.ErrNotExist) { // else it was begun again a moment ago
			return f, disk.Err("open log", err)
		}
	}
	return nil, ErrNone
}

// IsClean reports whether the log in a site's folder says that the database is synced and has all of it. Only
// the headers of entries are read.
func IsClean(site *os.Root) bool {
	segment, err := LastOf(site)
	if err != nil {
		return false
	}
	defer segment.Close()
	size, err := sizeOf(segment)
	var last Entry
	for at, sum := int64(0), uint32(0); err == nil && at < size; at, sum = at+last.Size, last.sum {
		e, before, ok := header(segment, at, size)
		if !ok || before != sum {
			return false
		}
		last = e
	}
	if last.Kind == clean {
		_, err = whole(segment, last, nil)
	}
	return (err == nil) && last.Kind == clean
}

// Soundness says what of a log can be read.
type Soundness int

const (
	Whole  Soundness = iota
	Torn             // what was not synced when the power went is missing
	Rotten           // more was written, and cannot be read
)

// Check returns the last transaction that the log in a site's folder can restore, 0 for none. A log
// that could not be written to the end is whole. read is called with the size of each entry, before the
// next one is read; its error ends the work.
func Check(site *os.Root, read func(n int64) error) (tx uint64, c Soundness, err error) {
	f, err := LastOf(site)
	if errors.Is(err, ErrNone) {
		return 0, Whole, nil
	}
	if err != nil {
		return 0, Rotten, disk.Unreadable(err)
	}
	defer f.Close()
	dec := zst.NewDecoder(mostBytes)
	defer dec.Close()
	s := &Readable{File: f}
	var out []byte
	err = s.scan(func(packed []byte) (err error) {
		if out, err = dec.DecodeAll(packed, out[:0]); err != nil {
			return ErrEntry
		}
		return read(int64(len(out)))
	})
	if errors.Is(err, ErrEntry) {
		return 0, Rotten, nil
	}
	if s.Base() == 0 { // the checkpoint was synced
		return 0, Rotten, err
	}
	size, serr := sizeOf(f)
	rotten, rerr := s.Rotten()
	switch {
	case serr != nil, rerr != nil, rotten:
		c = Rotten
	case s.End() == size:
	case lostWrites(f, s.End(), size):
		c = Torn
	default:
		c = Rotten
	}
	return s.Last(), c, err
}

// Rotten reports whether a segment has lost what had been synced: behind the entries that count lies the
// whole entry of a transaction, and an entry that was written after it was synced. What a loss of power
// leaves is never that.
func (s *Readable) Rotten() (bool, error) {
	size, err := sizeOf(s.File)
	if err != nil {
		return false, err
	}
	synced := false
	window := make([]byte, 64<<10)
	for from := s.End(); from+headerSize <= size; {
		n, err := s.File.ReadAt(window, from)
		if err != nil && !errors.Is(err, io.EOF) {
			return true, nil // it cannot be read
		}
		i := bytes.Index(window[:n], []byte(magic))
		if i < 0 {
			from += int64(max(n-len(magic)+1, 1))
			continue
		}
		from += int64(i)
		e, _, ok := header(s.File, from, size)
		if ok {
			_, err = whole(s.File, e, nil)
			ok = err == nil
		}
		if !ok {
			from++
		} else if synced {
			return true, nil
		} else {
			synced = e.Kind == Transaction
			from += e.Size
		}
	}
	return false, nil
}

// lostWrites reports whether an entry that cannot be read is one that a loss of power left: only its
// beginning is there, or a block of it has nothing but zeros, which compressed bytes never have.
func lostWrites(f *os.File, from, size int64) bool {
	rest := size - from
	if rest < headerSize {
		return true
	}
	b := make([]byte, 512)
	if _, err := f.ReadAt(b[:headerSize], from); err != nil {
		return false
	}
	if string(b[:4]) == magic && int64(binary.LittleEndian.Uint32(b[8:])) > rest-headerSize {
		return true // its writer was killed
	}
	for from < size {
		to := min(from/int64(len(b))*int64(len(b))+int64(len(b)), size)
		block := b[:to-from]
		if _, err := f.ReadAt(block, from); err != nil {
			return false
		}
		if len(block) >= headerSize && len(bytes.Trim(block, "\x00")) == 0 {
			return true
		}
		from = to
	}
	return false
}
