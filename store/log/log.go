// SPDX-License-Identifier: Apache-2.0

// Package log is the room of package store for the log of a site: a folder of segments, of which the last one
// counts. It knows what an entry is, and what a crash or a bad disk made of a segment; what the changes of a
// transaction mean to a database, and results to a journal, is the business of package store, which describes
// an entry.
//
// A segment begins with a checkpoint, which has the number of the last transaction that is in it. Checksums
// of all entries, which cover all but the magic, are compared before more is written: a bad disk may have
// cost an entry in the middle.
package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"

	"mirrord/internal/zst"
	"mirrord/store/disk"
)

// Folder is the folder of the segments in that of a site.
const Folder = "log"

const (
	aside      = "new" // a segment that is being begun
	magic      = "mRd1"
	headerSize = 28
	mostBytes  = 1 << 30 // of a payload that is believed
	keptBytes  = 1 << 20 // of a buffer that is kept for the next entry
	window     = 1 << 20 // in which a payload is compressed
	mode       = 0o640   // as that of the database, which has the same in it
)

// Kinds of entries.
const (
	Transaction = 't' // synced before it is committed
	Later       = 'u' // a transaction that is synced with a later one
	Batch       = 'b' // a batch of the journal, synced
	Unsynced    = 'm' // one that is synced with a later entry, as are its bodies

	noted         = 'n' // Later of a program of format 10
	checkpoint    = 'c' // a part of a checkpoint
	endCheckpoint = 'C' // its last part
	clean         = 'e' // nothing: the database is synced, and has all that lies before
)

// A segment that is growth times as long as its checkpoint, and least bytes longer, is begun again.
const (
	growth = 4
	least  = 4 << 20
)

func segmentName(n uint32) string { return fmt.Sprintf("%06d.log", n) }

// Log is the log of one site that is open for writing. One goroutine uses it.
type Log struct {
	root     *os.Root
	file     *os.File // the last segment; nil when it is to be begun again
	num      uint32
	volatile bool // nothing is synced
	enc      *zstd.Encoder
	out      []byte

	tail tail
	was  tail  // before the last entry
	base int64 // bytes of the checkpoint
}

// tail is where a segment ends.
type tail struct {
	size int64
	tx   uint64 // of the last entry
	sum  uint32 // checksum of the last entry
}

// Open opens the log in a site's folder, and its last segment, which is nil without one. Nothing is
// written to that until Continue.
func Open(site *os.Root, volatile bool) (l *Log, segment *os.File, err error) {
	if err := site.MkdirAll(Folder, 0o755); err != nil {
		return nil, nil, disk.Err("make folder", err)
	}
	root, err := site.OpenRoot(Folder)
	if err != nil {
		return nil, nil, disk.Err("open log", err)
	}
	l = &Log{root: root, volatile: volatile, enc: zst.NewEncoder(window)}
	nums, err := disk.NumbersIn(root, ".", segmentName)
	if err == nil {
		err = disk.Err("remove log", disk.RemoveIn(root, aside)) // of a process that was killed
	}
	if (err == nil) && (len(nums) > 0) {
		l.num = nums[len(nums)-1]
		segment, err = root.OpenFile(segmentName(l.num), os.O_RDWR, 0)
		err = disk.Err("open log", err)
	}
	if err != nil {
		return nil, nil, errors.Join(err, root.Close())
	}
	return l, segment, nil
}

// Continue has entries follow those of a segment that Open returned, which must have a whole checkpoint.
// What lies behind them is cut off.
func (l *Log) Continue(s *Readable) error {
	l.file, l.base, l.tail = s.File, s.Base(), tail{size: s.End(), tx: s.Last(), sum: s.last().sum}
	return disk.Err("cut log", l.file.Truncate(l.tail.size))
}

// Segment is the segment that is written; nil while none is, and Begin makes the next one.
func (l *Log) Segment() *os.File { return l.file }

// Last is the number of the last transaction or batch.
func (l *Log) Last() uint64 { return l.tail.tx }

// Number makes a transaction, which has no entry, the last one.
func (l *Log) Number(tx uint64) { l.tail.tx = tx }

// sumOf is the checksum of an entry.
func sumOf(b []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(b[4:24], table), table, b[headerSize:])
}

// Append writes an entry, and syncs it if its kind says so. After an error the log is as before.
func (l *Log) Append(kind byte, tx uint64, payload []byte) (e Entry, err error) {
	l.was = l.tail
	e, err = l.write(kind, tx, payload)
	if (err == nil) && (kind == Transaction || kind == Batch) {
		err = l.sync()
	}
	if err != nil {
		err = errors.Join(err, l.TakeBack())
	}
	return e, err
}

func (l *Log) sync() error {
	if l.volatile {
		return nil
	}
	return unix.Fdatasync(int(l.file.Fd()))
}

func (l *Log) write(kind byte, tx uint64, payload []byte) (e Entry, err error) {
	if cap(l.out) > keptBytes {
		l.out = nil
	}
	b := l.enc.EncodeAll(payload, append(l.out[:0], make([]byte, headerSize)...))
	l.out = b
	le := binary.LittleEndian
	copy(b, magic)
	b[4] = kind
	le.PutUint32(b[8:], uint32(len(b)-headerSize))
	le.PutUint64(b[12:], tx)
	le.PutUint32(b[20:], l.tail.sum)
	e = Entry{
		Kind: kind,
		Tx:   tx,
		Off:  l.tail.size,
		Size: int64(len(b)),
		sum:  sumOf(b),
	}
	le.PutUint32(b[24:], e.sum)
	if _, err := l.file.WriteAt(b, e.Off); err != nil {
		return e, err
	}
	l.tail = tail{size: e.Off + e.Size, tx: tx, sum: e.sum}
	return e, nil
}

// TakeBack removes the last entry, whose transaction was not committed.
func (l *Log) TakeBack() error {
	l.tail = l.was
	return l.file.Truncate(l.tail.size)
}

// Next is a segment that Begin begins.
type Next struct{ log Log }

// Batch writes a batch of the journal, and says where it is.
func (n *Next) Batch(tx uint64, payload []byte) (Entry, error) {
	return n.log.write(Batch, tx, payload)
}

// Changes writes a part of the checkpoint, which is of the last transaction.
func (n *Next) Changes(changes []byte) error {
	_, err := n.log.write(checkpoint, n.log.tail.tx, changes)
	return err
}

// Begin begins a segment; fill writes the present state, but for the changes of the last part, which it
// returns. The segments before go when it is whole.
func (l *Log) Begin(fill func(*Next) (last []byte, err error)) error {
	if l.file != nil {
		l.file.Close() // what was written to it no longer counts
		l.file = nil
	}
	f, err := l.root.OpenFile(aside, os.O_RDWR|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return disk.Err("begin log", err)
	}
	next := &Next{Log{file: f, enc: l.enc, tail: tail{tx: l.tail.tx}}}
	last, err := fill(next)
	if err == nil {
		_, err = next.log.write(endCheckpoint, l.tail.tx, last)
	}
	if err == nil && !l.volatile {
		err = f.Sync()
	}
	if err == nil {
		err = l.root.Rename(aside, segmentName(l.num+1))
	}
	if err == nil && !l.volatile {
		err = disk.SyncIn(l.root, ".") // before the segments that lead to it go
	}
	if err != nil {
		f.Close()
		return disk.Err("begin log", errors.Join(err, disk.RemoveIn(l.root, aside)))
	}
	l.file, l.tail, l.base = f, next.log.tail, next.log.tail.size
	l.num++
	return l.removeBefore(l.num)
}

// GiveUp ends the segment on a disk without space, so that the database is the truth until Begin.
func (l *Log) GiveUp() error {
	err := l.file.Close()
	l.file = nil
	return err
}

// Remove removes all segments, which are of no use.
func (l *Log) Remove() error { return l.removeBefore(l.num + 1) }

func (l *Log) removeBefore(num uint32) error {
	nums, err := disk.NumbersIn(l.root, ".", segmentName)
	for _, n := range nums {
		if (err == nil) && (n < num) {
			err = disk.Err("remove log", l.root.Remove(segmentName(n)))
		}
	}
	return err
}

// IsLong reports whether the segment is to be begun again.
func (l *Log) IsLong() bool { return (l.file == nil) || (l.tail.size > growth*l.base+least) }

// Settle syncs the log and then, by sync, the database, and says so in the log: else readers would have to
// look for what a loss of power did to it.
func (l *Log) Settle(sync func() error) error {
	if !l.volatile {
		if err := errors.Join(l.sync(), sync()); err != nil {
			return err
		}
	}
	_, _ = l.write(clean, l.tail.tx, nil) // it only saves time
	return nil
}

func (l *Log) Close() (err error) {
	if l.file != nil {
		err = l.file.Close()
	}
	return errors.Join(disk.Err("close log", err), l.root.Close())
}
