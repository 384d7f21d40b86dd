// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"mirrord/store/disk"
)

// hasLog reports whether a site has a log, which a database can be made of.
func hasLog(site *os.Root) bool {
	f, err := lastSegment(site)
	if err == nil {
		f.Close()
	}
	return err == nil || !errors.Is(err, errNoLog)
}

// redoRaw calls each for the entries of a segment, up to the first that is damaged or was not written as a
// whole, which is no error. It returns where that begins. raw, the entry with its header, is valid during the
// call.
func redoRaw(f *os.File, each func(h redoHead, raw []byte) error) (end int64, err error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, disk.Err("read log", err)
	}
	var h redoHead
	var raw []byte
	sum := uint32(0)
	for ; ; end += int64(len(raw)) {
		if (h.read(f, end, sum) != nil) || (int64(h.length) > fi.Size()-end-redoHeader) {
			return end, nil
		}
		raw = slices.Grow(raw[:0], redoHeader+int(h.length))[:redoHeader+int(h.length)]
		if _, err := f.ReadAt(raw, end); (err != nil) || (redoSum(raw) != h.sum) {
			return end, nil
		}
		if err := each(h, raw); err != nil {
			return end, err
		}
		sum = h.sum
	}
}

// isTransaction reports whether an entry is that of a transaction.
func (h redoHead) isTransaction() bool {
	return h.kind == redoTransaction || h.kind == redoLater || h.kind == redoNoted
}

// isBatch reports whether an entry is a batch of the journal.
func (h redoHead) isBatch() bool { return h.kind == redoBatch || h.kind == redoUnsynced }

// redoEntries calls each for the entries of a segment as redoRaw does. changes unpacks what an entry has; an
// error of it ends the reading, as an entry that is damaged does.
func redoEntries(
	f *os.File, each func(h redoHead, changes func() ([]byte, error)) error,
) (end int64, err error) {
	dec := newDecoder(maxRedo)
	defer dec.Close()
	var out []byte
	end, err = redoRaw(f, func(h redoHead, raw []byte) error {
		return each(h, func() (_ []byte, err error) {
			if out, err = dec.DecodeAll(raw[redoHeader:], out[:0]); err != nil {
				return nil, errEnd
			}
			return out, nil
		})
	})
	if errors.Is(err, errEnd) {
		err = nil
	}
	return end, err
}

// redoState says what of a log can be read.
type redoState int

const (
	redoWhole   redoState = iota
	redoTorn              // what was not synced when the power went is missing
	redoDamaged           // more was written, and cannot be read
)

// lastLogged returns the last transaction that the log in a site's folder can restore, 0 for none. A log
// that could not be written to the end is whole. read is called with the size of each entry, before the
// next one is read; its error ends the work.
func lastLogged(site *os.Root, read func(n int64) error) (tx uint64, state redoState, err error) {
	f, err := lastSegment(site)
	if errors.Is(err, errNoLog) {
		return 0, redoWhole, nil
	}
	if err != nil {
		return 0, redoDamaged, disk.Unreadable(err)
	}
	defer f.Close()
	whole := false
	end, err := redoEntries(f, func(h redoHead, unpack func() ([]byte, error)) error {
		changes, err := unpack()
		if err != nil {
			return err
		}
		whole, tx = whole || (h.kind == redoEndCheckpoint), h.tx
		return read(int64(len(changes)))
	})
	if !whole { // the checkpoint was synced
		return 0, redoDamaged, err
	}
	fi, serr := f.Stat()
	rotten, rerr := isRotten(f, end)
	switch {
	case serr != nil, rerr != nil, rotten:
		state = redoDamaged
	case end == fi.Size():
	case lostWrites(f, end, fi.Size()):
		state = redoTorn
	default:
		state = redoDamaged
	}
	return tx, state, err
}

// isClean reports whether the log in a site's folder says that the database is synced and has all of it. Only
// the heads of entries are read.
func isClean(site *os.Root) bool {
	segment, err := lastSegment(site)
	if err != nil {
		return false
	}
	defer segment.Close()
	fi, err := segment.Stat()
	if err != nil {
		return false
	}
	var h redoHead
	for at, sum := int64(0), uint32(0); h.read(segment, at, sum) == nil; sum = h.sum {
		next := at + redoHeader + int64(h.length)
		if next == fi.Size() && h.kind == redoSynced {
			_, _, whole := entryAt(segment, at, fi.Size())
			return whole
		}
		at = next
	}
	return false
}

// lastSegment opens the last segment of the log in a site's folder for reading. Without one the error is
// errNoLog.
func lastSegment(site *os.Root) (*os.File, error) {
	root, err := site.OpenRoot(redoFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoLog
	}
	if err != nil {
		return nil, disk.Err("open log", err)
	}
	defer root.Close()
	for range 10 {
		nums, err := disk.NumbersIn(root, ".", redoName)
		if err != nil || len(nums) == 0 {
			return nil, errors.Join(err, errNoLog)
		}
		f, err := root.Open(redoName(nums[len(nums)-1]))
		if !errors.Is(err, fs.ErrNotExist) { // else it was begun again a moment ago
			return f, disk.Err("open log", err)
		}
	}
	return nil, errNoLog
}

// isRotten reports whether a segment that cannot be read from a place on has lost what had been synced:
// behind that place lies the whole entry of a transaction, and an entry that was written after it was synced.
// What a loss of power leaves is never that.
func isRotten(f *os.File, from int64) (bool, error) {
	fi, err := f.Stat()
	if err != nil {
		return false, disk.Err("read log", err)
	}
	synced := false
	window := make([]byte, 64<<10)
	for from+redoHeader <= fi.Size() {
		n, err := f.ReadAt(window, from)
		if err != nil && !errors.Is(err, io.EOF) {
			return true, nil // it cannot be read
		}
		i := bytes.Index(window[:n], []byte(redoMagic))
		if i < 0 {
			from += int64(max(n-len(redoMagic)+1, 1))
			continue
		}
		from += int64(i)
		if h, _, ok := entryAt(f, from, fi.Size()); !ok {
			from++
		} else if synced {
			return true, nil
		} else {
			synced = h.kind == redoTransaction
			from += redoHeader + int64(h.length)
		}
	}
	return false, nil
}

// entryAt reads the entry at a place, without a look at what lies before it.
func entryAt(f *os.File, at, size int64) (h redoHead, raw []byte, ok bool) {
	var before [4]byte
	if _, err := f.ReadAt(before[:], at+20); err != nil {
		return h, nil, false
	}
	if h.read(f, at, binary.LittleEndian.Uint32(before[:])) != nil || int64(h.length) > size-at-redoHeader {
		return h, nil, false
	}
	raw = make([]byte, redoHeader+h.length)
	_, err := f.ReadAt(raw, at)
	return h, raw, (err == nil) && redoSum(raw) == h.sum
}

// lostWrites reports whether an entry that cannot be read is one that a loss of power left: only its
// beginning is there, or a block of it has nothing but zeros, which compressed bytes never have.
func lostWrites(f *os.File, from, size int64) bool {
	if torn, err := isTorn(f, from); torn || err != nil {
		return torn
	}
	b := make([]byte, 512)
	for from < size {
		to := min(from/int64(len(b))*int64(len(b))+int64(len(b)), size)
		block := b[:to-from]
		if _, err := f.ReadAt(block, from); err != nil {
			return false
		}
		if len(block) >= redoHeader && len(bytes.Trim(block, "\x00")) == 0 {
			return true
		}
		from = to
	}
	return false
}

// isTorn reports whether nothing but the beginning of one entry lies behind a place in a segment, or nothing:
// its writer was killed.
func isTorn(segment *os.File, end int64) (bool, error) {
	fi, err := segment.Stat()
	if err != nil {
		return false, disk.Err("read log", err)
	}
	rest := fi.Size() - end
	if rest < redoHeader {
		return true, nil
	}
	var b [redoHeader]byte
	if _, err := segment.ReadAt(b[:], end); err != nil {
		return false, disk.Err("read log", err)
	}
	length := int64(binary.LittleEndian.Uint32(b[8:]))
	return (string(b[:4]) == redoMagic) && (length > rest-redoHeader), nil
}
