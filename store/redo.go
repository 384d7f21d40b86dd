// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/store/disk"
	"mirrord/store/record"
)

// follow makes the database what the log in a site's folder says, and has the log record the transactions
// from now on. It must be called before anything is changed.
func (d *database) follow(root *os.Root) (err error) {
	last, known, err := lastOf(d)
	if err != nil {
		return err
	}
	l, segment, err := openRedo(root)
	if err != nil {
		return err
	}
	l.volatile = d.volatile
	if segment != nil && known {
		d.sync(false)
		var batches []journalEntry
		if l.tail, l.base, batches, err = catchUp(d, segment, last, makeAgain); err == nil {
			err = d.journal.open(d, segment, batches)
		}
	}
	switch {
	case l.base > 0 && err == nil:
		l.file = segment
		err = disk.Err("cut log", segment.Truncate(l.tail.size))
	case segment != nil: // of no use, or of another database
		err = errors.Join(err, segment.Close())
	}
	if err != nil {
		return errors.Join(err, l.close())
	}
	l.tail.tx = max(l.tail.tx, last)
	d.redo = l
	d.sync(l.file == nil)
	return nil
}

// lastOf returns the number of the last transaction; known is false for a database of a format before 10,
// which is the truth.
func lastOf(d *database) (number uint64, known bool, err error) {
	err = d.View(func(t *transaction) error {
		if number, known = t.logged(); !known { // its log has the numbers of bbolt
			number = uint64(t.tx.ID())
		}
		return nil
	})
	return number, known, err
}

// sync has the transactions of the database be synced, or not: then the log is.
func (d *database) sync(on bool) {
	d.bolt.NoSync = !on || d.volatile
	d.bolt.NoGrowSync = d.bolt.NoSync
}

// catchUp makes the transactions that a segment has behind the last one of the database. It returns where the
// segment ends, how long its checkpoint is, 0 for one of no use, which does not reach the database, and all
// batches that it has. again makes the changes of a transaction.
func catchUp(
	d *database, segment *os.File, last uint64, again func(d *database, tx uint64, changes []byte) error,
) (tail redoTail, base int64, batches []journalEntry, err error) {
	end, err := redoEntries(segment, func(h redoHead, unpack func() ([]byte, error)) (err error) {
		var changes []byte
		wanted := h.tx >= last && h.isTransaction()
		if wanted {
			if changes, err = unpack(); err != nil {
				return err
			}
		}
		at := tail.size
		tail.size += redoHeader + int64(h.length)
		tail.tx, tail.sum = h.tx, h.sum
		switch {
		case h.isBatch():
			batches = append(batches, journalEntry{tx: h.tx, off: at})
		case h.kind == redoEndCheckpoint && h.tx > last:
			return d.damaged(fmt.Errorf("%w than the checkpoint of its log", errOlder))
		case h.kind == redoEndCheckpoint:
			base = tail.size
		case !wanted:
		case h.tx == last:
			return d.View(func(t *transaction) error { return t.agrees(changes) })
		default:
			return again(d, h.tx, changes)
		}
		return nil
	})
	if errors.Is(err, disk.ErrDamaged) {
		err = d.damaged(err)
	}
	if (err != nil) || (base == 0) || (tail.tx < last) {
		return redoTail{}, 0, batches, err
	}
	rotten, err := isRotten(segment, end)
	if rotten {
		err = d.damaged(fmt.Errorf("it ends with transaction %d, and its log is damaged behind it", tail.tx))
	}
	return tail, base, batches, err
}

// makeAgain makes the changes of an entry.
func makeAgain(d *database, tx uint64, changes []byte) error {
	return d.Update(func(t *transaction) error {
		t.number = tx
		return redo(t, changes)
	})
}

// log writes a transaction into the log. Where the disk has no space for that, the log ends, and the database
// is the truth; but for a journal that is in the log, the log goes.
func (d *database) log(t *transaction) error {
	err := d.redo.append(cmp.Or(t.later, redoTransaction), t.number, t.changes)
	if disk.IsFull(err) {
		if err = d.bolt.Sync(); err == nil {
			d.sync(true)
			err = d.redo.file.Close()
			if d.journal.last() == 0 {
				err = errors.Join(err, d.redo.removeBefore(d.redo.num+1))
			}
			d.redo.file, d.redo.tail.tx = nil, t.number
		}
	}
	return disk.Err("write log", err)
}

// endLog ends the log; a long one is begun again first, for the next time. The database is synced, and the
// log says so: else readers would have to look for what a loss of power did to it.
func endLog(d *database) (err error) {
	if d.redo == nil {
		return nil
	}
	l := d.redo
	d.redo = nil
	if (d.bad.Load() != nil) || (l.file == nil) {
		return l.close()
	}
	if l.isLong() {
		err = d.checkpoint(l)
	}
	if (err == nil) && !d.volatile {
		err = disk.Err("sync "+siteDB, errors.Join(l.sync(), d.bolt.Sync()))
	}
	if err == nil {
		_ = l.write(redoSynced, l.tail.tx, nil) // it only saves time
	}
	return errors.Join(err, l.close())
}

// redoChunk is how many bytes of changes a part of a checkpoint has, about.
const redoChunk = 4 << 20

// checkpoint begins the log again with all that the database holds.
func (d *database) checkpoint(l *redoLog) error {
	return d.View(func(t *transaction) error {
		var batches []journalEntry
		err := l.begin(l.tail.tx, func(next *redoLog) (last []byte, err error) {
			if batches, err = d.journal.copyTo(next); err != nil {
				return nil, err
			}
			return t.dump(func(changes []byte) error { return next.write(redoCheckpoint, l.tail.tx, changes) })
		})
		if err == nil {
			d.sync(false)
			err = d.journal.moved(l.file, batches)
		}
		return err
	})
}

// beginLog begins a log that does not lead to the database. On a full disk the segments that are of no use go
// first; when that does not suffice there is no log until the site is opened again, because gc and other
// commands that free space must be able to open it.
func (d *database) beginLog() error {
	err := d.checkpoint(d.redo)
	if disk.IsFull(err) && d.journal.last() == 0 {
		if err = d.redo.removeBefore(d.redo.num + 1); err == nil {
			err = d.checkpoint(d.redo)
		}
	}
	if disk.IsFull(err) {
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
var errNoLog = fmt.Errorf("its log has no whole checkpoint: %w", disk.ErrDamaged)

// Redo makes the database of a site again from its log, with all that it had; why is its defect.
// The damaged one goes to the folder "damaged". The error is ErrNoSite, ErrLocked while a process has the
// site open, or an ErrDamaged when the log does not lead to a database; then nothing was changed.
func Redo(s *State, name string, why error) (err error) {
	defer explain(&err, "make the database of %s again from its log", name)
	root, err := siteRoot(s, name)
	if err != nil {
		return err
	}
	defer root.Close()
	lock, err := s.lockSite(name)
	if err != nil {
		return err
	}
	defer lock.Close()
	segment, err := lastSegment(root)
	if err != nil {
		return err
	}
	defer segment.Close()
	if _, err := cutLog(s, root, name); err != nil {
		return err
	}
	o := doorOptions{
		path:  filepath.Join(s.Dir, "sites", name, siteDB),
		site:  name,
		mode:  0o640,
		depth: 1,
	}
	version := publishedIn(root)
	if err := o.makeNext(func(d *database) error { return redoAll(d, segment, version) }); err != nil {
		return err
	}
	aside := ""
	if _, err = root.Lstat(siteDB); err == nil {
		if aside, err = asideFolder(root); err == nil {
			err = root.Rename(siteDB, aside+"/"+siteDB)
		}
	}
	if (err == nil) || errors.Is(err, fs.ErrNotExist) {
		err = o.takeName()
	}
	if err == nil {
		s.opt.Log.Warn("site.db was damaged or an older copy; it was made again from its log, and nothing is lost",
			"site", name, "err", why, "aside", aside)
		if err := noteRedone(root, s.opt.Now(), why, aside); err != nil { // only the message is lost
			s.opt.Log.Warn("that was not noted", "site", name, "err", err)
		}
	}
	return disk.Err("replace "+siteDB, err)
}

// noteRedone keeps that a database was made again, for reports to users.
func noteRedone(root *os.Root, at time.Time, why error, aside string) error {
	r := Redone{At: at.UTC(), Why: fmt.Sprint(why), Aside: aside}
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return disk.Replace(root, redoneName, v, 0o644, true)
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

// publishedIn returns the version that is published of a site in its folder; 0: not known.
func publishedIn(root *os.Root) (version int) {
	version = linkedVersion(root)
	if tree, err := (regular.Root{Root: root}).OpenRoot(currentLink); err == nil {
		if m, err := phm.OpenMeta(tree.FS()); err == nil {
			version = max(version, m.Version)
		}
		tree.Close()
	}
	return version
}

// redoAll fills a new database from a segment of a log. A log that ends before a version that is published, or
// has lost entries in its middle, is an ErrDamaged.
func redoAll(d *database, segment *os.File, version int) error {
	whole, last := false, uint64(0)
	end, err := redoEntries(segment, func(h redoHead, unpack func() ([]byte, error)) error {
		changes, err := unpack()
		if err != nil {
			return err
		}
		whole, last = whole || (h.kind == redoEndCheckpoint), h.tx
		if h.isBatch() {
			return nil
		}
		return makeAgain(d, h.tx, changes)
	})
	if err != nil {
		return err
	}
	return leadsTo(d, segment, end, last, whole, version)
}

// leadsTo checks that a database that was made of a log, up to a place in it, is what was committed.
func leadsTo(d *database, segment *os.File, end int64, last uint64, whole bool, version int) error {
	if !whole {
		return errNoLog
	}
	if rotten, err := isRotten(segment, end); (err != nil) || rotten {
		return cmp.Or(err, fmt.Errorf("its log is damaged after transaction %d: %w", last, disk.ErrDamaged))
	}
	return d.View(func(t *transaction) error {
		m := t.Bucket(bMeta)
		if (m == nil) || (version == 0) {
			return nil
		}
		n, _ := m.number(kLive)
		live := int(n)
		if v := m.Get(kPublish); v != nil { // the link may have been moved already
			var p pending
			if err := json.Unmarshal(v, &p); err != nil {
				return fmt.Errorf("publish: %w: %w", record.ErrValue, err)
			}
			live = max(live, p.Version.Number)
		}
		if live < version {
			return fmt.Errorf("its log ends before version %d was published: %w", version, disk.ErrDamaged)
		}
		return nil
	})
}
