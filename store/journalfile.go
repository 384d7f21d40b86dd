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
	"mirrord/store/record"
)

// journal says which entries of a segment of the log are batches that are not folded yet. It is safe for
// concurrent use.
type journal struct {
	mu      sync.Mutex
	file    *os.File // the segment, open for reading here; nil when there are none
	entries []journalEntry
	urls    uint32 // that have a number with the last one, 0 without one
	num     uint32 // the last pack then
	size    int64  // of that
}

// journalEntry is an entry of the log that is a batch.
type journalEntry struct {
	tx  uint64
	off int64 // in the segment
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
	return j.entries[len(j.entries)-1].tx
}

// list returns the entries, and the segment that has them.
func (j *journal) list() (*os.File, []journalEntry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file, slices.Clone(j.entries)
}

// add takes an entry that was written to a segment.
func (j *journal) add(segment *os.File, e journalEntry, end []byte, urls uint32) (err error) {
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
	j.entries = slices.DeleteFunc(j.entries, func(e journalEntry) bool { return e.tx <= tx })
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
func (j *journal) open(d *database, segment *os.File, entries []journalEntry) (err error) {
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
	entries = slices.DeleteFunc(entries, func(e journalEntry) bool { return e.tx <= folded })
	if len(entries) == 0 {
		return nil
	}
	n, end := 0, []byte(nil)
	err = readBatches(segment, entries, func(_ uint64, payload []byte) error {
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
	j.file, err = sameOpen(segment)
	return err
}

// errBatch says that an entry of the log is no batch that counts.
var errBatch = fmt.Errorf("journal: %w: no batch here", record.ErrValue)

// readBatches calls f with the payloads of some entries. They are valid during the call.
func readBatches(segment *os.File, entries []journalEntry, f func(tx uint64, payload []byte) error) error {
	if len(entries) == 0 {
		return nil
	}
	fi, err := segment.Stat()
	if err != nil {
		return disk.Err("read log", err)
	}
	dec := newDecoder(maxRedo)
	defer dec.Close()
	var payload []byte
	for _, e := range entries {
		h, raw, ok := entryAt(segment, e.off, fi.Size())
		if !ok || h.tx != e.tx {
			return errBatch
		}
		payload, err = dec.DecodeAll(raw[redoHeader:], payload[:0])
		if (err != nil) || len(payload) < packEnd {
			return errBatch
		}
		if err := f(e.tx, payload); err != nil {
			return err
		}
	}
	return nil
}

// logBatch appends a batch to the log: a synced one after what it refers to.
func (d *database) logBatch(kind byte, payload []byte, urls uint32) error {
	return d.alone(func() error {
		if d.redo.file == nil {
			if err := d.beginLog(); err != nil {
				return err
			}
			if d.redo.file == nil {
				return disk.Err("write log", syscall.ENOSPC)
			}
		}
		if (kind == redoBatch) && (d.before != nil) {
			if err := d.before(); err != nil {
				return err
			}
		}
		e := journalEntry{tx: d.redo.tail.tx + 1, off: d.redo.tail.size}
		if err := d.redo.append(kind, e.tx, payload); err != nil {
			return disk.Err("write log", err)
		}
		return d.journal.add(d.redo.file, e, payload, urls)
	})
}

// copyTo writes the batches into a segment that is being begun, up to the first that cannot be read. It
// returns where they are.
func (j *journal) copyTo(next *redoLog) (moved []journalEntry, err error) {
	file, entries := j.list()
	if file == nil {
		return nil, nil
	}
	fi, err := file.Stat()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		_, raw, ok := entryAt(file, e.off, fi.Size())
		if !ok {
			break
		}
		moved = append(moved, journalEntry{tx: e.tx, off: next.tail.size})
		if err := next.put(redoBatch, e.tx, raw[redoHeader:]); err != nil {
			return nil, err
		}
	}
	return moved, nil
}

// moved says where the batches are after copyTo.
func (j *journal) moved(segment *os.File, entries []journalEntry) (err error) {
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
	segment, err := lastSegment(root)
	if errors.Is(err, errNoLog) || errors.Is(err, fs.ErrNotExist) {
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
	end := int64(-1)
	if !d.busy && !isClean(root) {
		n, err := counted(s, root, d.site, segment)
		if err != nil {
			return false, err
		}
		end = n.end.size
	}
	var entries []journalEntry
	at, ok := int64(0), true
	_, err = redoRaw(segment, func(h redoHead, raw []byte) error {
		if end >= 0 && at >= end {
			return errEnd
		}
		if h.isBatch() {
			entries = append(entries, journalEntry{tx: h.tx, off: at})
		}
		ok = ok && (h.kind != redoEndCheckpoint || h.tx <= last || !d.stale())
		at += int64(len(raw))
		return nil
	})
	if err != nil && !errors.Is(err, errEnd) {
		return false, err
	}
	return ok, d.journal.open(d, segment, entries)
}

// packsEnd returns the number of the last pack, and how far it counts.
func (j *journal) packsEnd(tx *transaction) (num uint32, size int64) {
	num, size = readEnd(tx.Bucket(bMeta).Get(kPack))
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.num > num || (j.num == num && j.size > size) {
		return j.num, j.size
	}
	return num, size
}

// takeJournal moves the batches that a program before format 11 has left in the database into the log. What
// one of format 8 or 9 had stored of a first one-off run as published files in a tree without a version is
// not there for it: those pages are requested again.
func takeJournal(s *home) error {
	var keys [][]byte
	err := s.each(bJournal, func(k, _ []byte) error {
		keys = append(keys, slices.Clone(k))
		return nil
	})
	if err != nil || len(keys) == 0 || s.db.redo.file == nil {
		return err
	}
	var end, urls []byte
	err = s.db.View(func(tx *transaction) error {
		m := tx.Bucket(bMeta)
		end, urls = append(end, m.Get(kPack)...), append(urls, m.Get(kKnown)...)
		return nil
	})
	if (err == nil) && (len(end) != packEnd || len(urls) != 4) {
		err = s.db.damaged(errors.New("it has a journal, and does not say where its packs end"))
	}
	for _, k := range keys {
		var payload []byte
		if err == nil {
			err = s.db.View(func(tx *transaction) error {
				payload = slices.Concat(end, tx.Bucket(bJournal).Get(k))
				return nil
			})
		}
		if err == nil {
			err = s.log("move journal", redoBatch, payload, binary.BigEndian.Uint32(urls))
		}
	}
	if err != nil {
		return err
	}
	return s.update("move journal", func(tx *transaction) error {
		for _, k := range keys {
			if err := tx.Bucket(bJournal).Delete(k); err != nil {
				return err
			}
		}
		return tx.Bucket(bMeta).Delete(kFolding)
	})
}
