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
	"golang.org/x/sys/unix"

	"mirrord/internal/binread"
	"mirrord/internal/zstdfast"
)

// The log of a site is what it is; its database is an index over the log, which can be made again from there,
// with all kept versions, mirror paths and history. The log has one entry for each transaction, with the values
// that it wrote. The entry is on the disk before the transaction is committed, and the database is not synced:
// it says which entry it has last (transaction.logged), and who opens it for writing has it catch up. One that
// is damaged, or older than the checkpoint, is made again; one that is whole and ahead of a log that was
// damaged counts, and the log is begun again with a checkpoint of all values. So is one that has grown to
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

// redoNumber is the number of the segment with a name, 0 for other names.
func redoNumber(name string) (n uint32) {
	if _, err := fmt.Sscanf(name, "%d.log", &n); err != nil || redoName(n) != name {
		return 0
	}
	return n
}

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
		return nil, nil, diskErr("make folder", err)
	}
	root, err := site.OpenRoot(redoFolder)
	if err != nil {
		return nil, nil, diskErr("open log", err)
	}
	l = &redoLog{root: root}
	nums, err := redoSegments(root)
	if err == nil {
		err = diskErr("remove log", removeIn(root, redoAside)) // of a process that was killed
	}
	if (err == nil) && (len(nums) > 0) {
		l.num = nums[len(nums)-1]
		file, err = root.OpenFile(redoName(l.num), os.O_RDWR, 0)
		err = diskErr("open log", err)
	}
	return l, file, errors.Join(err, closeOnError(err, root))
}

func closeOnError(err error, c io.Closer) error {
	if err == nil {
		return nil
	}
	return c.Close()
}

// hasLog reports whether a site has a log, which a database can be made of.
func hasLog(site *os.Root) bool {
	f, err := lastSegment(site)
	if err == nil {
		f.Close()
	}
	return err == nil || !errors.Is(err, errNoLog)
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

// append writes the entry of a transaction.
func (l *redoLog) append(kind byte, tx uint64, changes []byte) error {
	l.was = l.tail
	err := l.write(kind, tx, changes)
	if (err == nil) && (kind == redoTransaction) {
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
func (l *redoLog) takeBack() error {
	l.tail = l.was
	return l.file.Truncate(l.tail.size)
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
	if err == nil && !l.volatile {
		err = f.Sync()
	}
	if err == nil {
		err = l.root.Rename(redoAside, redoName(l.num+1))
	}
	if err == nil && !l.volatile {
		err = syncRoot(l.root) // before the segments that lead to it go
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

// close ends the log.
func (l *redoLog) close() (err error) {
	if l.file != nil {
		err = l.file.Close()
	}
	return errors.Join(diskErr("close log", err), l.root.Close())
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

// isTransaction reports whether an entry is that of a transaction.
func (h redoHead) isTransaction() bool { return h.kind == redoTransaction || h.kind == redoLater }

// redoEntries calls each for the entries of a segment as redoRaw does, with the changes of those that are
// wanted.
func redoEntries(
	f *os.File, wanted func(redoHead) bool, each func(h redoHead, changes []byte) error,
) (end int64, err error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRedo))
	if err != nil {
		return 0, err
	}
	defer dec.Close()
	var changes []byte
	end, err = redoRaw(f, func(h redoHead, raw []byte) error {
		if changes = changes[:0]; wanted(h) {
			var err error
			if changes, err = dec.DecodeAll(raw[redoHeader:], changes); err != nil {
				return errEnd
			}
		}
		return each(h, changes)
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
		return 0, redoDamaged, Unreadable(err)
	}
	defer f.Close()
	whole := false
	all := func(redoHead) bool { return true }
	end, err := redoEntries(f, all, func(h redoHead, changes []byte) error {
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
			_, whole := entryAt(segment, at, fi.Size())
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
		return nil, diskErr("open log", err)
	}
	defer root.Close()
	for range 10 {
		nums, err := redoSegments(root)
		if err != nil || len(nums) == 0 {
			return nil, errors.Join(err, errNoLog)
		}
		f, err := root.Open(redoName(nums[len(nums)-1]))
		if !errors.Is(err, fs.ErrNotExist) { // else it was begun again a moment ago
			return f, diskErr("open log", err)
		}
	}
	return nil, errNoLog
}

// isRotten reports whether a segment that cannot be read from a place on has lost what had been synced: behind
// that place lies the whole entry of a transaction, and an entry that was written after it was synced. What a
// loss of power leaves is never that.
func isRotten(f *os.File, from int64) (bool, error) {
	fi, err := f.Stat()
	if err != nil {
		return false, diskErr("read log", err)
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
		if h, ok := entryAt(f, from, fi.Size()); !ok {
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

// entryAt reads the entry at a place, whatever lies before it.
func entryAt(f *os.File, at, size int64) (h redoHead, ok bool) {
	var before [4]byte
	if _, err := f.ReadAt(before[:], at+20); err != nil {
		return h, false
	}
	if h.read(f, at, binary.LittleEndian.Uint32(before[:])) != nil || int64(h.length) > size-at-redoHeader {
		return h, false
	}
	raw := make([]byte, redoHeader+h.length)
	_, err := f.ReadAt(raw, at)
	return h, (err == nil) && redoSum(raw) == h.sum
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
	return fmt.Errorf("log: %w: bucket %q does not come to what was written", ErrDamaged, b.name)
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

// isTorn reports whether nothing but the beginning of one entry lies behind a place in a segment, or nothing:
// its writer was killed.
func isTorn(segment *os.File, end int64) (bool, error) {
	fi, err := segment.Stat()
	if err != nil {
		return false, diskErr("read log", err)
	}
	rest := fi.Size() - end
	if rest < redoHeader {
		return true, nil
	}
	var b [redoHeader]byte
	if _, err := segment.ReadAt(b[:], end); err != nil {
		return false, diskErr("read log", err)
	}
	length := int64(binary.LittleEndian.Uint32(b[8:]))
	return (string(b[:4]) == redoMagic) && (length > rest-redoHeader), nil
}
