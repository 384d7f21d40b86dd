// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"

	"mirrord/internal/binread"
	"mirrord/store/disk"
	"mirrord/store/log"
	"mirrord/store/record"

	"golang.org/x/sys/unix"
)

// journal says which entries of a segment of the log are batches that are not folded yet. It is safe for
// concurrent use.
type journal struct {
	mu      sync.Mutex
	file    *os.File // the segment, open for reading here; nil when there are none
	entries []log.Entry
	urls    uint32 // that have a number with the last one, 0 without one
	num     uint32 // the last pack then
	size    int64  // of that
}

// packEnd is how many bytes before a batch say where the packs end: number of the last one and its size.
const packEnd = 12

// appendEnd writes where the packs end.
func appendEnd(b []byte, num uint32, size int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, num), uint64(size))
}

func readEnd(v []byte) (num uint32, size int64) {
	if len(v) < packEnd {
		return 0, 0
	}
	return binary.BigEndian.Uint32(v), int64(binary.BigEndian.Uint64(v[4:]))
}

// known returns how many URLs have a number with the last batch, 0 without one.
func (j *journal) known() uint32 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.urls
}

// last returns the number of the last batch, 0 without one.
func (j *journal) last() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.entries) == 0 {
		return 0
	}
	return j.entries[len(j.entries)-1].Tx
}

// list returns the entries, and the segment that has them.
func (j *journal) list() (*os.File, []log.Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file, slices.Clone(j.entries)
}

// add takes an entry that was written to a segment.
func (j *journal) add(segment *os.File, e log.Entry, end []byte, urls uint32) (err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		j.file, err = sameOpen(segment)
	}
	j.entries, j.urls = append(j.entries, e), max(j.urls, urls)
	j.num, j.size = readEnd(end)
	return err
}

// drop forgets the batches up to a transaction, which are folded.
func (j *journal) drop(tx uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = slices.DeleteFunc(j.entries, func(e log.Entry) bool { return e.Tx <= tx })
	if len(j.entries) == 0 {
		j.forget()
	}
}

// forget lets go of the segment. The caller holds mu.
func (j *journal) forget() {
	if j.file != nil {
		j.file.Close() // it was read
	}
	j.file, j.entries, j.urls, j.num, j.size = nil, nil, 0, 0, 0
}

func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forget()
}

// open takes the batches of a segment that a database has not folded, up to the first that cannot be read:
// what lies behind it is asked again.
func (j *journal) open(d *database, s *log.Readable) (err error) {
	var folded, known uint64
	err = d.View(func(t *transaction) error {
		m := t.Bucket(bMeta)
		if m == nil {
			return nil
		}
		folded, _ = m.number(kFolded)
		known, _ = m.number(kKnown)
		return nil
	})
	if err != nil {
		return err
	}
	entries := slices.DeleteFunc(slices.Clone(s.Entries), func(e log.Entry) bool {
		return e.Tx <= folded || !e.IsBatch()
	})
	if len(entries) == 0 {
		return nil
	}
	n, end := 0, []byte(nil)
	err = readBatches(s.File, entries, func(_ uint64, payload []byte) error {
		r := binread.Reader{Rest: payload[packEnd:]}
		first, news := r.Uvarint(), r.Uvarint()
		if r.Bad || first > known || news > uint64(len(r.Rest)) {
			return errBatch
		}
		known = max(known, first+news)
		n, end = n+1, append(end[:0], payload[:packEnd]...)
		return nil
	})
	if errors.Is(err, errBatch) {
		err = nil
	}
	if (err != nil) || (n == 0) {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forget()
	j.entries, j.urls = entries[:n], uint32(known)
	j.num, j.size = readEnd(end)
	j.file, err = sameOpen(s.File)
	return err
}

// sameOpen returns another descriptor of an open file, which has the same lock.
func sameOpen(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// errBatch says that an entry of the log is no batch that counts.
var errBatch = fmt.Errorf("journal: %w: no batch here", record.ErrValue)

// readBatches calls f with the payloads of some entries. They are valid during the call.
func readBatches(segment *os.File, entries []log.Entry, f func(tx uint64, payload []byte) error) error {
	err := log.Payloads(segment, entries, func(e log.Entry, payload []byte) error {
		if len(payload) < packEnd {
			return errBatch
		}
		return f(e.Tx, payload)
	})
	if err == log.ErrEntry {
		return errBatch
	}
	return err
}

// logBatch appends a batch to the log: a synced one after what it refers to.
func (d *database) logBatch(kind byte, payload []byte, urls uint32) error {
	return d.alone(func() error {
		if d.redo.Segment() == nil {
			if err := d.beginLog(); err != nil {
				return err
			}
			if d.redo.Segment() == nil {
				return disk.Err("write log", syscall.ENOSPC)
			}
		}
		if (kind == log.Batch) && (d.before != nil) {
			if err := d.before(); err != nil {
				return err
			}
		}
		e, err := d.redo.Append(kind, d.redo.Last()+1, payload)
		if err != nil {
			return disk.Err("write log", err)
		}
		return d.journal.add(d.redo.Segment(), e, payload, urls)
	})
}

// copyTo writes the batches into a segment that is being begun, up to the first that cannot be read. It
// returns where they are.
func (j *journal) copyTo(next *log.Next) (moved []log.Entry, err error) {
	file, entries := j.list()
	err = log.Payloads(file, entries, func(e log.Entry, payload []byte) error {
		e, err := next.Batch(e.Tx, payload)
		moved = append(moved, e)
		return err
	})
	if err == log.ErrEntry {
		err = nil
	}
	return moved, err
}

// moved says where the batches are after copyTo.
func (j *journal) moved(segment *os.File, entries []log.Entry) (err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(entries) == 0 {
		j.forget()
		return nil
	}
	if j.file != nil {
		j.file.Close() // it was read
	}
	j.entries = entries
	j.file, err = sameOpen(segment)
	return err
}

// openJournal reads the journal of a site for a view. ok is false when the log was begun again since the
// database was copied.
func openJournal(s *State, root *os.Root, d *database) (ok bool, err error) {
	segment, err := log.LastOf(root)
	if errors.Is(err, log.ErrNone) || errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer segment.Close()
	last, known, err := lastOf(d)
	if err != nil || !known {
		return true, err
	}
	whole, err := log.Read(segment)
	if err == nil && !d.busy && !log.IsClean(root) {
		_, _, err = counted(s, root, d.site, whole)
	}
	if err != nil {
		return false, err
	}
	at := whole.Checkpoint()
	ok = at == nil || at.Tx <= last || !d.stale()
	return ok, d.journal.open(d, whole)
}

// packsEnd returns the number of the last pack, and how far it counts.
func (s *home) packsEnd() (num uint32, size int64, err error) {
	v, err := s.meta(kPack)
	num, size = readEnd(v)
	j := &s.db.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.num > num || (j.num == num && j.size > size) {
		return j.num, j.size, err
	}
	return num, size, err
}

// takeJournal moves the batches that a program before format 11 has left in the database into the log. What
// one of format 8 or 9 had stored of a first one-off run as published files in a tree without a version is
// not there for it: those pages are requested again.
func takeJournal(s *home) error {
	if s.db.redo.Segment() == nil {
		return nil
	}
	var payloads [][]byte
	var urls uint64
	err := s.db.View(func(tx *transaction) error {
		b, m := tx.Bucket(bJournal), tx.Bucket(bMeta)
		if b == nil {
			return nil
		}
		end, known := m.Get(kPack), false
		urls, known = m.number(kKnown)
		return b.ForEach(func(_, v []byte) error {
			if len(end) != packEnd || !known {
				return s.db.damaged(errors.New("it has a journal, and does not say where its packs end"))
			}
			payloads = append(payloads, slices.Concat(end, v))
			return nil
		})
	})
	for _, payload := range payloads {
		if err == nil {
			err = s.log("move journal", log.Batch, payload, uint32(urls))
		}
	}
	if err != nil || len(payloads) == 0 {
		return err
	}
	return s.update("move journal", func(tx *transaction) error {
		c := tx.Bucket(bJournal).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.First() {
			if err := c.Delete(); err != nil {
				return err
			}
		}
		return tx.Bucket(bMeta).Delete(kFolding)
	})
}
