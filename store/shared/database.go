// SPDX-License-Identifier: Apache-2.0

// Package shared is the room of package store that has what all sites of a state share and none of them is
// made of: mirror.db with the run log, robots.txt of hosts, records of jobs, tested pairs, users, tokens and
// orders, and the file of names that were public. It knows the folder of a state, and of a site only the two
// files from which a lost mirror.db is made again; the values belong to its users.
package shared

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
)

// FileName is the file of the state's folder.
const FileName = "mirror.db"

// Buckets of mirror.db.
var (
	bRuns = []byte("runs") // site -> number -> RunRecord as JSON
	bJobs = []byte("jobs") // name -> what the scheduler keeps
)

// Kinds of the other records in mirror.db.
const (
	kindHosts  = "hosts"  // origin -> robots.FileCopy as JSON
	kindPairs  = "pairs"  // both base URLs -> PairRecord as JSON
	kindOrders = "orders" // number, 0 for the settings of operators -> what package app/orders writes
)

// Files of a site's folder from which mirror.db is made again. They lie beside site.db, because that may be
// damaged too or held by a run, and because more may read it than a job's text, which may hold secrets. A
// site without them is only missing there.
const (
	LastRun   = "lastrun.json" // RunRecord
	jobRecord = "job.json"     // as SaveJobRecords has it
)

// How long a process waits for another one that holds mirror.db. Each holds it for a moment only.
const (
	updateWait = 15 * time.Second
	viewWait   = time.Second // then a copy is read
)

// Database is mirror.db of a state. Safe for concurrent use, also by several processes: it is opened for the
// moment of a call.
type Database struct {
	state *home.StateFolder
	log   *slog.Logger
	known db.WholeFiles
}

// Open returns the database of a state, which is made by the first call that writes it. log gets a record
// when a damaged one was made again.
func Open(state *home.StateFolder, log *slog.Logger) *Database {
	return &Database{state: state, log: log, known: db.WholeFiles{Now: state.Now}}
}

// with opens mirror.db for the moment of f. Another process may hold it as briefly, so a wait is normal.
// One that is damaged is set aside and made again from what the sites know, and so is one that is missing or
// empty: a lost log must not stop a run.
func (s *Database) with(wait time.Duration, f func(*db.DB) error) error {
	o := s.options()
	o.Wait = wait
	err := tryDoor(o, f)
	bad, damaged := errors.AsType[*db.DatabaseError](err)
	if (damaged && bad.Site == "") || errors.Is(err, ErrNone) {
		if aerr := s.replace(err); aerr != nil {
			return errors.Join(err, aerr)
		}
		err = tryDoor(o, f)
	}
	return err
}

// ErrNone says that mirror.db is missing or empty.
var ErrNone = errors.New(FileName + " is missing or empty")

func (s *Database) options() db.Options {
	return db.Options{
		Path:     filepath.Join(s.state.Dir, FileName),
		Mode:     0o600,
		Wait:     updateWait,
		Depth:    2,
		Volatile: s.state.Volatile,
		Known:    &s.known,
	}
}

func tryDoor(o db.Options, f func(*db.DB) error) error {
	d, err := db.Open(o)
	if errors.Is(err, disk.ErrLocked) {
		return fmt.Errorf("%s: %w", o.Path, disk.ErrLocked)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNone
	}
	if err != nil {
		return err
	}
	return errors.Join(f(d), d.Close())
}

// view reads mirror.db. A state without sites need not have one, and who may not make one sees nothing in
// it.
func (s *Database) view(f func(*db.Tx) error) error {
	_, missing := s.state.Root.Lstat(FileName)
	if errors.Is(missing, fs.ErrNotExist) {
		if names, err := s.state.Sites(); err != nil || len(names) == 0 {
			return err
		}
	}
	view := func(d *db.DB) error { return d.View(f) }
	err := s.with(viewWait, view)
	if errors.Is(err, disk.ErrLocked) { // by a process that is stopped, maybe: a copy as of its last commit
		d, err := s.Copy()
		if err != nil {
			return err
		}
		return errors.Join(view(d), d.Close())
	}
	switch mayNot := errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS); {
	case mayNot && missing != nil:
		return nil
	case mayNot: // a state that is read-only for the caller
		o := s.options()
		o.ReadOnly = true
		return tryDoor(o, view)
	}
	return err
}

// Copy opens a copy of mirror.db as it was after its last commit.
func (s *Database) Copy() (*db.DB, error) {
	d, err := s.options().OpenCopy(os.TempDir(), s.state.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNone
	}
	return d, err
}

func (s *Database) update(op string, f func(*db.Tx) error) error {
	return s.with(updateWait, func(d *db.DB) error { return disk.Err(op, d.Update(f)) })
}

// replace puts a new mirror.db instead of one that is damaged, which keeps a dated name, or of one
// that is missing or empty. A crash leaves the one or the other. It holds the lock of the old one, so that
// one process does it.
func (s *Database) replace(why error) error {
	o := s.options()
	f, err := s.state.Root.OpenFile(FileName, os.O_RDWR|os.O_CREATE, o.Mode)
	if err != nil {
		return disk.Err("set "+FileName+" aside", err)
	}
	defer f.Close()
	fi, still, err := stillThere(s.state.Root, f, o)
	if still && o.CheckWhole(f) != nil { // whose end gave the lock back
		fi, still, err = stillThere(s.state.Root, f, o)
	} else {
		still = false
	}
	if (err != nil) || !still { // another process has done it
		return disk.Err("set "+FileName+" aside", err)
	}
	sites, err := s.refill(o)
	if err == nil {
		err = s.giveToOwner(filepath.Base(o.CopyName()))
	}
	if err != nil {
		return err
	}
	aside := FileName + ".damaged-" + s.state.Now().UTC().Format("20060102T150405.000Z")
	if fi.Size() == 0 {
		aside = ""
	} else if err = s.state.Root.Link(FileName, aside); err != nil { // a disk without hard links
		err = s.state.Root.Rename(FileName, aside)
	}
	if err == nil {
		err = o.TakeName()
	}
	if err != nil {
		return disk.Err("set "+FileName+" aside", err)
	}
	const lost = "older entries of the run log and tests of replicas are lost"
	switch {
	case aside != "":
		s.log.Warn("mirror.db was damaged; it was set aside and made again from the sites: "+lost,
			"err", why, "aside", filepath.Join(s.state.Dir, aside), "sites", sites)
	case sites > 0:
		s.log.Warn("mirror.db was missing or empty; it was made again from the sites: "+lost,
			"sites", sites, "state", s.state.Dir)
	}
	return nil
}

// giveToOwner gives a file that root made to the owner of the state: root may only have looked, and the
// daemon is to write it.
func (s *Database) giveToOwner(name string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	fi, err := os.Stat(s.state.Dir)
	if err != nil {
		return err
	}
	if sys, ok := fi.Sys().(*syscall.Stat_t); ok && sys.Uid != 0 {
		return s.state.Root.Chown(name, int(sys.Uid), int(sys.Gid))
	}
	return nil
}

// stillThere locks a file, and says whether it is mirror.db.
func stillThere(root *os.Root, f *os.File, o db.Options) (fi fs.FileInfo, still bool, err error) {
	if ok, err := disk.FlockFor(f, true, o.Wait); !ok {
		return nil, false, errors.Join(err, disk.ErrLocked)
	}
	if fi, err = f.Stat(); err != nil {
		return nil, false, err
	}
	named, err := root.Lstat(FileName)
	return fi, (err == nil) && os.SameFile(fi, named), nil
}

// refill makes the next database of what the sites know.
func (s *Database) refill(o db.Options) (sites int, err error) {
	names, err := s.state.Sites()
	if err != nil {
		return 0, err
	}
	fill := func(tx *db.Tx) error {
		for _, name := range names {
			if err := s.recallInto(tx, name, &sites); err != nil {
				return err
			}
		}
		return nil
	}
	err = o.MakeNext(func(next *db.DB) error { return next.Update(fill) })
	return sites, disk.Err("make "+FileName, err)
}

// Check reads all of mirror.db as of its last commit. A *DatabaseError says that it is damaged, or that
// it is missing although sites know what was in it. It changes nothing, and who may not read it finds
// nothing.
func (s *Database) Check() error {
	d, err := s.Copy()
	if err == nil {
		err = d.View(func(t *db.Tx) error {
			if err := t.CheckSums(); err != nil {
				return d.Damaged(err)
			}
			return nil
		})
		err = errors.Join(err, d.Close())
	}
	if errors.Is(err, ErrNone) {
		names, lerr := s.state.Sites()
		for _, name := range names {
			if run, job := s.recall(name); (run != nil) || job != nil {
				o := s.options()
				return o.Damaged(err)
			}
		}
		return lerr
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// Mend makes mirror.db again from what the sites know when it is damaged or missing, and reports
// whether it did.
func (s *Database) Mend() (made bool, err error) {
	err = s.Check()
	if _, damaged := errors.AsType[*db.DatabaseError](err); !damaged {
		return false, err
	}
	return true, s.replace(err)
}
