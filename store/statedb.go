// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mirrord/store/db"
	"mirrord/store/disk"
)

// stateDB is the database of a state: run log, robots.txt of hosts, records of jobs, tested pairs. Nothing
// that a mirror is made of, so that it can be lost: what the sites know of it is in them too.
const stateDB = "mirror.db"

// Buckets of mirror.db.
var (
	bRuns  = []byte("runs")  // site -> number -> RunRecord as JSON
	bHosts = []byte("hosts") // origin -> robots.FileCopy as JSON
	bJobs  = []byte("jobs")  // name -> what the scheduler keeps
	bPairs = []byte("pairs") // both base URLs -> PairRecord as JSON
)

// Files of a site's folder from which mirror.db is made again. They lie beside site.db, because that may be
// damaged too or held by a run, and because more may read it than a job's text, which may hold secrets. A
// site without them is only missing there.
const (
	lastRunName   = "lastrun.json" // RunRecord
	jobRecordName = "job.json"     // as SaveJobRecords has it
)

// keepJobRecords writes records of jobs into the folders of their sites, for a mirror.db that is made again.
// A job without a site has none.
func (s *State) keepJobRecords(records map[string][]byte) {
	for name, v := range records {
		if !ValidName(name) {
			continue
		}
		if err := keepBeside(s, name, jobRecordName, v, 0o600, false); err != nil {
			s.opt.Log.Warn("the spare copy of a job's record was not written", "site", name, "file", jobRecordName,
				"err", err)
		}
	}
}

// How long a process waits for another one that holds mirror.db. Each holds it for a moment only.
const (
	updateWait = 15 * time.Second
	viewWait   = time.Second // then a copy is read
)

// withDB opens mirror.db for the moment of f. Another process may hold it as briefly, so a wait is normal.
// One that is damaged is set aside and made again from what the sites know, and so is one that is missing or
// empty: a lost log must not stop a run.
func (s *State) withDB(wait time.Duration, f func(*db.DB) error) error {
	o := s.dbOptions()
	o.Wait = wait
	err := tryDoor(o, f)
	bad, damaged := errors.AsType[*db.DatabaseError](err)
	if (damaged && bad.Site == "") || errors.Is(err, errNoStateDB) {
		if aerr := s.replaceDB(err); aerr != nil {
			return errors.Join(err, aerr)
		}
		err = tryDoor(o, f)
	}
	return err
}

// errNoStateDB says that mirror.db is missing or empty.
var errNoStateDB = errors.New(stateDB + " is missing or empty")

func (s *State) dbOptions() db.Options {
	return db.Options{
		Path:     filepath.Join(s.Dir, stateDB),
		Mode:     0o600,
		Wait:     updateWait,
		Depth:    2,
		Volatile: s.opt.Volatile,
		Known:    &s.checked,
	}
}

func tryDoor(o db.Options, f func(*db.DB) error) error {
	d, err := db.Open(o)
	if errors.Is(err, disk.ErrLocked) {
		return fmt.Errorf("%s: %w", o.Path, disk.ErrLocked)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return errNoStateDB
	}
	if err != nil {
		return err
	}
	return errors.Join(f(d), d.Close())
}

// viewDB reads mirror.db. A state without sites need not have one, and who may not make one sees nothing in
// it.
func (s *State) viewDB(f func(*db.Tx) error) error {
	_, missing := s.root.Lstat(stateDB)
	if errors.Is(missing, fs.ErrNotExist) {
		if names, err := s.Sites(); err != nil || len(names) == 0 {
			return err
		}
	}
	view := func(d *db.DB) error { return d.View(f) }
	err := s.withDB(viewWait, view)
	if errors.Is(err, disk.ErrLocked) { // by a process that is stopped, maybe: a copy as of its last commit
		d, err := copyDB(s)
		if err != nil {
			return err
		}
		return errors.Join(view(d), d.Close())
	}
	switch mayNot := errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS); {
	case mayNot && missing != nil:
		return nil
	case mayNot: // a state that is read-only for the caller
		o := s.dbOptions()
		o.ReadOnly = true
		return tryDoor(o, view)
	}
	return err
}

// copyDB opens a copy of mirror.db as it was after its last commit.
func copyDB(s *State) (*db.DB, error) {
	d, err := s.dbOptions().OpenCopy(os.TempDir(), s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = errNoStateDB
	}
	return d, err
}

// updateDB writes mirror.db.
func (s *State) updateDB(op string, f func(*db.Tx) error) error {
	return s.withDB(updateWait, func(d *db.DB) error { return disk.Err(op, d.Update(f)) })
}

// replaceDB puts a new mirror.db instead of one that is damaged, which keeps a dated name, or of one
// that is missing or empty. A crash leaves the one or the other. It holds the lock of the old one, so that
// one process does it.
func (s *State) replaceDB(why error) error {
	o := s.dbOptions()
	f, err := s.root.OpenFile(stateDB, os.O_RDWR|os.O_CREATE, o.Mode)
	if err != nil {
		return disk.Err("set "+stateDB+" aside", err)
	}
	defer f.Close()
	fi, still, err := stillThere(s.root, f, o)
	if still && o.CheckWhole(f) != nil { // whose end gave the lock back
		fi, still, err = stillThere(s.root, f, o)
	} else {
		still = false
	}
	if (err != nil) || !still { // another process has done it
		return disk.Err("set "+stateDB+" aside", err)
	}
	sites, err := s.makeDB(o)
	if err == nil {
		err = s.giveToOwner(filepath.Base(o.CopyName()))
	}
	if err != nil {
		return err
	}
	aside := stateDB + ".damaged-" + s.opt.Now().UTC().Format("20060102T150405.000Z")
	if fi.Size() == 0 {
		aside = ""
	} else if err = s.root.Link(stateDB, aside); err != nil { // a disk without hard links
		err = s.root.Rename(stateDB, aside)
	}
	if err == nil {
		err = o.TakeName()
	}
	if err != nil {
		return disk.Err("set "+stateDB+" aside", err)
	}
	const lost = "older entries of the run log and tests of replicas are lost"
	switch {
	case aside != "":
		s.opt.Log.Warn("mirror.db was damaged; it was set aside and made again from the sites: "+lost,
			"err", why, "aside", filepath.Join(s.Dir, aside), "sites", sites)
	case sites > 0:
		s.opt.Log.Warn("mirror.db was missing or empty; it was made again from the sites: "+lost,
			"sites", sites, "state", s.Dir)
	}
	return nil
}

// giveToOwner gives a file that root made to the owner of the state: root may only have looked, and the
// daemon is to write it.
func (s *State) giveToOwner(name string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	fi, err := os.Stat(s.Dir)
	if err != nil {
		return err
	}
	if sys, ok := fi.Sys().(*syscall.Stat_t); ok && sys.Uid != 0 {
		return s.root.Chown(name, int(sys.Uid), int(sys.Gid))
	}
	return nil
}

// stillThere locks a file, and reports whether it is mirror.db.
func stillThere(root *os.Root, f *os.File, o db.Options) (fi fs.FileInfo, still bool, err error) {
	if ok, err := disk.FlockFor(f, true, o.Wait); !ok {
		return nil, false, errors.Join(err, disk.ErrLocked)
	}
	if fi, err = f.Stat(); err != nil {
		return nil, false, err
	}
	named, err := root.Lstat(stateDB)
	return fi, (err == nil) && os.SameFile(fi, named), nil
}

// makeDB makes the next database of what the sites know.
func (s *State) makeDB(o db.Options) (sites int, err error) {
	names, err := s.Sites()
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
	return sites, disk.Err("make "+stateDB, err)
}

// RecallSite adds to mirror.db what it lacks of a mirror that came from another machine: last run, pause.
func RecallSite(s *State, name string) error {
	return s.updateDB("write "+stateDB, func(tx *db.Tx) error { return s.recallInto(tx, name, new(int)) })
}

func (s *State) recallInto(tx *db.Tx, name string, added *int) error {
	jobs, err := tx.CreateBucketIfNotExists(bJobs)
	run, job := s.recall(name)
	if all := tx.Bucket(bRuns); err == nil && run != nil && (all == nil || all.Bucket([]byte(name)) == nil) {
		*added++
		err = addRun(tx, name, run)
	}
	if err == nil && job != nil && jobs.Get([]byte(name)) == nil {
		err = jobs.Put([]byte(name), job)
	}
	return err
}

// recall returns what a site keeps for mirror.db, nil for what cannot be read.
func (s *State) recall(name string) (run, job []byte) {
	read := func(file string) []byte {
		if v, err := readBeside(s, name, file); err == nil && json.Valid(v) {
			return v
		}
		return nil
	}
	return read(lastRunName), read(jobRecordName)
}

// CheckShared reads all of mirror.db as of its last commit. A *DatabaseError says that it is damaged, or that
// it is missing although sites know what was in it. It changes nothing, and who may not read it finds
// nothing.
func CheckShared(s *State) error {
	d, err := copyDB(s)
	if err == nil {
		err = d.View(func(t *db.Tx) error {
			if err := t.CheckSums(); err != nil {
				return d.Damaged(err)
			}
			return nil
		})
		err = errors.Join(err, d.Close())
	}
	if errors.Is(err, errNoStateDB) {
		names, lerr := s.Sites()
		for _, name := range names {
			if run, job := s.recall(name); (run != nil) || job != nil {
				o := s.dbOptions()
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

// MendShared makes mirror.db again from what the sites know when it is damaged or missing, and reports
// whether it did.
func MendShared(s *State) (made bool, err error) {
	err = CheckShared(s)
	if _, damaged := errors.AsType[*db.DatabaseError](err); !damaged {
		return false, err
	}
	return true, s.replaceDB(err)
}
