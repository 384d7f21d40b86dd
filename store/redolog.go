// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"mirrord/internal/binread"
	"mirrord/internal/zstdfast"
	"mirrord/store/disk"
)

// The log of a site is what it is; its database is an index over the log, which can be made again from there,
// with all kept versions, mirror paths and history. The log has one entry for each transaction, with the
// values that it wrote. The entry is on the disk before the transaction is committed, and the database is not
// synced: it says which entry it has last (transaction.logged), and who opens it for writing has it catch up.
// One that is damaged, or older than the checkpoint, is made again; one that is whole and ahead of a log that
// was damaged counts, and the log is begun again with a checkpoint of all values. So is one that has grown to
// several times its checkpoint. On a disk without free space the log is given up: the database is synced, and
// is the truth until there is a log again.
//
// A segment is a file of entries. It begins with a checkpoint. An entry is
//
//	magic   4 bytes "mRd1"
//	kind    1 byte, then 3 bytes 0
//	length  4 bytes: of the payload
//	tx      8 bytes: number of the transaction; a checkpoint has that of the last one that is in it
//	before  4 bytes: checksum of the entry before, 0 for the first
//	crc32c  4 bytes: of the fields from kind to before, and the payload
//	payload changes in zstd
//
// with numbers in little endian. A change is a byte that says which, and names, keys and values as uvarint
// length and bytes. Checksums of all entries are compared before more is written: a bad disk may have cost an
// entry in the middle.
const (
	redoFolder = "log"
	redoAside  = "new" // a segment that is being begun
	redoMagic  = "mRd1"
	redoHeader = 28
	maxRedo    = 1 << 30 // bytes of changes that an entry is believed to have
	redoMode   = 0o640   // as that of the database, which has the same in it
)

// Kinds of entries.
const (
	redoTransaction   = 't' // synced before it is committed
	redoLater         = 'u' // a transaction that is synced with a later one
	redoBatch         = 'b' // a batch of the journal, synced
	redoUnsynced      = 'm' // one that is synced with a later entry, as are its bodies
	redoNoted         = 'n' // redoLater of a program of format 10
	redoCheckpoint    = 'c' // a part of a checkpoint
	redoEndCheckpoint = 'C' // its last part
	redoSynced        = 'e' // nothing: the database is synced, and has all that lies before
)

// A segment that is redoGrowth times as long as its checkpoint, and redoLeast bytes longer, is begun again.
const (
	redoGrowth = 4
	redoLeast  = 4 << 20
)

func redoName(n uint32) string { return fmt.Sprintf("%06d.log", n) }

// redoLog is the log of one site that is open for writing. One goroutine uses it.
type redoLog struct {
	root     *os.Root
	file     *os.File // the last segment; nil when it is to be begun again
	num      uint32
	volatile bool              // nothing is synced
	enc      *zstdfast.Encoder // nil until there is an entry
	out      []byte

	tail redoTail
	was  redoTail // before the last entry
	base int64    // bytes of the checkpoint
}

// redoTail is where a segment ends.
type redoTail struct {
	size int64
	tx   uint64 // of the last entry
	sum  uint32 // checksum of the last entry
}

// openRedo opens the log in a site's folder; file is its last segment, nil without one.
func openRedo(site *os.Root) (l *redoLog, file *os.File, err error) {
	if err := site.MkdirAll(redoFolder, 0o755); err != nil {
		return nil, nil, disk.Err("make folder", err)
	}
	root, err := site.OpenRoot(redoFolder)
	if err != nil {
		return nil, nil, disk.Err("open log", err)
	}
	l = &redoLog{root: root}
	nums, err := disk.NumbersIn(root, ".", redoName)
	if err == nil {
		err = disk.Err("remove log", disk.RemoveIn(root, redoAside)) // of a process that was killed
	}
	if (err == nil) && (len(nums) > 0) {
		l.num = nums[len(nums)-1]
		file, err = root.OpenFile(redoName(l.num), os.O_RDWR, 0)
		err = disk.Err("open log", err)
	}
	return l, file, errors.Join(err, closeOnError(err, root))
}

func closeOnError(err error, c io.Closer) error {
	if err == nil {
		return nil
	}
	return c.Close()
}

// redoHead is the header of an entry.
type redoHead struct {
	kind   byte
	length uint32
	tx     uint64
	before uint32
	sum    uint32
}

// errEnd ends the reading of a segment.
var errEnd = errors.New("end of the log")

var errRedo = fmt.Errorf("log: %w: no entry here", disk.ErrDamaged)

// read reads the header at an offset; before is what the entry before it has for a checksum.
func (h *redoHead) read(f *os.File, off int64, before uint32) error {
	var b [redoHeader]byte
	if _, err := f.ReadAt(b[:], off); err != nil {
		return err
	}
	le := binary.LittleEndian
	h.kind, h.length, h.tx, h.before, h.sum = b[4], le.Uint32(b[8:]), le.Uint64(b[12:]), le.Uint32(b[20:]),
		le.Uint32(b[24:])
	if (string(b[:4]) != redoMagic) || (h.before != before) || (h.length > maxRedo) {
		return errRedo
	}
	return nil
}

// put writes the header in front of a payload that follows it in b, and returns the checksum.
func (h *redoHead) put(b []byte) uint32 {
	le := binary.LittleEndian
	copy(b, redoMagic)
	b[4], b[5], b[6], b[7] = h.kind, 0, 0, 0
	le.PutUint32(b[8:], uint32(len(b)-redoHeader))
	le.PutUint64(b[12:], h.tx)
	le.PutUint32(b[20:], h.before)
	le.PutUint32(b[24:], redoSum(b))
	return le.Uint32(b[24:])
}

// redoSum is the checksum of an entry.
func redoSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[4:24], castagnoli), castagnoli, b[redoHeader:])
}

// append writes the entry of a transaction.
func (l *redoLog) append(kind byte, tx uint64, changes []byte) error {
	l.was = l.tail
	err := l.write(kind, tx, changes)
	if (err == nil) && (kind == redoTransaction || kind == redoBatch) {
		err = l.sync()
	}
	if err != nil {
		err = errors.Join(err, l.takeBack())
	}
	return err
}

func (l *redoLog) sync() error {
	if l.volatile {
		return nil
	}
	return unix.Fdatasync(int(l.file.Fd()))
}

// write writes an entry.
func (l *redoLog) write(kind byte, tx uint64, changes []byte) error {
	if l.enc == nil {
		l.enc = zstdfast.New()
	}
	l.begun()
	l.out = l.enc.Append(l.out, changes)
	return l.end(kind, tx)
}

// put writes an entry whose payload is compressed.
func (l *redoLog) put(kind byte, tx uint64, payload []byte) error {
	l.begun()
	l.out = append(l.out, payload...)
	return l.end(kind, tx)
}

func (l *redoLog) begun() {
	if cap(l.out) > maxKept {
		l.out = nil
	}
	l.out = append(l.out[:0], make([]byte, redoHeader)...)
}

func (l *redoLog) end(kind byte, tx uint64) error {
	h := redoHead{kind: kind, tx: tx, before: l.tail.sum}
	sum := h.put(l.out)
	if _, err := l.file.WriteAt(l.out, l.tail.size); err != nil {
		return err
	}
	l.tail = redoTail{size: l.tail.size + int64(len(l.out)), tx: tx, sum: sum}
	return nil
}

// takeBack removes the last entry, whose transaction was not committed.
func (l *redoLog) takeBack() error {
	l.tail = l.was
	return l.file.Truncate(l.tail.size)
}

// begin begins a segment; checkpoint writes the present state, but for the changes of the last
// entry, which it returns. The segments before go when it is whole.
func (l *redoLog) begin(tx uint64, checkpoint func(next *redoLog) ([]byte, error)) error {
	if l.file != nil {
		l.file.Close() // what was written to it no longer counts
		l.file = nil
	}
	f, err := l.root.OpenFile(redoAside, os.O_RDWR|os.O_CREATE|os.O_TRUNC, redoMode)
	if err != nil {
		return disk.Err("begin log", err)
	}
	next := &redoLog{file: f, enc: l.enc}
	last, err := checkpoint(next)
	if err == nil {
		err = next.write(redoEndCheckpoint, tx, last)
	}
	if err == nil && !l.volatile {
		err = f.Sync()
	}
	if err == nil {
		err = l.root.Rename(redoAside, redoName(l.num+1))
	}
	if err == nil && !l.volatile {
		err = disk.SyncIn(l.root, ".") // before the segments that lead to it go
	}
	if err != nil {
		f.Close()
		return disk.Err("begin log", errors.Join(err, disk.RemoveIn(l.root, redoAside)))
	}
	l.file, l.enc, l.tail, l.base = f, next.enc, next.tail, next.tail.size
	l.num++
	return l.removeBefore(l.num)
}

// removeBefore removes the segments with numbers below num.
func (l *redoLog) removeBefore(num uint32) error {
	nums, err := disk.NumbersIn(l.root, ".", redoName)
	for _, n := range nums {
		if (err == nil) && (n < num) {
			err = disk.Err("remove log", l.root.Remove(redoName(n)))
		}
	}
	return err
}

// isLong reports whether the segment is to be begun again.
func (l *redoLog) isLong() bool {
	return (l.file == nil) || (l.tail.size > redoGrowth*l.base+redoLeast)
}

// close ends the log.
func (l *redoLog) close() (err error) {
	if l.file != nil {
		err = l.file.Close()
	}
	return errors.Join(disk.Err("close log", err), l.root.Close())
}

// Changes of an entry.
const (
	redoPut      = 'p' // bucket, key, value
	redoDelete   = 'd' // bucket, key
	redoSequence = 's' // bucket, 8 bytes, big endian
	redoTally    = 'T' // bucket, tally: its value
)

func appendChange(b []byte, what byte, bucket []byte, rest ...[]byte) []byte {
	b = append(b, what)
	b = binread.AppendString(b, string(bucket))
	for _, r := range rest {
		b = binary.AppendUvarint(b, uint64(len(r)))
		b = append(b, r...)
	}
	return b
}

// redo makes the changes of an entry in a transaction.
func redo(t *transaction, changes []byte) error {
	d := binread.Reader{Rest: changes}
	for len(d.Rest) > 0 {
		what := d.Byte()
		b, err := t.CreateBucketIfNotExists(d.Bytes())
		if err != nil {
			return err
		}
		switch what {
		case redoPut:
			k := d.Bytes()
			err = b.Put(k, d.Bytes())
		case redoDelete:
			err = b.Delete(d.Bytes())
		case redoSequence:
			if v := d.Bytes(); len(v) == 8 {
				err = b.b.SetSequence(binary.BigEndian.Uint64(v))
			}
		case redoTally:
			now := b.tallied()
			now.seq = b.Sequence()
			err = b.comesTo(*now, d.Bytes())
		default:
			err = errRedo
		}
		if err != nil {
			return err
		}
		if d.Bad {
			return errRedo
		}
	}
	return nil
}

// comesTo is an error when a tally is not the one that was written.
func (b *bucket) comesTo(now tally, written []byte) error {
	var want tally
	if want.decode(written) && now.same(want) {
		return nil
	}
	return fmt.Errorf("log: %w: bucket %q does not come to what was written", disk.ErrDamaged, b.name)
}

// agrees reports as an error that the database is not as the changes of its last transaction left it.
func (t *transaction) agrees(changes []byte) error {
	d := binread.Reader{Rest: changes}
	for len(d.Rest) > 0 && !d.Bad {
		what, name := d.Byte(), d.Bytes()
		rest := d.Bytes()
		if what == redoPut {
			d.Bytes()
		}
		if b := t.Bucket(name); what == redoTally && !d.Bad {
			if b == nil {
				return errRedo
			}
			if err := b.comesTo(*t.tallyOf(name), rest); err != nil {
				return err
			}
		}
	}
	return nil
}
