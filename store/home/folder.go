// SPDX-License-Identifier: Apache-2.0

// Package home is the room of package store that has the folder of one open site with its database: each
// change is one transaction, refused once the site has another writer or the disk has failed. It knows the
// names of what a database has, and nothing of what that means.
package home

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

// Folder is the folder of a site and its database: what all rooms that work on an open site share. Safe for
// concurrent use once it is open.
type Folder struct {
	Name     string
	Dir      string // path
	Volatile bool
	OneOff   bool
	ReadOnly bool
	Now      func() time.Time
	Root     *os.Root // of Dir
	DB       *db.DB
	Lease    *SiteLease // nil when the site is open for reading

	Shown func()       // called after a transaction that changed what lists show; nil: nothing is
	Step  func(string) // called between two changes of the disk; tests stop the world there

	broken atomic.Pointer[error]
}

// At tells tests how far the work on the disk has come.
func (s *Folder) At(step string) {
	if s.Step != nil {
		s.Step(step)
	}
}

// Update makes one transaction. After an I/O error it is unknown what reached the disk, so no other
// transaction follows: reopening the site finds the last transaction that is whole.
func (s *Folder) Update(op string, f func(*db.Tx) error) error {
	shown := false // lists show something that was changed
	err := s.guarded(op, func() error {
		return s.DB.Update(s.fenced(func(tx *db.Tx) error {
			err := f(tx)
			shown = tx.Changed(db.Meta) || tx.Changed(Versions)
			return err
		}))
	})
	if shown && err == nil && s.Shown != nil {
		s.Shown()
	}
	return err
}

// guarded makes a change, unless the lease is lost or an earlier change failed.
func (s *Folder) guarded(op string, change func() error) error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	if err := s.Owned(); err != nil {
		return err
	}
	err := disk.Err(op, change())
	if s.Lease != nil && errors.Is(err, db.ErrLeaseLost) {
		s.Lease.end()
	}
	if errors.Is(err, syscall.EIO) {
		s.broken.CompareAndSwap(nil, &err)
	}
	return err
}

// SyncFolder makes the names in the site's folder, its own name, and those in the state directory survive
// loss of power.
func (s *Folder) SyncFolder() error {
	if s.Volatile {
		return nil
	}
	sites := filepath.Dir(s.Dir)
	for _, name := range []string{s.Dir, sites, filepath.Dir(sites)} {
		if err := disk.SyncDir(name); err != nil {
			return disk.Err("sync folder", err)
		}
	}
	return nil
}

// Meta returns a small fact, nil for none.
func (s *Folder) Meta(name []byte) (v []byte, err error) {
	err = s.DB.View(func(tx *db.Tx) error {
		v = bytes.Clone(tx.Meta().Get(name))
		return nil
	})
	return v, err
}

// SetMeta keeps a small fact in the database; nil removes it.
func (s *Folder) SetMeta(op string, name, v []byte) error {
	return s.Update(op, func(tx *db.Tx) error {
		if v == nil {
			return tx.Meta().Delete(name)
		}
		return tx.Meta().Put(name, v)
	})
}

// Pending returns the publish that was decided and not carried out, nil without one.
func (s *Folder) Pending() (*record.Pending, error) {
	v, err := s.Meta(KeyPublish)
	if err != nil {
		return nil, err
	}
	return record.ReadPending(v)
}

// Decided is Pending for those who read a site: nil for a site that is open for writing, which has carried
// it out.
func (s *Folder) Decided() (*record.Pending, error) {
	if !s.ReadOnly {
		return nil, nil
	}
	return s.Pending()
}

// Each iterates over a bucket in many short transactions.
func (s *Folder) Each(bucket []byte, f func(k, v []byte) error) error {
	return s.EachFrom(bucket, nil, f)
}

func (s *Folder) EachFrom(bucket, from []byte, f func(k, v []byte) error) error {
	next := bytes.Clone(from)
	for more := true; more; {
		err := s.DB.View(func(tx *db.Tx) error {
			more = false
			b := tx.Bucket(bucket)
			if b == nil {
				return nil
			}
			n := 0
			for k, v := range b.From(next) {
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
		s.DB.DropPages()
	}
	return nil
}

// Batches is DB.Batches with those that programs before format 11 have left in the database.
func (s *Folder) Batches(f func(tx uint64, b *record.LogBatch) error) error {
	var b record.LogBatch
	decoded := func(tx uint64, v []byte) error {
		if err := b.Decode(v); err != nil {
			return fmt.Errorf("batch %d: %w", tx, err)
		}
		return f(tx, &b)
	}
	err := s.Each(Journal, func(k, v []byte) error { return decoded(binary.BigEndian.Uint64(k), v) })
	if err != nil {
		return err
	}
	return s.DB.Batches(decoded)
}

// Log writes a batch into the log, with which urls URLs have a number.
func (s *Folder) Log(op string, kind byte, payload []byte, urls uint32) error {
	return s.guarded(op, func() error {
		if err := s.DB.View(s.fenced(func(*db.Tx) error { return nil })); err != nil {
			return err
		}
		return s.DB.LogBatch(kind, payload, urls)
	})
}

// Release closes the database, which gives its lock back, and ends the lease.
func (s *Folder) Release() error {
	err := errors.Join(s.DB.Close(), s.Root.Close())
	if s.Lease != nil {
		err = errors.Join(err, s.Lease.Release())
	}
	return err
}

// Keep replaces a file of the site's folder. A loss of power must not empty one that is synced.
func (s *Folder) Keep(name string, v []byte, synced bool) error {
	synced = synced && !s.Volatile
	err := disk.Replace(s.Root, name, v, 0o600, synced)
	if err == nil && synced {
		err = disk.SyncDir(s.Dir)
	}
	return disk.Err("write "+name, err)
}

// viewChunk is how many records one read transaction covers: a long one would keep old pages alive and memory
// mapped.
const viewChunk = 4096
