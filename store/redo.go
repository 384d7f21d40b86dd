// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/trees"
)

// Redo makes the database of a site again from its log, with all that it had; why is its defect.
// The damaged one goes to the folder "damaged". The error is ErrNoSite, ErrLocked while a process has the
// site open, or an ErrDamaged when the log does not lead to a database; then nothing was changed.
func Redo(s *State, name string, why error) (err error) {
	defer explain(&err, "make the database of %s again from its log", name)
	root, err := s.SiteRoot(name)
	if err != nil {
		return err
	}
	defer root.Close()
	lock, err := s.HoldSite(name)
	if err != nil {
		return err
	}
	defer lock.Close()
	segment, err := log.LastOf(root)
	if err != nil {
		return err
	}
	defer segment.Close()
	if _, err := cutLog(s, root, name); err != nil {
		return err
	}
	o := db.Options{
		Path:  filepath.Join(s.Dir, "sites", name, home.SiteDB),
		Site:  name,
		Mode:  0o640,
		Depth: 1,
	}
	whole, err := log.Read(segment)
	if err != nil {
		return err
	}
	version := trees.LinkedVersion(root)
	if err := o.MakeNext(func(d *db.DB) error { return redoTo(d, whole, version) }); err != nil {
		return err
	}
	aside := ""
	if _, err = root.Lstat(home.SiteDB); err == nil {
		if aside, err = asideFolder(root); err == nil {
			err = root.Rename(home.SiteDB, aside+"/"+home.SiteDB)
		}
	}
	if (err == nil) || errors.Is(err, fs.ErrNotExist) {
		err = o.TakeName()
	}
	if err == nil {
		s.opt.Log.Warn("site.db was damaged or an older copy; it was made again from its log, and nothing is lost",
			"site", name, "err", why, "aside", aside)
		if err := noteRedone(root, s.Now(), why, aside); err != nil { // only the message is lost
			s.opt.Log.Warn("that was not noted", "site", name, "err", err)
		}
	}
	return disk.Err("replace "+home.SiteDB, err)
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
	name = home.DamagedFolder
	for n := 2; ; n++ {
		if err := root.Mkdir(name, 0o755); !errors.Is(err, fs.ErrExist) {
			return name, err
		}
		name = fmt.Sprintf("%s-%d", home.DamagedFolder, n)
	}
}

// DropDamaged removes what Rebuild took out of use.
func DropDamaged(s *Site) error {
	aside, err := fs.Glob(s.Root.FS(), home.DamagedFolder+"*")
	if err != nil {
		return err
	}
	for _, name := range aside {
		if name == damagedName || name == wrongName {
			continue // notes
		}
		if err := s.Root.RemoveAll(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return disk.Err("drop damaged files", err)
		}
	}
	return s.SyncFolder()
}

// redoTo fills a new database from a segment of a log. A log that ends before a version that is published, or
// has lost entries in its middle, is an ErrDamaged.
func redoTo(d *db.DB, s *log.Readable, version int) error {
	if err := db.RedoAll(d, s); err != nil {
		return err
	}
	return d.View(func(t *db.Tx) error {
		if (t.Bucket(home.Versions) == nil) || (version == 0) {
			return nil
		}
		last, err := trees.LastKnown(t)
		if err == nil && last < version {
			err = fmt.Errorf("its log ends before version %d was published: %w", version, disk.ErrDamaged)
		}
		return err
	})
}

// upToDate returns the database that a reader gets of a site: d, or err, when its writer has closed it, or
// has it open. Else a loss of power may have cost what was not synced: when d is not what the log says, one
// is made of the log.
func upToDate(s *State, root *os.Root, o db.Options, d *db.DB, err error) (*db.DB, error) {
	damaged := errors.Is(err, disk.ErrDamaged) || errors.Is(err, fs.ErrNotExist)
	if (d == nil && !damaged) || db.IsWritten(root) || (d != nil && d.Busy) || log.IsClean(root) {
		return d, err
	}
	segment, serr := log.LastOf(root)
	if serr != nil {
		return d, err
	}
	defer segment.Close()
	cut := false
	whole, nerr := log.Read(segment)
	if nerr == nil {
		_, cut, nerr = counted(s, root, o.Site, whole)
	}
	if d != nil && nerr == nil {
		if nerr = db.IsUpTo(d, whole, cut); nerr == nil {
			return d, nil
		}
		if err = nerr; errors.Is(nerr, db.ErrBehind) || errors.Is(nerr, disk.ErrDamaged) {
			nerr = nil
		}
	}
	if d != nil {
		nerr = errors.Join(nerr, d.Close())
	}
	if nerr != nil {
		return nil, errors.Join(err, nerr)
	}
	version := trees.LinkedVersion(root)
	return o.InScratch(d, func(next *db.DB) error { return redoTo(next, whole, version) })
}
