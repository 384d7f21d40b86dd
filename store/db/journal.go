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
	mu  sync.Mutex
	now Batches
}

// Batches are batches that are not folded yet. The zero value has none.
type Batches struct {
	Segment *os.File    // that has them, open for reading here
	Entries []log.Entry // not to be changed
	URLs    uint32      // that have a number with the last one
	Pack    uint32      // the last pack then
	Size    int64       // of that
}

// Last is the number of the last batch, 0 without one.
func (b *Batches) Last() uint64 {
	if len(b.Entries) == 0 {
		return 0
	}
	return b.Entries[len(b.Entries)-1].Tx
}

// Now returns the batches.
func (j *LogJournal) Now() *Batches {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.now
	return &now
}

func (j *LogJournal) add(segment *os.File, e log.Entry, end []byte, urls uint32) (err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b := &j.now
	if b.Segment == nil {
		b.Segment, err = sameOpen(segment)
	}
	b.Entries, b.URLs = append(b.Entries, e), max(b.URLs, urls)
	b.Pack, b.Size = record.ReadEnd(end)
	return err
}

// Drop forgets the batches up to a transaction, which are folded.
func (j *LogJournal) Drop(tx uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.now.Entries) > 0 && j.now.Entries[0].Tx <= tx {
		j.now.Entries = j.now.Entries[1:]
	}
	if len(j.now.Entries) == 0 {
		j.forget()
	}
}

// forget lets go of the segment. The caller holds mu.
func (j *LogJournal) forget() {
	if j.now.Segment != nil {
		j.now.Segment.Close() // it was read
	}
	j.now = Batches{}
}

// set replaces the batches by those of a segment; the zero value has none.
func (j *LogJournal) set(segment *os.File, now Batches) (err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forget()
	if len(now.Entries) > 0 {
		now.Segment, err = sameOpen(segment)
		j.now = now
	}
	return err
}

func (j *LogJournal) close() { _ = j.set(nil, Batches{}) }

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
	now := Batches{Entries: entries[:n], URLs: uint32(known)}
	now.Pack, now.Size = record.ReadEnd(end)
	return d.Journal.set(s.File, now)
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
	now := d.Journal.Now()
	return d.DamagedValue(readBatches(now.Segment, now.Entries, func(tx uint64, payload []byte) error {
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
	now := j.Now()
	err = log.Payloads(now.Segment, now.Entries, func(e log.Entry, payload []byte) error {
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
func (j *LogJournal) moved(segment *os.File, entries []log.Entry) error {
	now := j.Now()
	now.Entries = entries
	return j.set(segment, *now)
}
