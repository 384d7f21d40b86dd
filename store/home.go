// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// home is the folder of a site and its database: what all parts of an open site work on.
type home struct {
	name     string
	dir      string // path
	volatile bool
	oneOff   bool
	readOnly bool
	now      func() time.Time
	root     *os.Root  // of dir
	db       *db.DB
	lease    *siteLease // nil when the site is open for reading
	broken   atomic.Pointer[error]

	shown  func() // called after a transaction that changed what lists show; nil: nothing is
	step     func(string) // called between two changes of the disk; tests stop the world there
}

// at tells tests how far the work on the disk has come.
func (s *home) at(step string) {
	if s.step != nil {
		s.step(step)
	}
}

// update makes one transaction. After an I/O error it is unknown what reached the disk, so no other
// transaction follows: reopening the site finds the last transaction that is whole.
func (s *home) update(op string, f func(*db.Tx) error) error {
	shown := false // lists show something that was changed
	err := s.guarded(op, func() error {
		return s.db.Update(s.fenced(func(tx *db.Tx) error {
			err := f(tx)
			shown = tx.Changed(db.Meta) || tx.Changed(bVersions)
			return err
		}))
	})
	if shown && err == nil && s.shown != nil {
		s.shown()
	}
	return err
}

// guarded makes a change, unless the lease is lost or an earlier change failed.
func (s *home) guarded(op string, change func() error) error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	if err := s.owned(); err != nil {
		return err
	}
	err := disk.Err(op, change())
	if s.lease != nil && errors.Is(err, db.ErrLeaseLost) {
		s.lease.end()
	}
	if errors.Is(err, syscall.EIO) {
		s.broken.CompareAndSwap(nil, &err)
	}
	return err
}

// Scratch makes a file without a name in the site's folder. The caller closes it, and it is gone.
func (s *home) Scratch() (*os.File, error) {
	f, err := disk.Scratch(s.dir)
	return f, disk.Err("make a scratch file", err)
}

// syncFolder makes the names in the site's folder, its own name, and those in the state directory survive
// loss of power.
func (s *home) syncFolder() error {
	if s.volatile {
		return nil
	}
	sites := filepath.Dir(s.dir)
	for _, name := range []string{s.dir, sites, filepath.Dir(sites)} {
		if err := disk.SyncDir(name); err != nil {
			return disk.Err("sync folder", err)
		}
	}
	return nil
}

// meta returns a small fact of the database, nil for none.
func (s *home) meta(name []byte) (v []byte, err error) {
	err = s.db.View(func(tx *db.Tx) error {
		v = bytes.Clone(tx.Meta().Get(name))
		return nil
	})
	return v, err
}

// setMeta keeps a small fact in the database; nil removes it.
func (s *home) setMeta(op string, name, v []byte) error {
	return s.update(op, func(tx *db.Tx) error {
		if v == nil {
			return tx.Meta().Delete(name)
		}
		return tx.Meta().Put(name, v)
	})
}

// each iterates over a bucket in many short transactions.
func (s *home) each(bucket []byte, f func(k, v []byte) error) error {
	return s.eachFrom(bucket, nil, f)
}

// eachFrom is each from a key on.
func (s *home) eachFrom(bucket, from []byte, f func(k, v []byte) error) error {
	next := bytes.Clone(from)
	for more := true; more; {
		err := s.db.View(func(tx *db.Tx) error {
			more = false
			b := tx.Bucket(bucket)
			if b == nil {
				return nil
			}
			c, n := b.Cursor(), 0
			for k, v := c.Seek(next); k != nil; k, v = c.Next() {
				if n++; n > viewChunk {
					next, more = append(next[:0], k...), true
					return nil
				}
				if err := f(k, v); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		s.db.DropPages()
	}
	return nil
}

// batches calls f for each batch that is not folded, in the order of the commits, with the number of its
// transaction. The batch is valid during the call.
func (s *home) batches(f func(tx uint64, b *record.LogBatch) error) error {
	var b record.LogBatch
	decoded := func(tx uint64, v []byte) error {
		if err := b.Decode(v); err != nil {
			return fmt.Errorf("batch %d: %w", tx, err)
		}
		return f(tx, &b)
	}
	err := s.each(bJournal, func(k, v []byte) error { return decoded(binary.BigEndian.Uint64(k), v) })
	if err != nil {
		return err
	}
	return s.db.Batches(decoded)
}

// log writes a batch into the log, with which urls URLs have a number.
func (s *home) log(op string, kind byte, payload []byte, urls uint32) error {
	return s.guarded(op, func() error {
		if err := s.db.View(s.fenced(func(*db.Tx) error { return nil })); err != nil {
			return err
		}
		return s.db.LogBatch(kind, payload, urls)
	})
}

// release closes the database, which gives its lock back, and ends the lease.
func (s *home) release() error {
	err := errors.Join(s.db.Close(), s.root.Close())
	if s.lease != nil {
		err = errors.Join(err, s.lease.Release())
	}
	return err
}

// keep replaces a file of the site's folder. A loss of power must not empty one that is synced.
func (s *home) keep(name string, v []byte, synced bool) error {
	synced = synced && !s.volatile
	err := disk.Replace(s.root, name, v, 0o600, synced)
	if err == nil && synced {
		err = disk.SyncDir(s.dir)
	}
	return disk.Err("write "+name, err)
}
