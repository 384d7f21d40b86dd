// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// follow lets the log in a site's folder take what is written from now on. It must be called before anything
// is. A site that lives for one run has no log.
func (d *database) follow(root *os.Root) (err error) {
	tx := uint64(0)
	err = d.View(func(t *transaction) error {
		if t.sealed { // a log beside another database is not its log
			tx = uint64(t.tx.ID())
		}
		return nil
	})
	if (err == nil) && ((tx > 0) || !d.volatile) {
		d.redo, err = openRedo(root, tx)
	}
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

// Redo makes the database of a site again from its log, with all that it had; why is what is wrong with it.
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
	if err := redoInto(o, segment); err != nil {
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
	if err == nil {
		s.opt.Log.Warn("site.db was damaged; it was made again from its log, and nothing is lost",
			"site", name, "err", why, "aside", aside)
	}
	return diskErr("replace "+siteDB, err)
}

// asideFolder makes a folder for what is taken out of use.
func asideFolder(root *os.Root) (name string, err error) {
	name = damagedFolder
	for n := 2; ; n++ {
		if err := root.Mkdir(name, 0o755); !errors.Is(err, fs.ErrExist) {
			return name, err
		}
		name = fmt.Sprintf("%s-%d", damagedFolder, n)
	}
}

// redoInto makes a database of a segment of a log.
func redoInto(o doorOptions, segment *os.File) (err error) {
	d, err := openDatabase(o)
	if err != nil {
		return err
	}
	d.bolt.NoSync = true // until all of it is there
	whole := false
	_, err = redoEntries(segment, func(kind byte, _ uint64, changes []byte) error {
		whole = whole || (kind == redoEndCheckpoint)
		return d.Update(func(t *transaction) error { return redo(t, changes) })
	})
	if (err == nil) && !whole {
		err = errNoLog
	}
	if err == nil {
		err = d.bolt.Sync()
	}
	return errors.Join(err, d.Close())
}
