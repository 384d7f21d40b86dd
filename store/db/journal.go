// SPDX-License-Identifier: Apache-2.0

package db

import (
	"errors"
	"fmt"
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

// LogJournal says which entries of a segment of the log are batches that are not folded yet. It is safe for
// concurrent use.
type LogJournal struct {
	mu      sync.Mutex
	file    *os.File // the segment, open for reading here; nil when there are none
	entries []log.Entry
	urls    uint32 // that have a number with the last one, 0 without one
	num     uint32 // the last pack then
	size    int64  // of that
}

// Known returns how many URLs have a number with the last batch, 0 without one.
func (j *LogJournal) Known() uint32 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.urls
}

// Last returns the number of the last batch, 0 without one.
func (j *LogJournal) Last() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.entries) == 0 {
		return 0
	}
	return j.entries[len(j.entries)-1].Tx
}

// End returns where the packs end with the last batch: number of the last one and its size, 0 without one.
func (j *LogJournal) End() (num uint32, size int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.num, j.size
}

// List returns the entries, and the segment that has them.
func (j *LogJournal) List() (*os.File, []log.Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file, slices.Clone(j.entries)
}

// add takes an entry that was written to a segment.
func (j *LogJournal) add(segment *os.File, e log.Entry, end []byte, urls uint32) (err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		j.file, err = sameOpen(segment)
	}
	j.entries, j.urls = append(j.entries, e), max(j.urls, urls)
	j.num, j.size = record.ReadEnd(end)
	return err
}

// Drop forgets the batches up to a transaction, which are folded.
func (j *LogJournal) Drop(tx uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = slices.DeleteFunc(j.entries, func(e log.Entry) bool { return e.Tx <= tx })
	if len(j.entries) == 0 {
		j.forget()
	}
}

// forget lets go of the segment. The caller holds mu.
func (j *LogJournal) forget() {
	if j.file != nil {
		j.file.Close() // it was read
	}
	j.file, j.entries, j.urls, j.num, j.size = nil, nil, 0, 0, 0
}

func (j *LogJournal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forget()
}

// OpenJournal takes the batches of a segment that the database has not folded, up to the first that cannot be
// read: what lies behind it is asked again.
func (d *DB) OpenJournal(s *log.Readable) (err error) {
	var folded, known uint64
	err = d.View(func(t *Tx) error {
		m := t.Meta()
		if m == nil {
			return nil
		}
		folded, _ = m.Number(KeyFolded)
		known, _ = m.Number(KeyKnown)
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
		r := binread.Reader{Rest: payload[record.EndSize:]}
		first, news := r.Uvarint(), r.Uvarint()
		if r.Bad || first > known || news > uint64(len(r.Rest)) {
			return errBatch
		}
		known = max(known, first+news)
		n, end = n+1, append(end[:0], payload[:record.EndSize]...)
		return nil
	})
	if errors.Is(err, errBatch) {
		err = nil
	}
	if (err != nil) || (n == 0) {
		return err
	}
	j := &d.Journal
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forget()
	j.entries, j.urls = entries[:n], uint32(known)
	j.num, j.size = record.ReadEnd(end)
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

// Batches calls f for each batch that is not folded, in the order of the commits, with the number of its
// transaction. The batch is valid during the call.
func (d *DB) Batches(f func(tx uint64, batch []byte) error) error {
	file, entries := d.Journal.List()
	return d.DamagedValue(readBatches(file, entries, func(tx uint64, payload []byte) error {
		return f(tx, payload[record.EndSize:])
	}))
}

// readBatches calls f with the payloads of some entries. They are valid during the call.
func readBatches(segment *os.File, entries []log.Entry, f func(tx uint64, payload []byte) error) error {
	err := log.Payloads(segment, entries, func(e log.Entry, payload []byte) error {
		if len(payload) < record.EndSize {
			return errBatch
		}
		return f(e.Tx, payload)
	})
	if err == log.ErrEntry {
		return errBatch
	}
	return err
}

// LogBatch appends a batch to the log: a synced one after what it refers to.
func (d *DB) LogBatch(kind byte, payload []byte, urls uint32) error {
	return d.alone(func() error {
		if err := d.BeginLog(); err != nil {
			return err
		}
		if d.Segment() == nil {
			return disk.Err("write log", syscall.ENOSPC)
		}
		if (kind == log.Batch) && (d.Before != nil) {
			if err := d.Before(); err != nil {
				return err
			}
		}
		e, err := d.redo.Append(kind, d.redo.Last()+1, payload)
		if err != nil {
			return disk.Err("write log", err)
		}
		return d.Journal.add(d.Segment(), e, payload, urls)
	})
}

// copyTo writes the batches into a segment that is being begun, up to the first that cannot be read. It
// returns where they are.
func (j *LogJournal) copyTo(next *log.Next) (moved []log.Entry, err error) {
	file, entries := j.List()
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
func (j *LogJournal) moved(segment *os.File, entries []log.Entry) (err error) {
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
