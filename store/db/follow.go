// SPDX-License-Identifier: Apache-2.0

package db

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"mirrord/store/disk"
	"mirrord/store/log"
)

// The log of a site is what it is; its database is an index over the log, which can be made again from there,
// with all kept versions, mirror paths and history. The log has one entry for each transaction, with the
// values that it wrote. The entry is on the disk before the transaction is committed, and the database is not
// synced: it says which entry it has last (transaction.logged), and who opens it for writing has it catch up.
// One that is damaged, or older than the checkpoint, is made again; one that is whole and ahead of a log that
// was damaged counts, and the log is begun again with a checkpoint of all values. So is one that has grown to
// several times its checkpoint. On a disk without free space the log is given up: the database is synced, and
// is the truth until there is a log again.

// Follow makes the database what the log in a site's folder says, and has the log record the transactions
// from now on. It must be called before anything is changed.
func (d *DB) Follow(root *os.Root) (err error) {
	last, known, err := Last(d)
	if err != nil {
		return err
	}
	l, file, err := log.Open(root, d.Volatile)
	if err != nil {
		return err
	}
	if file != nil && known {
		d.sync(false)
		err = d.continueLog(l, file, last)
	}
	if file != nil && l.Segment() == nil { // of no use, or of another database
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	l.Number(max(l.Last(), last))
	d.redo = l
	d.sync(l.Segment() == nil)
	return nil
}

// continueLog has the database, of which last is the last transaction, catch up with a segment, takes the
// batches that this has, and continues it if it reaches the database.
func (d *DB) continueLog(l *log.Log, file *os.File, last uint64) error {
	s, err := log.Read(file)
	if err != nil {
		return err
	}
	reaches, err := catchUp(d, s, last, makeAgain)
	if err == nil {
		err = d.OpenJournal(s)
	}
	if err == nil && reaches {
		err = l.Continue(s)
	}
	return err
}

// Last returns the number of the last transaction; known is false for a database of a format before 10,
// which is the truth.
func Last(d *DB) (number uint64, known bool, err error) {
	err = d.View(func(t *Tx) error {
		if number, known = t.Logged(); !known { // its log has the numbers of bbolt
			number = uint64(t.tx.ID())
		}
		return nil
	})
	return number, known, err
}

// sync has the transactions of the database be synced, or not: then the log is.
func (d *DB) sync(on bool) {
	d.bolt.NoSync = !on || d.Volatile
	d.bolt.NoGrowSync = d.bolt.NoSync
}

// catchUp makes the transactions that a segment has behind the last one of the database. reaches is false for
// a segment of no use, which does not reach the database. again makes the changes of a transaction.
func catchUp(
	d *DB, s *log.Readable, last uint64, again func(d *DB, tx uint64, changes []byte) error,
) (reaches bool, err error) {
	checkpoint := s.Checkpoint()
	if checkpoint != nil && checkpoint.Tx > last {
		return false, d.Damaged(fmt.Errorf("%w than the checkpoint of its log", ErrOlder))
	}
	wanted := slices.DeleteFunc(slices.Clone(s.Entries), func(e log.Entry) bool {
		return e.Tx < last || !e.IsTransaction()
	})
	err = log.Payloads(s.File, wanted, func(e log.Entry, changes []byte) error {
		if e.Tx == last {
			return d.View(func(t *Tx) error { return t.agrees(changes) })
		}
		return again(d, e.Tx, changes)
	})
	if errors.Is(err, disk.ErrDamaged) {
		err = d.Damaged(err)
	}
	if err != nil || checkpoint == nil || s.Last() < last {
		return false, err
	}
	rotten, err := s.Rotten()
	if rotten {
		err = d.Damaged(fmt.Errorf("it ends with transaction %d, and its log is damaged behind it", s.Last()))
	}
	return true, err
}

func makeAgain(d *DB, tx uint64, changes []byte) error {
	return d.Update(func(t *Tx) error {
		t.number = tx
		return redo(t, changes)
	})
}

func redo(t *Tx, changes []byte) error {
	return log.Changes(changes, func(what byte, bucket, key, value []byte) error {
		b, err := t.CreateBucketIfNotExists(bucket)
		if err != nil {
			return err
		}
		switch what {
		case log.Put:
			return b.Put(key, value)
		case log.Delete:
			return b.Delete(key)
		case log.Sequence:
			if len(value) == 8 {
				err = b.b.SetSequence(binary.BigEndian.Uint64(value))
			}
			return err
		case log.Tally:
			now := b.tallied()
			now.seq = b.Sequence()
			return b.comesTo(*now, value)
		}
		return log.ErrEntry
	})
}

func (b *Bucket) comesTo(now tally, written []byte) error {
	var want tally
	if want.decode(written) && now.same(want) {
		return nil
	}
	return fmt.Errorf("log: %w: bucket %q does not come to what was written", disk.ErrDamaged, b.name)
}

// agrees reports as an error that the database is not as the changes of its last transaction left it.
func (t *Tx) agrees(changes []byte) error {
	return log.Changes(changes, func(what byte, bucket, _, value []byte) error {
		if what != log.Tally {
			return nil
		}
		b := t.Bucket(bucket)
		if b == nil {
			return log.ErrEntry
		}
		return b.comesTo(*t.tallyOf(bucket), value)
	})
}

// log writes a transaction into the log. Where the disk has no space for that, the log ends, and the database
// is the truth; but for a journal that is in the log, the log goes.
func (d *DB) log(t *Tx) error {
	_, err := d.redo.Append(cmp.Or(t.later, log.Transaction), t.number, t.changes)
	if disk.IsFull(err) {
		if err = d.bolt.Sync(); err == nil {
			d.sync(true)
			err = d.redo.GiveUp()
			if d.Journal.Now().Last() == 0 {
				err = errors.Join(err, d.redo.Remove())
			}
			d.redo.Number(t.number)
		}
	}
	return disk.Err("write log", err)
}

// endLog ends the log; a long one is begun again first, for the next time.
func endLog(d *DB) (err error) {
	if d.redo == nil {
		return nil
	}
	l := d.redo
	defer func() { d.redo = nil }()
	if (d.bad.Load() != nil) || (l.Segment() == nil) {
		return l.Close()
	}
	if l.IsLong() {
		err = d.Checkpoint()
	}
	if err == nil {
		err = disk.Err("sync "+filepath.Base(d.Path), l.Settle(d.bolt.Sync))
	}
	return errors.Join(err, l.Close())
}

// redoChunk is how many bytes of changes a part of a checkpoint has, about.
const redoChunk = 4 << 20

// Checkpoint begins the log again with all that the database holds.
func (d *DB) Checkpoint() error { return d.alone(func() error { return checkpoint(d) }) }

// checkpoint is called while no other transaction writes.
func checkpoint(d *DB) error {
	l := d.redo
	last, _, err := Last(d)
	if (err == nil) && (last < l.Last()) { // there are batches; no database may seem older than its checkpoint
		err = d.transact(func(t *Tx) error { t.number = l.Last(); return nil }, true)
	}
	if err != nil {
		return err
	}
	return d.View(func(t *Tx) error {
		var batches []log.Entry
		err := l.Begin(func(next *log.Next) (last []byte, err error) {
			if batches, err = d.Journal.copyTo(next); err != nil {
				return nil, err
			}
			return t.dump(next.Changes)
		})
		if err == nil {
			d.sync(false)
			err = d.Journal.moved(l.Segment(), batches)
		}
		return err
	})
}

// Segment is the segment of the log that is written; nil without one.
func (d *DB) Segment() *os.File { return d.redo.Segment() }

// BeginLog begins a log where none reaches the database. On a full disk the segments that are of no use go
// first; when that does not suffice there is no log until the site is opened again, because gc and other
// commands that free space must be able to open it.
func (d *DB) BeginLog() error {
	if d.Segment() != nil {
		return nil
	}
	err := checkpoint(d)
	if disk.IsFull(err) && d.Journal.Now().Last() == 0 {
		if err = d.redo.Remove(); err == nil {
			err = checkpoint(d)
		}
	}
	if disk.IsFull(err) {
		return nil
	}
	return err
}

// dump passes changes to add that lead from nothing to what the database holds, and returns the last of them.
func (t *Tx) dump(add func(changes []byte) error) (buf []byte, err error) {
	var tallies []byte
	root := t.tx.Cursor()
	for name, v := root.First(); name != nil; name, v = root.Next() {
		if (v != nil) || (string(name) == string(bSums)) {
			continue
		}
		b := t.Bucket(name)
		buf = log.AppendChange(buf, log.Sequence, name, NumberKey(b.b.Sequence()))
		for k, v := range b.From(nil) {
			buf = log.AppendChange(buf, log.Put, name, k, v)
			if len(buf) > redoChunk {
				if err := add(buf); err != nil {
					return nil, err
				}
				buf = buf[:0]
			}
		}
		tallies = log.AppendChange(tallies, log.Tally, name, t.tallyOf(name).append(nil))
	}
	return append(buf, tallies...), nil
}

// RedoAll fills a new database from a segment of a log. One that has lost entries in its middle is an
// ErrDamaged.
func RedoAll(d *DB, s *log.Readable) error {
	entries := slices.DeleteFunc(slices.Clone(s.Entries), log.Entry.IsBatch)
	err := log.Payloads(s.File, entries, func(e log.Entry, changes []byte) error {
		return makeAgain(d, e.Tx, changes)
	})
	if err != nil {
		return err
	}
	if s.Checkpoint() == nil {
		return log.ErrNone
	}
	if rotten, err := s.Rotten(); (err != nil) || rotten {
		return cmp.Or(err, fmt.Errorf("its log is damaged after transaction %d: %w", s.Last(), disk.ErrDamaged))
	}
	return nil
}
