// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"

	"mirrord/internal/dbpages"
	"mirrord/store/disk"
	"mirrord/store/log"
	"mirrord/store/record"
)

// database is the one door to bbolt: no other file opens a database or begins a transaction (TestOneDoor).
// bbolt trusts its pages. So they are checked before it sees them, while the file is locked, which keeps it
// from cycles, wild page numbers and a mapping that is longer than the file. What goes wrong later all the
// same, on a disk that changes its mind, panics or faults; that is caught here, the pages are checked again,
// and the database is of no use until it is opened again. Its methods may be called from several goroutines.
type database struct {
	doorOptions
	bolt *bolt.DB
	file *os.File
	fd   int   // of file
	size int64 // of file when it was opened

	writer *os.File     // locked by the writer of a shared database; nil for readers, and others
	users  sync.RWMutex // held by transactions that read
	redo   *log.Log     // of the transactions; nil for none
	// what of the log is not in the database
	journal journal
	// syncs what transactions refer to, before one that is synced; nil while there is no such thing
	before func() error
	// around each writing transaction: no writer waits for a lock of bbolt that a panic left behind
	writing sync.Mutex
	of      *dbpages.Commit       // of a view: the commit that it shows
	busy    bool                  // of a view: a process had the site open for writing
	bad     atomic.Pointer[error] // the first thing that went wrong
	stuck   atomic.Bool           // bbolt holds locks that are never released
	wrote   atomic.Bool
	looks   atomic.Uint32 // see transaction.looked
}

// doorOptions say which database is opened, and how.
type doorOptions struct {
	path     string
	site     string        // whose database it is, "" for that of the state
	mode     fs.FileMode   // at most these may read it
	wait     time.Duration // for other processes; 0 is one try
	depth    int           // how deep buckets lie in one another
	mmap     int           // address space to reserve
	readOnly bool
	volatile bool     // no syncs
	fresh    bool     // a file that is missing or empty is made
	shared   bool     // readers have it beside its writer, see beside.go
	known    *checked // files that need not be checked again; nil checks always
	held     *os.File // the file, locked by the caller, who keeps it; nil: it is opened and locked
}

// DatabaseError says that a database cannot be used: its pages, or values in it, are not what they must be.
// It is an ErrDamaged.
type DatabaseError struct {
	Site string // "" for the state's own database
	File string // site.db or mirror.db
	Err  error  // the defect
}

func (e *DatabaseError) Error() string { return fmt.Sprintf("%s is damaged: %v", e.File, e.Err) }
func (e *DatabaseError) Unwrap() error { return e.Err }

// Is makes it an ErrDamaged.
func (e *DatabaseError) Is(target error) bool { return target == disk.ErrDamaged }

// BadValue makes a *DatabaseError of what a caller found wrong with values of the site's database.
func (s *Site) BadValue(err error) error { return s.db.damaged(err) }

// damaged makes a DatabaseError of what was found.
func (o *doorOptions) damaged(err error) error {
	var d *DatabaseError
	if errors.As(err, &d) {
		return err
	}
	return &DatabaseError{Site: o.site, File: filepath.Base(o.path), Err: err}
}

// errReplaced reports that another process replaced the file that was waited for.
var errReplaced = errors.New("the file was replaced")

// openDatabase opens a database. One that another process has open is ErrLocked, one that cannot be used a
// *DatabaseError; one that is missing or empty is fs.ErrNotExist unless it may be made.
func openDatabase(o doorOptions) (d *database, err error) {
	for range 10 { // each time another process has made progress
		d = &database{doorOptions: o}
		if err = d.open(); err == nil {
			if err = d.convert(); err != nil {
				err = errors.Join(err, d.Close())
			}
		}
		if !errors.Is(err, errReplaced) {
			break
		}
	}
	if err != nil {
		return nil, disk.Err("open "+filepath.Base(o.path), err)
	}
	return d, nil
}

func (d *database) open() (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = d.fault(p, nil, true)
		}
		if err != nil {
			d.release() // again, or because bbolt could not
		}
	}()
	if err = d.begin(d.openFile); err == nil {
		err = d.admit()
	}
	if errors.Is(err, berrors.ErrInvalid) || errors.Is(err, berrors.ErrChecksum) ||
		errors.Is(err, berrors.ErrVersionMismatch) {
		err = d.damaged(err)
	} else if lost, ok := errors.AsType[*disk.UnreadableError](disk.Unreadable(err)); ok {
		err = d.damaged(lost)
	}
	return err
}

// growth is by how many bytes a file grows at least. Its end is a hole until it is written; 16 MiB, as bbolt
// has it, would go into each copy of a small database.
const growth = 1 << 20

// begin opens the database in a file that open opens.
func (d *database) begin(open func() (*os.File, error)) (err error) {
	d.bolt, err = bolt.Open(d.path, d.mode, &bolt.Options{
		Timeout:         time.Nanosecond,
		NoSync:          d.volatile,
		NoGrowSync:      d.volatile,
		FreelistType:    bolt.FreelistMapType,
		ReadOnly:        d.readOnly,
		PreLoadFreelist: true,
		InitialMmapSize: d.mmap,
		OpenFile:        func(string, int, os.FileMode) (*os.File, error) { return open() },
	})
	if err != nil {
		return err
	}
	d.bolt.AllocSize = growth
	fi, err := d.file.Stat()
	if err == nil {
		d.size = fi.Size()
	}
	return err
}

// openFile opens and locks the file and checks its pages. bbolt locks it again, which does nothing.
func (d *database) openFile() (_ *os.File, err error) {
	flag := os.O_RDWR
	if d.readOnly {
		flag = os.O_RDONLY
	} else if d.fresh {
		flag |= os.O_CREATE
	}
	f, err := d.openOrHeld(flag)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if d.held != nil {
		d.file, d.fd = f, int(f.Fd())
		return f, nil
	}
	if f, err = d.lock(f); err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if fi.Mode().Perm()&^d.mode != 0 {
		f.Chmod(d.mode) // of an older version; who may not is not its owner
	}
	switch {
	case fi.Size() > 0:
		err := d.check(f, fi)
		if (err != nil) && d.fresh && !d.readOnly && d.isUnborn(f, fi) {
			err = f.Truncate(0)
		}
		if err != nil {
			return nil, err
		}
	case !d.fresh || d.readOnly:
		return nil, fmt.Errorf("%s is empty: %w", filepath.Base(d.path), fs.ErrNotExist)
	}
	if d.shared && d.readOnly {
		commit, err := dbpages.ReadCommit(f)
		if err != nil {
			return nil, d.damaged(err)
		}
		d.of = &commit
	}
	d.file, d.fd = f, int(f.Fd())
	return f, nil
}

// openOrHeld opens the file. Of one that is held it returns another descriptor, which has the same lock.
func (d *database) openOrHeld(flag int) (*os.File, error) {
	if d.held == nil {
		return os.OpenFile(d.path, flag, d.mode)
	}
	return sameOpen(d.held)
}

// sameOpen returns another descriptor of an open file, which has the same lock.
func sameOpen(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// check looks at all pages of the file.
func (d *database) check(f *os.File, fi fs.FileInfo) error {
	commit, known := d.lastCommit(f)
	if known && d.known.has(d.path, fi, commit) {
		return nil
	}
	if err := d.look(f); err != nil {
		return d.damaged(err)
	}
	if known {
		d.known.add(d.path, fi, commit)
	}
	return nil
}

// lastCommit reads what a file is known by.
func (d *database) lastCommit(f *os.File) (commit dbpages.Commit, ok bool) {
	if d.known == nil {
		return commit, false
	}
	commit, err := dbpages.ReadCommit(&disk.LossReader{File: f})
	return commit, err == nil
}

// recheck looks at all pages again. No transaction may be writing.
func (d *database) recheck() error {
	d.writing.Lock()
	defer d.writing.Unlock()
	return d.look(d.file)
}

// look checks all pages of a file, which must be locked.
func (o *doorOptions) look(f *os.File) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	r := &disk.LossReader{File: f}
	err = dbpages.Check(r, fi.Size(), o.depth)
	if (err != nil) && (r.Lost != nil) {
		return r.Lost
	}
	return err
}

// View reads in one transaction.
func (d *database) View(f func(*transaction) error) error { return d.transact(f, false) }

// Update writes in one transaction, all of it or nothing.
func (d *database) Update(f func(*transaction) error) error {
	return d.alone(func() error { return d.transact(f, true) })
}

// alone calls f while no other transaction writes.
func (d *database) alone(f func() error) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	if err := d.exclude(); err != nil {
		return err
	}
	d.wrote.Store(true)
	err := f()
	if aerr := d.admit(); err == nil {
		err = aerr
	}
	return err
}

func (d *database) transact(f func(*transaction) error, write bool) (err error) {
	if bad := d.bad.Load(); bad != nil {
		return *bad
	}
	var tx *bolt.Tx
	if !write {
		d.users.RLock()
		defer d.users.RUnlock()
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		p := recover()
		if s, ok := p.(badSeal); ok {
			err = d.damaged(s.err)
		} else if p != nil {
			err = d.fault(p, tx, write)
		} else {
			err = d.damagedValue(err)
		}
	}()
	if d.cut() { // beginning a transaction would fault with a lock held that others wait for
		return d.fail(d.damaged(errors.New("the file was cut short while it was open")))
	}
	logged := false
	body := func(t *bolt.Tx) error {
		tx = t
		x, err := begin(t)
		if err != nil {
			return err
		}
		if x.looks = &d.looks; write {
			x.redo, x.counts = d.redo, d.site != ""
		}
		if err := f(x); (err != nil) || !write {
			return err
		}
		if err := x.end(); err != nil {
			return err
		}
		if (x.number > 0) && (x.later == 0) && (d.before != nil) {
			if err := d.before(); err != nil {
				return err
			}
		}
		if (x.redo == nil) || (x.number == 0) {
			return nil
		}
		if d.redo.Segment() == nil { // the number counts all the same
			d.redo.Number(x.number)
			return nil
		}
		err = d.log(x)
		logged = err == nil
		return err
	}
	if !write {
		return d.bolt.View(body)
	}
	if err = d.bolt.Update(body); (err != nil) && logged && (d.redo.Segment() != nil) {
		if terr := d.redo.TakeBack(); terr != nil {
			return d.fail(errors.Join(err, terr))
		}
	}
	return err
}

// paused calls f while no transaction reads, unless one does for too long.
func (d *database) paused(f func()) (done bool) {
	for end := time.Now().Add(time.Second); !done && time.Now().Before(end); {
		if done = d.users.TryLock(); !done {
			time.Sleep(time.Millisecond)
		}
	}
	if done {
		defer d.users.Unlock()
		f()
	}
	return done
}

// cut reports whether the file is shorter than it was when it was opened: it never shrinks by itself.
func (d *database) cut() bool {
	var st syscall.Stat_t
	return syscall.Fstat(d.fd, &st) == nil && st.Size < d.size
}

// fail makes err what every later transaction returns, unless there was an error before it.
func (d *database) fail(err error) error {
	d.known.forget(d.path)
	d.bad.CompareAndSwap(nil, &err)
	return *d.bad.Load()
}

// fault makes an error of a panic in a transaction, nil for one that did not begin. It is called by the
// deferred function that recovered, and checks the pages once more: when they are good the fault is one of
// the program.
func (d *database) fault(p any, tx *bolt.Tx, write bool) error {
	if tx == nil || tx.DB() != nil {
		d.stuck.Store(true)
	}
	err := fmt.Errorf("internal error at %s: %v", origin(), p)
	if d.file == nil {
		return d.fail(err)
	}
	if !write && d.writing.TryLock() {
		defer d.writing.Unlock()
	}
	if cerr := d.look(d.file); cerr != nil {
		err = d.damaged(cerr)
	} else if lost := d.pageFault(p); lost != nil {
		err = d.damaged(lost)
	}
	return d.fail(err)
}

// origin names the place that panicked.
func origin() string {
	pc := make([]uintptr, 64)
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc)])
	panicked := false
	for {
		f, more := frames.Next()
		inRuntime := strings.HasPrefix(f.Function, "runtime.")
		switch {
		case f.Function == "runtime.gopanic", f.Function == "runtime.sigpanic":
			panicked = true
		case panicked && !inRuntime:
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}

// damagedValue makes a DatabaseError of a value that cannot be decoded.
func (o *doorOptions) damagedValue(err error) error {
	if err != nil && errors.Is(err, record.ErrValue) {
		err = o.damaged(err)
	}
	return err
}

// dropPages gives the memory of the pages that were looked at back.
func (d *database) dropPages() {
	d.View(func(tx *transaction) error { // while it is open the mapping stays
		tx.dropPages()
		return nil
	})
}

// Close releases the file and its lock in any case. After a panic that left bbolt locked its mapping
// stays until the process ends.
func (d *database) Close() (err error) {
	if d.stuck.Load() {
		return d.release()
	}
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(d.fault(p, nil, true), d.release())
		}
	}()
	d.writing.Lock()
	defer d.writing.Unlock()
	d.journal.close()
	if d.writer != nil {
		defer d.writer.Close() // nothing is in it
	}
	if d.wrote.Load() && d.bad.Load() == nil {
		fi, err := d.file.Stat()
		if commit, ok := d.lastCommit(d.file); ok && err == nil {
			d.known.renew(d.path, fi, commit)
		} else {
			d.known.forget(d.path)
		}
	}
	return d.bolt.Close()
}

// release closes the file without bbolt.
func (d *database) release() error {
	d.journal.close()
	var err error
	if d.file != nil {
		err = errors.Join(disk.Funlock(d.file), d.file.Close())
	}
	if d.writer != nil {
		err = errors.Join(err, d.writer.Close())
	}
	return err
}
