// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"mirrord/internal/dbpages"
)

// Read-only users of a site get a copy of its database as of the last commit: so a run can continue or
// begin meanwhile, and a stopped reader blocks no writer. dbpages.Commit says why a copy is consistent
// when the newest meta page is the same before and after it; nothing else is needed for that. So that a
// copy of a large file comes about beside a run that commits often, the reader marks a second file, the
// sign, while it copies, and the writer looks at the mark before each transaction and waits, but not for
// long: see yielding. The reader never waits for the writer, and a mark goes with its process. Without
// free space for a copy, a database that is not being written is read in place under its lock.

// How long a copy may take, with all attempts, and the longest pause between two.
const (
	copyFor   = 30 * time.Second
	copyPause = 100 * time.Millisecond
)

// openCopy opens a copy of the file as it was after the last commit, and closes the file. Without an error
// it returns nil when the file itself is to be read, which is locked then.
func (d *database) openCopy(src *os.File) (*os.File, error) {
	switch err := d.lock(src); {
	case errors.Is(err, ErrLocked):
		d.busy = true
	case err != nil:
		return nil, err
	default:
		if err := funlock(src); err != nil {
			return nil, err
		}
	}
	dst, err := d.makeCopy(src)
	if (err == nil) || !isNoRoom(err) {
		src.Close()
		return dst, err
	}
	if d.busy || (d.lock(src) != nil) { // or a writer has begun
		src.Close()
		return nil, &busyError{"it is being written, and there is no free space for a copy to read", err}
	}
	return nil, nil
}

// makeCopy makes a copy and notes what it is of.
func (d *database) makeCopy(src *os.File) (dst *os.File, err error) {
	var head dbpages.Commit
	if d.sign != "" {
		if sign, err := os.Open(d.sign); err == nil { // missing: no writer knows the sign
			defer sign.Close()
			_ = markShared(sign) // the writer does not wait then
		}
	}
	for i, dir := range d.scratch {
		dst, head, err = d.copyTo(dir, i == len(d.scratch)-1, src)
		if (err == nil) || !isNoRoom(err) {
			break
		}
	}
	if err == nil {
		err = d.sameFile(src)
	}
	if err != nil {
		if dst != nil {
			dst.Close()
		}
		return nil, err
	}
	d.file, d.fd, d.copied = dst, int(dst.Fd()), &head
	return dst, nil
}

// copyTo makes a copy in a folder.
func (d *database) copyTo(dir string, last bool, src *os.File) (*os.File, dbpages.Commit, error) {
	dst, err := temporaryFile(dir, last)
	if err != nil {
		return nil, dbpages.Commit{}, err
	}
	head, err := d.copyFrom(dst, src)
	if err != nil {
		dst.Close()
		return nil, head, err
	}
	return dst, head, nil
}

// isNoRoom reports whether a copy failed because there is no place for it.
func isNoRoom(err error) bool {
	for _, why := range []error{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EOPNOTSUPP, fs.ErrPermission, fs.ErrNotExist,
	} {
		if errors.Is(err, why) {
			return true
		}
	}
	return false
}

// copyFrom copies a database that is being written until a copy is consistent.
func (d *database) copyFrom(dst, src *os.File) (head dbpages.Commit, err error) {
	spoiled := 0
	pause := time.Millisecond
	for end := time.Now().Add(copyFor); ; time.Sleep(pause) {
		fi, err := src.Stat()
		if err != nil {
			return head, err
		}
		if fi.Size() == 0 { // it is being made
			return head, fmt.Errorf("%s is empty: %w", filepath.Base(d.path), fs.ErrNotExist)
		}
		var ok bool
		head, ok, d.lost, err = copyOnce(dst, src)
		if err == nil && ok {
			if err = d.look(dst); err == nil {
				return head, nil
			}
			if d.lost != nil {
				return head, d.damaged(d.lost)
			}
		}
		if u := Unreadable(err); errors.Is(u, ErrDamaged) {
			return head, d.damaged(u)
		}
		var fault *dbpages.Fault
		if errors.As(err, &fault) {
			// Once more, if it is being written: a file that is being made has no meta page yet, and
			// some network file systems show writes in another order.
			if spoiled++; (spoiled > 3) || !d.busy {
				return head, d.damaged(err)
			}
		} else if err != nil {
			return head, err
		}
		if !time.Now().Before(end) {
			return head, ErrBusy
		}
		pause = min(2*pause, copyPause)
	}
}

// copyOnce copies a database; ok is false when a transaction was committed meanwhile. lost is why pages that
// the disk does not give back are zero in the copy: nothing is lost when they are not in use.
func copyOnce(dst, src *os.File) (head dbpages.Commit, ok bool, lost, err error) {
	r := &lossReader{File: src}
	if head, err = dbpages.ReadCommit(r); err != nil {
		if r.lost != nil {
			err = r.lost
		}
		return head, false, nil, err
	}
	if cloneFile(dst, src) != nil {
		if err = copyBytes(dst, src, head.Size); isLoss(err) {
			lost, err = copyReadable(dst, src, head.Size)
		}
		if err != nil {
			return head, false, nil, err
		}
	}
	after, err := dbpages.ReadCommit(src)
	return head, after == head, lost, err
}

// copyReadable is copyBytes for a file on a disk that has lost pages of it.
func copyReadable(dst, src *os.File, n int64) (lost, err error) {
	page := make([]byte, os.Getpagesize())
	for at := int64(0); at < n; at += int64(len(page)) {
		b := page[:min(int64(len(page)), n-at)]
		if _, err := src.ReadAt(b, at); err != nil {
			if err = Unreadable(err); !errors.Is(err, ErrDamaged) {
				return nil, err
			}
			lost = err
			clear(b)
		}
		if _, err := dst.WriteAt(b, at); err != nil {
			return nil, err
		}
	}
	return lost, dst.Truncate(n)
}

// copyBytes makes the beginning of a file all that is in another one. It fails with io.EOF when there are
// fewer bytes.
func copyBytes(dst, src *os.File, n int64) error {
	for _, f := range []*os.File{dst, src} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	_, err := io.CopyN(dst, src, n)
	if errors.Is(err, io.EOF) {
		short := fmt.Sprintf("the file is cut short: it has not the %d bytes that its meta page names", n)
		return &dbpages.Fault{Page: -1, Detail: short}
	}
	if err == nil {
		err = dst.Truncate(n)
	}
	return err
}

// temporaryFile makes a file without a name in a folder; with named also where the file system can make
// none without a name: it has one for a moment then.
func temporaryFile(dir string, named bool) (*os.File, error) {
	f, err := namelessFile(dir)
	if (err == nil) || !named {
		return f, err
	}
	if f, err = os.CreateTemp(dir, ".mirrord-scratch-"); err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// sameFile is errReplaced when another file than the one that is open has the database's name.
func (d *database) sameFile(f *os.File) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Lstat(d.path); err != nil || !os.SameFile(fi, named) {
		return errReplaced
	}
	return nil
}

// stale reports whether the file that a copy was made of has changed since, or cannot be looked at.
func (d *database) stale() bool {
	if d.copied == nil {
		return false
	}
	f, err := os.Open(d.path)
	if err != nil {
		return true
	}
	defer f.Close()
	now, err := dbpages.ReadCommit(f)
	return (err != nil) || now != *d.copied
}

// How long a writer waits for readers, and in which time.
const (
	yieldFor   = 2 * time.Second
	yieldEvery = time.Minute
	yieldPause = 2 * time.Millisecond
)

// yielding makes a writer wait for readers that copy its database: at most yieldFor of each yieldEvery, so
// that neither a reader that was stopped nor very many of them can hold up a run.
type yielding struct {
	mu    sync.Mutex
	sign  *os.File // nil once it was closed
	since time.Time
	spent time.Duration // since then
}

// newYielding opens the sign of a database and creates it when it is missing. It returns nil when it cannot:
// then no reader is waited for.
func newYielding(sign string, mode fs.FileMode) *yielding {
	f, err := os.OpenFile(sign, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return nil
	}
	return &yielding{sign: f}
}

// wait returns when no reader copies, or the time for readers is used up.
func (y *yielding) wait() {
	if y == nil {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	for y.sign != nil && isMarked(y.sign) {
		now := time.Now()
		if now.Sub(y.since) >= yieldEvery {
			y.since, y.spent = now, 0
		}
		if y.spent >= yieldFor {
			return
		}
		time.Sleep(yieldPause)
		y.spent += time.Since(now)
	}
}

// close lets go of the sign.
func (y *yielding) close() {
	if y == nil {
		return
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.sign != nil {
		y.sign.Close() // nothing is in it
		y.sign = nil
	}
}
