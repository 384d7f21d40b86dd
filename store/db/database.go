// SPDX-License-Identifier: Apache-2.0

package db

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

	"mirrord/internal/dbpages"
	"mirrord/store/disk"
	"mirrord/store/log"
	"mirrord/store/record"
)

// DB is the one door to bbolt: no other file opens a database or begins a transaction (TestOneDoor).
// bbolt trusts its pages. So they are checked before it sees them, while the file is locked, which keeps it
// from cycles, wild page numbers and a mapping that is longer than the file. What goes wrong later all the
// same, on a disk that changes its mind, panics or faults; that is caught here, the pages are checked again,
// and the database is of no use until it is opened again. Its methods may be called from several goroutines.
type DB struct {
	Options
	bolt *bolt.DB
	File *os.File
	fd   int   // of file
	size int64 // of file when it was opened

	writer *os.File     // locked by the writer of a shared database; nil for readers, and others
	users  sync.RWMutex // held by transactions that read
	redo   *log.Log     // of the transactions; nil for none
	// what of the log is not in the database
	Journal LogJournal
	// syncs what transactions refer to, before one that is synced; nil while there is no such thing
	Before func() error
	// around each writing transaction: no writer waits for a lock of bbolt that a panic left behind
	writing sync.Mutex
	of      *dbpages.Commit       // of a view: the commit that it shows
	bad     atomic.Pointer[error] // the first thing that went wrong
	stuck   atomic.Bool           // bbolt holds locks that are never released
	wrote   atomic.Bool
	looks   atomic.Uint32 // see transaction.looked
}

// Options say which database is opened, and how.
type Options struct {
	Path     string
	Site     string        // whose database it is, "" for that of the state
	Mode     fs.FileMode   // at most these may read it
	Wait     time.Duration // for other processes; 0 is one try
	Depth    int           // how deep buckets lie in one another
	Mmap     int           // address space to reserve
	ReadOnly bool
	Volatile bool        // no syncs
	Fresh    bool        // a file that is missing or empty is made
	Shared   bool        // readers have it beside its writer, see beside.go
	Known    *WholeFiles // files that need not be checked again; nil checks always
	Busy     bool        // of a view: a process had the site open for writing
	held     *os.File    // the file, locked by the caller, who keeps it; nil: it is opened and locked
}

// Damaged makes a DatabaseError of what was found.
func (o *Options) Damaged(err error) error {
	var d *DatabaseError
	if errors.As(err, &d) {
		return err
	}
	return &DatabaseError{Site: o.Site, File: filepath.Base(o.Path), Err: err}
}

// Open opens a database. One that another process has open is ErrLocked, one that cannot be used a
// *DatabaseError; one that is missing or empty is fs.ErrNotExist unless it may be made.
func Open(o Options) (d *DB, err error) {
	for range 10 { // each time another process has made progress
		d = &DB{Options: o}
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
		return nil, disk.Err("open "+filepath.Base(o.Path), err)
	}
	return d, nil
}

func (d *DB) open() (err error) {
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
		err = d.Damaged(err)
	} else if lost, ok := errors.AsType[*disk.UnreadableError](disk.Unreadable(err)); ok {
		err = d.Damaged(lost)
	}
	return err
}

// growth is by how many bytes a file grows at least. Its end is a hole until it is written; 16 MiB, as bbolt
// has it, would go into each copy of a small database.
const growth = 1 << 20

// begin opens the database in a file that open opens.
func (d *DB) begin(open func() (*os.File, error)) (err error) {
	d.bolt, err = bolt.Open(d.Path, d.Mode, &bolt.Options{
		Timeout:         time.Nanosecond,
		NoSync:          d.Volatile,
		NoGrowSync:      d.Volatile,
		FreelistType:    bolt.FreelistMapType,
		ReadOnly:        d.ReadOnly,
		PreLoadFreelist: true,
		InitialMmapSize: d.Mmap,
		OpenFile:        func(string, int, os.FileMode) (*os.File, error) { return open() },
	})
	if err != nil {
		return err
	}
	d.bolt.AllocSize = growth
	fi, err := d.File.Stat()
	if err == nil {
		d.size = fi.Size()
	}
	return err
}

// openFile opens and locks the file and checks its pages. bbolt locks it again, which does nothing.
func (d *DB) openFile() (_ *os.File, err error) {
	flag := os.O_RDWR
	if d.ReadOnly {
		flag = os.O_RDONLY
	} else if d.Fresh {
		flag |= os.O_CREATE
	}
	if d.held != nil {
		f, err := sameOpen(d.held)
		if err == nil {
			d.File, d.fd = f, int(f.Fd())
		}
		return f, err
	}
	f, err := os.OpenFile(d.Path, flag, d.Mode)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if f, err = d.lock(f); err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if fi.Mode().Perm()&^d.Mode != 0 {
		f.Chmod(d.Mode) // of an older version; who may not is not its owner
	}
	switch {
	case fi.Size() > 0:
		err := d.check(f, fi)
		if (err != nil) && d.Fresh && !d.ReadOnly && isUnborn(f, fi) {
			err = f.Truncate(0)
		}
		if err != nil {
			return nil, err
		}
	case !d.Fresh || d.ReadOnly:
		return nil, fmt.Errorf("%s is empty: %w", filepath.Base(d.Path), fs.ErrNotExist)
	}
	if d.Shared && d.ReadOnly {
		commit, err := dbpages.ReadCommit(f)
		if err != nil {
			return nil, d.Damaged(err)
		}
		d.of = &commit
	}
	d.File, d.fd = f, int(f.Fd())
	return f, nil
}

func (d *DB) check(f *os.File, fi fs.FileInfo) error {
	commit, known := d.lastCommit(f)
	if known && d.Known.has(d.Path, fi, commit) {
		return nil
	}
	if err := d.look(f); err != nil {
		return d.Damaged(err)
	}
	if known {
		d.Known.add(d.Path, fi, commit)
	}
	return nil
}

func (d *DB) lastCommit(f *os.File) (commit dbpages.Commit, ok bool) {
	if d.Known == nil {
		return commit, false
	}
	commit, err := dbpages.ReadCommit(&disk.LossReader{File: f})
	return commit, err == nil
}

// Recheck looks at all pages again. No transaction may be writing.
func (d *DB) Recheck() error {
	d.writing.Lock()
	defer d.writing.Unlock()
	return d.look(d.File)
}

// look checks all pages of a file, which must be locked.
func (o *Options) look(f *os.File) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	r := &disk.LossReader{File: f}
	err = dbpages.Check(r, fi.Size(), o.Depth)
	if (err != nil) && (r.Lost != nil) {
		return r.Lost
	}
	return err
}

// CheckWhole checks pages and values of a file that the caller has locked, and gives the lock back.
func (o Options) CheckWhole(f *os.File) error {
	if err := o.look(f); err != nil {
		return err
	}
	o.held, o.Known = f, nil
	db, err := Open(o)
	if err != nil {
		return err
	}
	return errors.Join(db.View((*Tx).CheckSums), db.Close())
}

// View reads in one transaction.
func (d *DB) View(f func(*Tx) error) error { return d.transact(f, false) }

// Update writes in one transaction, all of it or nothing.
func (d *DB) Update(f func(*Tx) error) error {
	return d.alone(func() error { return d.transact(f, true) })
}

// alone calls f while no other transaction writes.
func (d *DB) alone(f func() error) error {
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

func (d *DB) transact(f func(*Tx) error, write bool) (err error) {
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
			err = d.Damaged(s.err)
		} else if p != nil {
			err = d.fault(p, tx, write)
		} else {
			err = d.DamagedValue(err)
		}
	}()
	// it never shrinks by itself; beginning a transaction would fault with a lock held that others wait for
	var st syscall.Stat_t
	if syscall.Fstat(d.fd, &st) == nil && st.Size < d.size {
		return d.fail(d.Damaged(errors.New("the file was cut short while it was open")))
	}
	logged := false
	body := func(t *bolt.Tx) error {
		tx = t
		x, err := begin(t)
		if err != nil {
			return err
		}
		if x.looks = &d.looks; write {
			x.redo, x.counts = d.redo, d.Site != ""
		}
		if err := f(x); (err != nil) || !write {
			return err
		}
		if err := x.end(); err != nil {
			return err
		}
		if (x.number > 0) && (x.later == 0) && (d.Before != nil) {
			if err := d.Before(); err != nil {
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
func (d *DB) paused(f func()) (done bool) {
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

// fail makes err what every later transaction returns, unless there was an error before it.
func (d *DB) fail(err error) error {
	d.Known.forget(d.Path)
	d.bad.CompareAndSwap(nil, &err)
	return *d.bad.Load()
}

// fault makes an error of a panic in a transaction, nil for one that did not begin. It is called by the
// deferred function that recovered, and checks the pages once more: when they are good the fault is one of
// the program.
func (d *DB) fault(p any, tx *bolt.Tx, write bool) error {
	if tx == nil || tx.DB() != nil {
		d.stuck.Store(true)
	}
	err := fmt.Errorf("internal error at %s: %v", origin(), p)
	if d.File == nil {
		return d.fail(err)
	}
	if !write && d.writing.TryLock() {
		defer d.writing.Unlock()
	}
	if cerr := d.look(d.File); cerr != nil {
		err = d.Damaged(cerr)
	} else if lost := d.pageFault(p); lost != nil {
		err = d.Damaged(lost)
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

// DamagedValue makes a DatabaseError of a value that cannot be decoded.
func (o *Options) DamagedValue(err error) error {
	if err != nil && errors.Is(err, record.ErrValue) {
		err = o.Damaged(err)
	}
	return err
}

func (d *DB) DropPages() {
	d.View(func(tx *Tx) error { // while it is open the mapping stays
		tx.dropPages()
		return nil
	})
}

// Close ends the log, and releases the file and its lock in any case. After a panic that left bbolt locked
// its mapping stays until the process ends.
func (d *DB) Close() error { return errors.Join(endLog(d), closeFile(d)) }

func closeFile(d *DB) (err error) {
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
	d.Journal.close()
	if d.writer != nil {
		defer d.writer.Close() // nothing is in it
	}
	if d.wrote.Load() && d.bad.Load() == nil {
		fi, err := d.File.Stat()
		if commit, ok := d.lastCommit(d.File); ok && err == nil {
			d.Known.renew(d.Path, fi, commit)
		} else {
			d.Known.forget(d.Path)
		}
	}
	return d.bolt.Close()
}

func (d *DB) release() error {
	d.Journal.close()
	var err error
	if d.File != nil {
		err = errors.Join(disk.Funlock(d.File), d.File.Close())
	}
	if d.writer != nil {
		err = errors.Join(err, d.writer.Close())
	}
	return err
}
