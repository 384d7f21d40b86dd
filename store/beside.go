// SPDX-License-Identifier: Apache-2.0

package store

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

// lockName is the file whose lock the writer of a site holds. It is empty.
const lockName = "site.lock"

// How long is waited for a lock that others hold for a moment only, how long a reader waits for transactions,
// and the longest pause between two attempts.
const (
	lockFor   = 50 * time.Millisecond
	viewFor   = 30 * time.Second
	lockPause = 20 * time.Millisecond
)

// tryLock tries to lock a file, for some time.
func tryLock(f *os.File, alone bool, wait time.Duration) (ok bool, err error) {
	pause := 100 * time.Microsecond
	for end := time.Now().Add(wait); ; time.Sleep(pause) {
		if ok, err = disk.Flock(f, alone, false); ok || err != nil || !time.Now().Before(end) {
			return ok, err
		}
		pause = min(2*pause, lockPause)
	}
}

// lockWriter makes the caller the only writer of the site in a folder, until the file is closed. Another one
// is ErrLocked.
func lockWriter(folder string, mode fs.FileMode, wait time.Duration) (*os.File, error) {
	path := filepath.Join(folder, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return nil, err
	}
	ok, err := tryLock(f, true, max(wait, lockFor)) // who looks whether there is a writer holds it for a moment
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

// isWritten reports whether a process has the site in a folder open for writing.
func isWritten(root *os.Root) bool {
	f, err := root.Open(lockName)
	if err != nil {
		return false
	}
	defer f.Close()
	free, err := disk.Flock(f, false, false)
	return (err == nil) && !free
}

// lock takes the lock of the file, shared for reading, and returns it: another one where a writer meets
// readers. f is closed then, or when there is an error.
func (d *database) lock(f *os.File) (_ *os.File, err error) {
	locked := f
	defer func() {
		if err != nil || locked != f {
			f.Close()
		}
	}()
	wait := d.wait
	if d.shared && !d.readOnly {
		if wait = 0; d.writer == nil {
			if d.writer, err = lockWriter(filepath.Dir(d.path), d.mode, d.wait); err != nil {
				return nil, err
			}
		}
	} else if fi, serr := f.Stat(); d.shared && serr == nil && fi.Size() == 0 { // it is being made
		return nil, fmt.Errorf("%s is empty: %w", filepath.Base(d.path), fs.ErrNotExist)
	}
	ok, err := tryLock(f, !d.readOnly, wait)
	if err == nil {
		err = isNamed(f, d.path)
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
		err = d.takeName()
	}
	return locked, err
}

// exclude locks the file of a shared database for a transaction.
func (d *database) exclude() error {
	if d.writer == nil {
		return nil
	}
	ok, err := disk.Flock(d.file, true, false)
	if ok || err != nil {
		return err
	}
	next, err := d.withoutReaders(d.file)
	if err != nil || next == d.file {
		return err
	}
	return d.exchange(next)
}

// admit lets readers open a shared database again.
func (d *database) admit() error {
	if d.writer == nil {
		return nil
	}
	ok, err := disk.Flock(d.file, false, false)
	if err == nil && !ok { // taken by a program of format 11, or before, that knows no other lock
		err = ErrLeaseLost
	}
	return err
}

// withoutReaders returns the database as a file that is locked and has no readers: a copy of one that has
// some. On a disk without space for that, or that has lost a page, it waits until they have closed f.
func (d *database) withoutReaders(f *os.File) (*os.File, error) {
	if ok, err := disk.Flock(f, false, false); !ok { // an attempt that failed has cost the lock
		return nil, errors.Join(err, disk.ErrLocked)
	}
	next, err := d.clone(f)
	if !disk.IsFull(err) && !disk.IsLoss(err) {
		return next, err
	}
	ok, lerr := tryLock(f, true, viewFor)
	if err = errors.Join(err, lerr); !ok {
		return nil, busyError{fmt.Errorf("it is being read, and there can be no copy to write: %w", err)}
	}
	return f, nil
}

// copyName is that of a copy, or of a new database, that is being made.
func (o *doorOptions) copyName() string {
	dir, name := filepath.Split(o.path)
	return filepath.Join(dir, "."+name+".next")
}

// clone makes a copy of the file, which is locked, and syncs it.
func (o *doorOptions) clone(f *os.File) (_ *os.File, err error) {
	name := o.copyName()
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a process that was killed
		return nil, err
	}
	next, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, o.mode)
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
	if err == nil && !o.volatile {
		err = next.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, next.Close(), os.Remove(name))
	}
	return next, nil
}

// makeNext makes a new database aside, as a whole and synced: takeName gives it the name of this one. A crash
// leaves this one in use, and a file that the next call removes. No other process may write this one.
func (o doorOptions) makeNext(fill func(next *database) error) error {
	o.path, o.fresh, o.known, o.held, o.shared = o.copyName(), true, nil, nil, false
	err := os.Remove(o.path)
	if err == nil || errors.Is(err, fs.ErrNotExist) { // of a process that was killed
		err = o.fill(fill)
	}
	if err != nil {
		os.Remove(o.path) // nothing refers to it
	}
	return err
}

// fill opens a new database, and syncs and closes it when all of it is there.
func (o doorOptions) fill(fill func(*database) error) error {
	d, err := openDatabase(o)
	if err != nil {
		return err
	}
	d.sync(false)
	if err = fill(d); err == nil && !d.volatile {
		err = d.bolt.Sync()
	}
	return errors.Join(err, d.Close())
}

// takeName gives a copy the name of the database.
func (o *doorOptions) takeName() error {
	err := os.Rename(o.copyName(), o.path)
	if err == nil && !o.volatile {
		err = disk.SyncDir(filepath.Dir(o.path))
	}
	return err
}

// renew goes over to a new file, which is made of the log and has no free pages with what was deleted. No
// other transaction may be writing.
func (d *database) renew() error {
	segment, err := log.Read(d.redo.Segment())
	if err == nil {
		err = d.makeNext(func(next *database) error { return redoAll(next, segment, 0) })
	}
	if err != nil {
		return err
	}
	next, err := os.OpenFile(d.copyName(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if ok, err := disk.Flock(next, true, false); !ok {
		return errors.Join(err, disk.ErrLocked, next.Close())
	}
	return d.exchange(next)
}

// exchange goes over to a copy of the file, whose pages are checked before bbolt sees them. Transactions of
// this process that read end first; when one does not, the readers of other processes have as long.
func (d *database) exchange(next *os.File) (err error) {
	if err := d.look(next); err != nil {
		return d.fail(errors.Join(d.damaged(err), next.Close(), os.Remove(d.copyName())))
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = d.fault(p, nil, true)
		}
	}()
	done := d.paused(func() {
		unsynced := d.bolt.NoSync
		if err = isNamed(d.file, d.path); errors.Is(err, errReplaced) {
			err = ErrLeaseLost
		}
		if err == nil {
			err = d.takeName()
		}
		if err != nil {
			err = errors.Join(err, next.Close())
			return
		}
		d.known.forget(d.path)
		if err = d.bolt.Close(); err == nil {
			d.file, d.fd = next, int(next.Fd())
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
	err = errors.Join(next.Close(), os.Remove(d.copyName()))
	if ok, lerr := tryLock(d.file, true, viewFor); !ok {
		err = errors.Join(err, lerr, busyError{errors.New("it is being read")})
	}
	return err
}

// stale reports whether the database has changed since a view of it was opened, or cannot be looked at.
func (d *database) stale() bool {
	if d.of == nil {
		return false
	}
	f, err := os.Open(d.path)
	if err != nil {
		return true
	}
	defer f.Close()
	now, err := dbpages.ReadCommit(f)
	return (err != nil) || now != *d.of
}
