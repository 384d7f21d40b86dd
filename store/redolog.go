// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/klauspost/compress/zstd"

	"mirrord/internal/binread"
	"mirrord/internal/zstdfast"
)

// The database of a site is an index over its log: all its content can be restored from there, with all
// kept versions, mirror paths and history. The log has one entry for each transaction, with the values that
// it wrote. It is written before the transaction is committed and not synced then, because it only counts
// when the database is lost. A log that does not end with the last transaction is begun again with a
// checkpoint, which holds all values; so is one that has grown to several times its checkpoint.
//
// A segment is a file of entries. It begins with a checkpoint. An entry is
//
//	magic   4 bytes "mRd1"
//	kind    1 byte, then 3 bytes 0
//	length  4 bytes: of the payload
//	tx      8 bytes: number of the transaction in the database, that of the checkpoint
//	before  4 bytes: checksum of the entry before, 0 for the first
//	crc32c  4 bytes: of the fields from kind to before, and the payload
//	payload changes in zstd
//
// with numbers in little endian. A change is a byte that says which, and names, keys and values as uvarint
// length and bytes. Checksums of all entries are compared before more is written: a power loss or a bad disk
// may have cost an entry in the middle.
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
	redoTransaction   = 't'
	redoCheckpoint    = 'c' // a part of a checkpoint
	redoEndCheckpoint = 'C' // its last part
)

// A segment that is redoGrowth times as long as its checkpoint, and redoLeast bytes longer, is begun again.
const (
	redoGrowth = 4
	redoLeast  = 4 << 20
)

func redoName(n uint32) string { return fmt.Sprintf("%06d.log", n) }

// redoNumber is the number of the segment with a name, 0 for other names.
func redoNumber(name string) (n uint32) {
	if _, err := fmt.Sscanf(name, "%d.log", &n); err != nil || redoName(n) != name {
		return 0
	}
	return n
}

// redoLog is the log of one site that is open for writing. One goroutine uses it.
type redoLog struct {
	root *os.Root
	file *os.File // the last segment; nil when it is to be begun again
	num  uint32
	enc  *zstdfast.Encoder // nil until there is an entry
	out  []byte

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

// openRedo opens the log in a site's folder. One whose last entry is not that of transaction tx is begun
// again by the next checkpoint; so is any when tx is 0.
func openRedo(site *os.Root, tx uint64) (*redoLog, error) {
	if err := site.MkdirAll(redoFolder, 0o755); err != nil {
		return nil, diskErr("make folder", err)
	}
	root, err := site.OpenRoot(redoFolder)
	if err != nil {
		return nil, diskErr("open log", err)
	}
	l := &redoLog{root: root}
	nums, err := redoSegments(root)
	if err == nil {
		err = diskErr("remove log", removeIn(root, redoAside)) // of a process that was killed
	}
	if err != nil || len(nums) == 0 {
		return l, errors.Join(err, closeOnError(err, root))
	}
	if l.num = nums[len(nums)-1]; tx == 0 {
		return l, nil
	}
	f, err := root.OpenFile(redoName(l.num), os.O_RDWR, 0)
	if err != nil {
		return nil, errors.Join(diskErr("open log", err), root.Close())
	}
	tail, base, err := redoEnd(f, tx)
	if (err != nil) || (base == 0) || (tail.tx != tx) {
		f.Close()
		return l, nil // it is of no use
	}
	l.file, l.tail, l.base = f, tail, base
	return l, nil
}

func closeOnError(err error, c io.Closer) error {
	if err == nil {
		return nil
	}
	return c.Close()
}

// redoSegments lists the numbers of the segments.
func redoSegments(root *os.Root) (nums []uint32, err error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, diskErr("list log", err)
	}
	for _, e := range entries {
		if n := redoNumber(e.Name()); n > 0 {
			nums = append(nums, n)
		}
	}
	slices.Sort(nums)
	return nums, nil
}

// redoEnd reads a segment up to the entry of a transaction, or the first that is damaged: what lies behind
// was not committed. base is how long the checkpoint is, 0 without one.
func redoEnd(f *os.File, last uint64) (tail redoTail, base int64, err error) {
	_, err = redoRaw(f, func(h redoHead, raw []byte) error {
		if h.tx > last {
			return errEnd
		}
		tail.size += int64(len(raw))
		tail.tx, tail.sum = h.tx, h.sum
		if h.kind == redoEndCheckpoint {
			base = tail.size
		}
		return nil
	})
	if errors.Is(err, errEnd) {
		err = nil
	}
	return tail, base, err
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

var errRedo = fmt.Errorf("log: %w: no entry here", ErrDamaged)

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

// append writes an entry. One that cannot be written costs the log, and nothing else.
func (l *redoLog) append(kind byte, tx uint64, changes []byte) {
	if (l == nil) || (l.file == nil) {
		return
	}
	l.was = l.tail
	if err := l.write(kind, tx, changes); err != nil {
		l.file.Truncate(l.was.size) // else what was written of the entry looks like damage
		l.file.Close()
		l.file = nil
	}
}

func (l *redoLog) write(kind byte, tx uint64, changes []byte) error {
	if cap(l.out) > maxKept {
		l.out = nil
	}
	l.out = append(l.out[:0], make([]byte, redoHeader)...)
	if l.enc == nil {
		l.enc = zstdfast.New(false)
	}
	l.out = l.enc.Append(l.out, changes)
	h := redoHead{kind: kind, tx: tx, before: l.tail.sum}
	sum := h.put(l.out)
	if _, err := l.file.WriteAt(l.out, l.tail.size); err != nil {
		return err
	}
	l.tail = redoTail{size: l.tail.size + int64(len(l.out)), tx: tx, sum: sum}
	return nil
}

// takeBack removes the last entry, whose transaction was not committed.
func (l *redoLog) takeBack() {
	if (l != nil) && (l.file != nil) {
		l.tail = l.was
	}
}

// begin begins a segment; checkpoint writes the changes that lead to the present state, each call of add an
// entry. The segments before go when it is whole.
func (l *redoLog) begin(tx uint64, checkpoint func(add func(changes []byte) error) ([]byte, error)) error {
	if l.file != nil {
		l.file.Close() // what was written to it no longer counts
		l.file = nil
	}
	f, err := l.root.OpenFile(redoAside, os.O_RDWR|os.O_CREATE|os.O_TRUNC, redoMode)
	if err != nil {
		return diskErr("begin log", err)
	}
	next := &redoLog{file: f, enc: l.enc}
	last, err := checkpoint(func(changes []byte) error { return next.write(redoCheckpoint, tx, changes) })
	if err == nil {
		err = next.write(redoEndCheckpoint, tx, last)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = l.root.Rename(redoAside, redoName(l.num+1))
	}
	if err != nil {
		f.Close()
		return diskErr("begin log", errors.Join(err, removeIn(l.root, redoAside)))
	}
	l.file, l.enc, l.tail, l.base = f, next.enc, next.tail, next.tail.size
	l.num++
	return l.removeBefore(l.num)
}

// removeBefore removes the segments with numbers below num.
func (l *redoLog) removeBefore(num uint32) error {
	nums, err := redoSegments(l.root)
	for _, n := range nums {
		if (err == nil) && (n < num) {
			err = diskErr("remove log", l.root.Remove(redoName(n)))
		}
	}
	return err
}

// isLong reports whether the segment is to be begun again.
func (l *redoLog) isLong() bool {
	return (l.file == nil) || (l.tail.size > redoGrowth*l.base+redoLeast)
}

// close ends the log. What an entry that was taken back left behind it is cut off.
func (l *redoLog) close(volatile bool) (err error) {
	if l == nil {
		return nil
	}
	if l.file != nil {
		if err = l.file.Truncate(l.tail.size); (err == nil) && !volatile {
			err = l.file.Sync()
		}
		err = diskErr("close log", errors.Join(err, l.file.Close()))
	}
	return errors.Join(err, l.root.Close())
}

// redoRaw calls each for the entries of a segment, up to the first that is damaged or was not written as a
// whole, which is no error. It returns where that begins. raw, the entry with its header, is valid during the
// call.
func redoRaw(f *os.File, each func(h redoHead, raw []byte) error) (end int64, err error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, diskErr("read log", err)
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

// redoEntries calls each for the entries of a segment as redoRaw does, with their changes.
func redoEntries(
	f *os.File, each func(kind byte, tx uint64, changes []byte) error,
) (end int64, err error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRedo))
	if err != nil {
		return 0, err
	}
	defer dec.Close()
	var changes []byte
	end, err = redoRaw(f, func(h redoHead, raw []byte) error {
		var err error
		if changes, err = dec.DecodeAll(raw[redoHeader:], changes[:0]); err != nil {
			return errEnd
		}
		return each(h.kind, h.tx, changes)
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
	root, err := site.OpenRoot(redoFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, redoWhole, nil
	}
	if err != nil {
		return 0, redoWhole, diskErr("open log", err)
	}
	defer root.Close()
	nums, err := redoSegments(root)
	if (err != nil) || (len(nums) == 0) {
		return 0, redoWhole, err
	}
	f, err := root.Open(redoName(nums[len(nums)-1]))
	if errors.Is(err, fs.ErrNotExist) { // begun again a moment ago
		return lastLogged(site, read)
	}
	if err != nil {
		return 0, redoDamaged, Unreadable(err)
	}
	defer f.Close()
	whole := false
	end, err := redoEntries(f, func(kind byte, last uint64, changes []byte) error {
		whole, tx = whole || (kind == redoEndCheckpoint), last
		return read(int64(len(changes)))
	})
	if !whole { // the checkpoint was synced
		return 0, redoDamaged, err
	}
	fi, serr := f.Stat()
	switch {
	case serr != nil:
		state = redoDamaged
	case end == fi.Size():
	case lostWrites(f, end, fi.Size()):
		state = redoTorn
	default:
		state = redoDamaged
	}
	return tx, state, err
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
			if now, want := b.tallied(), d.Bytes(); (now == nil) || (string(now.append(nil)) != string(want)) {
				err = fmt.Errorf("log: %w: bucket %q does not come to what was written", ErrDamaged, b.name)
			}
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
