package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// openDB opens a database, which at most mode may read. One that another process has open is ErrLocked, one that cannot be read ErrDamaged.
func openDB(name string, mode fs.FileMode, opt *bolt.Options) (db *bolt.DB, err error) {
	var file *os.File
	opt.OpenFile = func(name string, flag int, perm os.FileMode) (*os.File, error) {
		f, err := os.OpenFile(name, flag, perm)
		file = f
		if err == nil {
			if fi, serr := f.Stat(); serr == nil && fi.Mode().Perm()&^mode != 0 {
				f.Chmod(mode) // of an older version; who may not is not its owner
			}
		}
		return f, err
	}
	err = guard(func() error {
		var err error
		db, err = bolt.Open(name, mode, opt)
		return err
	})
	switch {
	case err == nil:
		return db, nil
	case errors.Is(err, berrors.ErrTimeout):
		return nil, ErrLocked
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		return nil, fmt.Errorf("%s: %w: %v", filepath.Base(name), ErrDamaged, err)
	case errors.Is(err, ErrDamaged) && file != nil:
		file.Close() // bbolt could not
	}
	return nil, diskErr("open "+filepath.Base(name), err)
}

// guard runs f and makes an error of what bbolt does with pages that are not what it thinks: it panics, or reads where no memory is.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("site.db: %w: reading it went wrong: %v", ErrDamaged, p)
		}
	}()
	return f()
}

// update makes one transaction. After an I/O error nobody knows what is on disk and what only in memory, so that no other follows:
// reopening the site finds the last transaction that is whole.
func (s *Site) update(op string, f func(*bolt.Tx) error) error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	err := diskErr(op, s.db.Update(f))
	if errors.Is(err, syscall.EIO) {
		s.broken.CompareAndSwap(nil, &err)
	}
	return err
}

// dropPages gives the memory of the pages that were looked at back: they would count as ours until the system needs them.
func (s *Site) dropPages() {
	s.db.View(func(tx *bolt.Tx) error { // while it is open the mapping stays
		return dropPages(s.db.Info().Data, tx.Size())
	})
}

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
