// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	bolt "go.etcd.io/bbolt"
)

// update makes one transaction. After an I/O error nobody knows what is on disk and what only in memory, so that no other follows:
// reopening the site finds the last transaction that is whole.
func (s *Site) update(op string, f func(*bolt.Tx) error) error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	if err := s.owned(); err != nil {
		return err
	}
	err := diskErr(op, s.db.Update(s.fenced(f)))
	if s.lease != nil && errors.Is(err, ErrLeaseLost) {
		s.lease.end()
	}
	if errors.Is(err, syscall.EIO) {
		s.broken.CompareAndSwap(nil, &err)
	}
	return err
}

// dropPages gives the memory of the database's pages back.
func (s *Site) dropPages() { s.db.dropPages() }

// syncFolder makes the names in the site's folder, its own name, and those in the state directory survive loss of power.
func (s *Site) syncFolder() error {
	if s.volatile {
		return nil
	}
	sites := filepath.Dir(s.dir)
	for _, name := range []string{s.dir, sites, filepath.Dir(sites)} {
		if err := syncDir(name); err != nil {
			return diskErr("sync folder", err)
		}
	}
	return nil
}

// syncDir makes the names in a folder survive loss of power.
func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// each iterates over a bucket in many short transactions.
func (s *Site) each(bucket []byte, f func(k, v []byte) error) error {
	return s.eachFrom(bucket, nil, f)
}

// eachFrom is each from a key on.
func (s *Site) eachFrom(bucket, from []byte, f func(k, v []byte) error) error {
	next := bytes.Clone(from)
	for done := false; !done; {
		err := s.db.View(func(tx *bolt.Tx) error {
			b := tx.Bucket(bucket)
			if b == nil {
				done = true
				return nil
			}
			c := b.Cursor()
			k, v := c.Seek(next)
			for n := 0; n < viewChunk; n++ {
				if k == nil {
					done = true
					return nil
				}
				if err := f(k, v); err != nil {
					return err
				}
				k, v = c.Next()
			}
			if k == nil {
				done = true
				return nil
			}
			next = append(next[:0], k...)
			return nil
		})
		if err != nil {
			return err
		}
		s.dropPages()
	}
	return nil
}
