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
	"mirrord/store/log"
)

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
	segment, err := log.LastOf(root)
	if err != nil {
		return err
	}
	defer segment.Close()
	if _, err := cutLog(s, root, name); err != nil {
		return err
	}
	o := db.Options{
		Path:  filepath.Join(s.Dir, "sites", name, siteDB),
		Site:  name,
		Mode:  0o640,
		Depth: 1,
	}
	whole, err := log.Read(segment)
	if err != nil {
		return err
	}
	version := linkedVersion(root)
	if err := o.MakeNext(func(d *db.DB) error { return redoTo(d, whole, version) }); err != nil {
		return err
	}
	aside := ""
	if _, err = root.Lstat(siteDB); err == nil {
		if aside, err = asideFolder(root); err == nil {
			err = root.Rename(siteDB, aside+"/"+siteDB)
		}
	}
	if (err == nil) || errors.Is(err, fs.ErrNotExist) {
		err = o.TakeName()
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

// redoTo fills a new database from a segment of a log. A log that ends before a version that is published, or
// has lost entries in its middle, is an ErrDamaged.
func redoTo(d *db.DB, s *log.Readable, version int) error {
	if err := db.RedoAll(d, s); err != nil {
		return err
	}
	return d.View(func(t *db.Tx) error {
		if (t.Bucket(bVersions) == nil) || (version == 0) {
			return nil
		}
		last, err := lastKnown(t)
		if err == nil && last < version {
			err = fmt.Errorf("its log ends before version %d was published: %w", version, disk.ErrDamaged)
		}
		return err
	})
}
