// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mirrord/internal/dbpages"
	"mirrord/internal/regular"
	"mirrord/phm"
)

// follow lets the log in a site's folder record the transactions from now on. It must be called before
// anything is. A site that lives for one run has no log.
func (d *database) follow(root *os.Root) (err error) {
	tx := uint64(0)
	err = d.View(func(t *transaction) error {
		if !t.isFresh() { // a log beside another database is not its log
			tx = uint64(t.tx.ID())
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, serr := root.Lstat(redoFolder); d.volatile && errors.Is(serr, fs.ErrNotExist) {
		return nil
	}
	d.redo, err = openRedo(root, tx)
	return err
}

// endLog ends the log; a long one is begun again first, for the next time.
func (d *database) endLog() (err error) {
	if d.redo == nil {
		return nil
	}
	if (d.bad.Load() == nil) && (d.redo.file != nil) && d.redo.isLong() {
		err = d.checkpoint()
	}
	err = errors.Join(err, d.redo.close(d.volatile))
	d.redo = nil
	return err
}

// redoChunk is how many bytes of changes a part of a checkpoint has, about.
const redoChunk = 4 << 20

// checkpoint begins the log again with all that the database holds.
func (d *database) checkpoint() error {
	return d.View(func(t *transaction) error {
		return d.redo.begin(uint64(t.tx.ID()), t.dump)
	})
}

// beginLog begins a log that does not lead to the database. On a full disk the segments that are of no use go
// first; when that does not suffice there is no log until the site is opened again, because gc and other
// commands that free space must be able to open it.
func (d *database) beginLog() error {
	err := d.checkpoint()
	if isFull(err) {
		if err = d.redo.removeBefore(d.redo.num + 1); err == nil {
			err = d.checkpoint()
		}
	}
	if isFull(err) {
		return nil
	}
	return err
}

// dump passes changes to add that lead from nothing to what the database holds, and returns the last of them.
func (t *transaction) dump(add func(changes []byte) error) (buf []byte, err error) {
	var tallies []byte
	root := t.tx.Cursor()
	for name, v := root.First(); name != nil; name, v = root.Next() {
		if (v != nil) || (string(name) == string(bSums)) {
			continue
		}
		b := t.Bucket(name)
		buf = appendChange(buf, redoSequence, name, seqKey(b.b.Sequence()))
		c := b.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			buf = appendChange(buf, redoPut, name, k, v)
			if len(buf) > redoChunk {
				if err := add(buf); err != nil {
					return nil, err
				}
				buf = buf[:0]
			}
		}
		tallies = appendChange(tallies, redoTally, name, t.tallyOf(name).append(nil))
	}
	return append(buf, tallies...), nil
}

// errNoLog says that a database cannot be made again from its log.
var errNoLog = fmt.Errorf("its log has no whole checkpoint: %w", ErrDamaged)

// Redo makes the database of a site again from its log, with all that it had; why is its defect.
// The damaged one goes to the folder "damaged". The error is ErrNoSite, ErrLocked while a process has the
// site open, or an ErrDamaged when the log does not lead to a database; then nothing was changed.
func Redo(s *State, name string, why error) (err error) {
	if !ValidName(name) {
		return fmt.Errorf("%q cannot name a site", name)
	}
	dir := "sites/" + name
	defer func() {
		if err != nil {
			err = fmt.Errorf("make the database of %s again from its log: %w", name, err)
		}
	}()
	root, err := s.root.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNoSite
	}
	if err != nil {
		return diskErr("open folder", err)
	}
	defer root.Close()
	logs, err := root.OpenRoot(redoFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return errNoLog
	}
	if err != nil {
		return diskErr("open log", err)
	}
	defer logs.Close()
	nums, err := redoSegments(logs)
	if (err != nil) || (len(nums) == 0) {
		return errors.Join(err, errNoLog)
	}
	segment, err := logs.OpenFile(redoName(nums[len(nums)-1]), os.O_RDWR, 0)
	if err != nil {
		return diskErr("open log", err)
	}
	defer segment.Close()
	if ok, err := flock(segment, true, false); !ok { // of a database that is missing there is no other lock
		return errors.Join(err, ErrLocked)
	}
	if lock, err := s.lockSite(name); err == nil {
		defer lock.Close()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	const made = "." + siteDB + ".redone"
	o := doorOptions{
		path:  filepath.Join(s.Dir, dir, made),
		site:  name,
		mode:  0o640,
		depth: 1,
		fresh: true,
	}
	if err := removeIn(root, made); err != nil { // of a process that was killed
		return diskErr("remove "+made, err)
	}
	least := committedIn(root)
	if errors.Is(why, errOlder) { // its transactions may be numbered in another way: the version counts
		least.tx = 0
	}
	if err := redoInto(o, segment, least); err != nil {
		return errors.Join(err, removeIn(root, made))
	}
	aside := ""
	if _, err = root.Lstat(siteDB); err == nil {
		if aside, err = asideFolder(root); err == nil {
			err = root.Rename(siteDB, aside+"/"+siteDB)
		}
	}
	if (err == nil) || errors.Is(err, fs.ErrNotExist) {
		err = root.Rename(made, siteDB)
	}
	if err == nil {
		err = syncDir(filepath.Join(s.Dir, dir))
	}
	// The new database numbers its transactions in another way: this is not its log.
	for _, n := range nums {
		if err == nil {
			err = logs.Remove(redoName(n))
		}
	}
	if err == nil {
		s.opt.Log.Warn("site.db was damaged or an older copy; it was made again from its log, and nothing is lost",
			"site", name, "err", why, "aside", aside)
		if err := noteRedone(root, s.opt.Now(), why, aside); err != nil { // only the message is lost
			s.opt.Log.Warn("that was not noted", "site", name, "err", err)
		}
	}
	return diskErr("replace "+siteDB, err)
}

// noteRedone keeps that a database was made again, for reports to users.
func noteRedone(root *os.Root, at time.Time, why error, aside string) error {
	r := Redone{At: at.UTC(), Why: fmt.Sprint(why), Aside: aside}
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return writeSynced(root, redoneName, v, true)
}

// asideFolder makes a folder for files that are taken out of use.
func asideFolder(root *os.Root) (name string, err error) {
	name = damagedFolder
	for n := 2; ; n++ {
		if err := root.Mkdir(name, 0o755); !errors.Is(err, fs.ErrExist) {
			return name, err
		}
		name = fmt.Sprintf("%s-%d", damagedFolder, n)
	}
}

// committed says how far a log must lead at least.
type committed struct {
	tx      uint64 // last transaction of the damaged database; 0: not known
	version int    // that is published; 0: not known
}

// committedIn returns what can still be read of a site in its folder.
func committedIn(root *os.Root) (c committed) {
	if f, err := root.Open(siteDB); err == nil {
		if head, err := dbpages.ReadCommit(f); err == nil {
			c.tx = head.Tx
		}
		f.Close()
	}
	c.version = linkedVersion(root)
	if tree, err := (regular.Root{Root: root}).OpenRoot(currentLink); err == nil {
		if m, err := phm.OpenMeta(tree.FS()); err == nil {
			c.version = max(c.version, m.Version)
		}
		tree.Close()
	}
	return c
}

// redoInto makes a database of a segment of a log. A log that does not lead as far as is known to have been
// committed is an ErrDamaged.
func redoInto(o doorOptions, segment *os.File, least committed) (err error) {
	d, err := openDatabase(o)
	if err != nil {
		return err
	}
	d.bolt.NoSync = true // until all of it is there
	whole, last := false, uint64(0)
	end, err := redoEntries(segment, func(kind byte, tx uint64, changes []byte) error {
		whole, last = whole || (kind == redoEndCheckpoint), tx
		return d.Update(func(t *transaction) error { return redo(t, changes) })
	})
	if err == nil {
		err = d.leadsTo(segment, end, last, whole, least)
	}
	if err == nil {
		err = d.bolt.Sync()
	}
	return errors.Join(err, d.Close())
}

// leadsTo checks that a database that was made of a log, up to a place in it, is what was committed.
func (d *database) leadsTo(segment *os.File, end int64, last uint64, whole bool, least committed) error {
	if !whole {
		return errNoLog
	}
	if least.tx > last {
		return fmt.Errorf("its log ends with transaction %d of %d: %w", last, least.tx, ErrDamaged)
	}
	if torn, err := isTorn(segment, end); (err != nil) || (!torn && least.tx == 0) {
		return cmp.Or(err, fmt.Errorf("its log is damaged after transaction %d: %w", last, ErrDamaged))
	}
	return d.View(func(t *transaction) error {
		m := t.Bucket(bMeta)
		if (m == nil) || (least.version == 0) {
			return nil
		}
		live := 0
		if v := m.Get(kLive); len(v) == 8 {
			live = int(binary.BigEndian.Uint64(v))
		}
		if v := m.Get(kPublish); v != nil { // the link may have been moved already
			var p pending
			if err := json.Unmarshal(v, &p); err != nil {
				return fmt.Errorf("publish: %w: %w", errValue, err)
			}
			live = max(live, p.Version.Number)
		}
		if live < least.version {
			return fmt.Errorf("its log ends before version %d was published: %w", least.version, ErrDamaged)
		}
		return nil
	})
}

// isTorn reports whether nothing but the beginning of one entry lies behind a place in a segment, or nothing:
// its writer was killed.
func isTorn(segment *os.File, end int64) (bool, error) {
	fi, err := segment.Stat()
	if err != nil {
		return false, diskErr("read log", err)
	}
	rest := fi.Size() - end
	if rest < redoHeader {
		return true, nil
	}
	var b [redoHeader]byte
	if _, err := segment.ReadAt(b[:], end); err != nil {
		return false, diskErr("read log", err)
	}
	length := int64(binary.LittleEndian.Uint32(b[8:]))
	return (string(b[:4]) == redoMagic) && (length > rest-redoHeader), nil
}
