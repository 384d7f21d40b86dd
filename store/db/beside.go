// SPDX-License-Identifier: Apache-2.0

package db

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"mirrord/internal/dbpages"
	"mirrord/store/disk"
	"mirrord/store/log"
)

// A database of a site is read in its place, also while a run has the site open: a file does not change while
// a reader has it. Its writer holds the lock of another file, lockName, which keeps other writers away. Of
// the database it holds a shared lock, as readers do, and makes that one its own for each transaction. Where
// it cannot, because of readers, it makes a copy of the file, which takes its name, and writes that one: they
// keep the file that they have. So a reader waits for one transaction at most, a writer for no reader, and
// only a writer that meets a reader copies.

// LockName is the file whose lock the writer of a site holds. It is empty.
const LockName = "site.lock"

// How long is waited for a lock that others hold for a moment only, and how long a reader waits for
// transactions.
const (
	LockFor = 50 * time.Millisecond
	ViewFor = 30 * time.Second
)

// LockWriter makes the caller the only writer of the site in a folder, until the file is closed. Another one
// is ErrLocked.
func LockWriter(folder string, mode fs.FileMode, wait time.Duration) (*os.File, error) {
	path := filepath.Join(folder, LockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return nil, err
	}
	// who looks whether there is a writer holds it for a moment
	ok, err := disk.FlockFor(f, true, max(wait, LockFor))
	if err == nil && !ok {
		err = disk.ErrLocked
	}
	if err == nil {
		err = isNamed(f, path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// isNamed is errReplaced when another file than the one that is open has a name.
func isNamed(f *os.File, path string) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Lstat(path); err != nil || !os.SameFile(fi, named) {
		return errReplaced
	}
	return nil
}

// IsWritten reports whether a process has the site in a folder open for writing.
func IsWritten(root *os.Root) bool {
	f, err := root.Open(LockName)
	if err != nil {
		return false
	}
	defer f.Close()
	free, err := disk.Flock(f, false, false)
	return (err == nil) && !free
}

// lock takes the lock of the file, shared for reading, and returns it: another one where a writer meets
// readers. f is closed then, or when there is an error.
func (d *DB) lock(f *os.File) (_ *os.File, err error) {
	locked := f
	defer func() {
		if err != nil || locked != f {
			f.Close()
		}
	}()
	wait := d.Wait
	if d.Shared && !d.ReadOnly {
		if wait = 0; d.writer == nil {
			if d.writer, err = LockWriter(filepath.Dir(d.Path), d.Mode, d.Wait); err != nil {
				return nil, err
			}
		}
	} else if fi, serr := f.Stat(); d.Shared && serr == nil && fi.Size() == 0 { // it is being made
		return nil, fmt.Errorf("%s is empty: %w", filepath.Base(d.Path), fs.ErrNotExist)
	}
	ok, err := disk.FlockFor(f, !d.ReadOnly, wait)
	if err == nil {
		err = isNamed(f, d.Path)
	}
	switch {
	case err != nil:
		return nil, err
	case ok:
		return f, nil
	case d.writer == nil:
		return nil, disk.ErrLocked
	}
	if locked, err = d.withoutReaders(f); err == nil && locked != f {
		err = d.TakeName()
	}
	return locked, err
}

// exclude locks the file of a shared database for a transaction.
func (d *DB) exclude() error {
	if d.writer == nil {
		return nil
	}
	ok, err := disk.Flock(d.File, true, false)
	if ok || err != nil {
		return err
	}
	next, err := d.withoutReaders(d.File)
	if err != nil || next == d.File {
		return err
	}
	return d.exchange(next)
}

// admit lets readers open a shared database again.
func (d *DB) admit() error {
	if d.writer == nil {
		return nil
	}
	ok, err := disk.Flock(d.File, false, false)
	if err == nil && !ok { // taken by a program of format 11, or before, that knows no other lock
		err = ErrLeaseLost
	}
	return err
}

// withoutReaders returns the database as a file that is locked and has no readers: a copy of one that has
// some. On a disk without space for that, or that has lost a page, it waits until they have closed f.
func (d *DB) withoutReaders(f *os.File) (*os.File, error) {
	if ok, err := disk.Flock(f, false, false); !ok { // an attempt that failed has cost the lock
		return nil, errors.Join(err, disk.ErrLocked)
	}
	next, err := d.clone(f)
	if !disk.IsFull(err) && !disk.IsLoss(err) {
		return next, err
	}
	ok, lerr := disk.FlockFor(f, true, ViewFor)
	if err = errors.Join(err, lerr); !ok {
		return nil, Busy(fmt.Errorf("it is being read, and there can be no copy to write: %w", err))
	}
	return f, nil
}

// CopyName is that of a copy, or of a new database, that is being made.
func (o *Options) CopyName() string {
	dir, name := filepath.Split(o.Path)
	return filepath.Join(dir, "."+name+".next")
}

func (o *Options) clone(f *os.File) (_ *os.File, err error) {
	name := o.CopyName()
	if err := disk.UnlessGone(os.Remove(name)); err != nil { // of a process that was killed
		return nil, err
	}
	next, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, o.Mode)
	if err != nil {
		return nil, err
	}
	ok, err := disk.Flock(next, true, false)
	if !ok {
		err = errors.Join(err, disk.ErrLocked)
	}
	if err == nil && disk.ShareBlocks(next, f) != nil {
		_, err = io.Copy(next, io.NewSectionReader(f, 0, 1<<62))
	}
	if err == nil && !o.Volatile {
		err = next.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, next.Close(), os.Remove(name))
	}
	return next, nil
}

// MakeNext makes a new database aside, as a whole and synced: takeName gives it the name of this one. A crash
// leaves this one in use, and a file that the next call removes. No other process may write this one.
func (o Options) MakeNext(fill func(next *DB) error) error {
	o.Path, o.Fresh, o.Known, o.held, o.Shared = o.CopyName(), true, nil, nil, false
	err := disk.UnlessGone(os.Remove(o.Path)) // of a process that was killed
	if err == nil {
		err = o.fill(fill)
	}
	if err != nil {
		os.Remove(o.Path) // nothing refers to it
	}
	return err
}

// fill opens a new database, and syncs and closes it when all of it is there.
func (o Options) fill(fill func(*DB) error) error {
	d, err := Open(o)
	if err != nil {
		return err
	}
	d.sync(false)
	if err = fill(d); err == nil && !d.Volatile {
		err = d.bolt.Sync()
	}
	return errors.Join(err, d.Close())
}

// TakeName gives a copy the name of the database.
func (o *Options) TakeName() error {
	err := os.Rename(o.CopyName(), o.Path)
	if err == nil && !o.Volatile {
		err = disk.SyncDir(filepath.Dir(o.Path))
	}
	return err
}

// Renew goes over to a new file, which is made of the log and has no free pages with what was deleted.
func (d *DB) Renew() error {
	return d.alone(func() error {
		segment, err := log.Read(d.redo.Segment())
		if err == nil {
			err = d.MakeNext(func(next *DB) error { return RedoAll(next, segment) })
		}
		if err != nil {
			return err
		}
		next, err := os.OpenFile(d.CopyName(), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if ok, err := disk.Flock(next, true, false); !ok {
			return errors.Join(err, disk.ErrLocked, next.Close())
		}
		return d.exchange(next)
	})
}

// exchange goes over to a copy of the file, whose pages are checked before bbolt sees them. Transactions of
// this process that read end first; when one does not, the readers of other processes have as long.
func (d *DB) exchange(next *os.File) (err error) {
	if err := d.look(next); err != nil {
		return d.fail(errors.Join(d.Damaged(err), next.Close(), os.Remove(d.CopyName())))
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = d.fault(p, nil, true)
		}
	}()
	done := d.paused(func() {
		unsynced := d.bolt.NoSync
		if err = isNamed(d.File, d.Path); errors.Is(err, errReplaced) {
			err = ErrLeaseLost
		}
		if err == nil {
			err = d.TakeName()
		}
		if err != nil {
			err = errors.Join(err, next.Close())
			return
		}
		d.Known.forget(d.Path)
		if err = d.bolt.Close(); err == nil {
			d.File, d.fd = next, int(next.Fd())
			err = d.begin(func() (*os.File, error) { return next, nil })
			d.sync(!unsynced)
		}
	})
	if err != nil {
		return d.fail(err)
	}
	if done {
		return nil
	}
	err = errors.Join(next.Close(), os.Remove(d.CopyName()))
	if ok, lerr := disk.FlockFor(d.File, true, ViewFor); !ok {
		err = errors.Join(err, lerr, Busy(errors.New("it is being read")))
	}
	return err
}

// Stale reports whether the database has changed since a view of it was opened, or cannot be looked at.
func (d *DB) Stale() bool {
	if d.of == nil {
		return false
	}
	f, err := os.Open(d.Path)
	if err != nil {
		return true
	}
	defer f.Close()
	now, err := dbpages.ReadCommit(f)
	return (err != nil) || now != *d.of
}
