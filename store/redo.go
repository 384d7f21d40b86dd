// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/pages"
	"mirrord/store/trees"
)

// Redo makes the database of a site again from its log, with all that it had; why is its defect.
// The damaged one goes to the folder "damaged". The error is ErrNoSite, ErrLocked while a process has the
// site open, or an ErrDamaged when the log does not lead to a database; then nothing was changed.
func Redo(s *State, name string, why error) (err error) {
	defer disk.Explain(&err, "make the database of %s again from its log", name)
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
		v, err := json.Marshal(Redone{At: s.Now().UTC(), Why: fmt.Sprint(why), Aside: aside})
		if err == nil {
			err = disk.Replace(root, redoneName, v, 0o644, true)
		}
		if err != nil { // only the message is lost
			s.opt.Log.Warn("that was not noted", "site", name, "err", err)
		}
	}
	return disk.Err("replace "+home.SiteDB, err)
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

func DropDamaged(s *Site) error {
	aside, err := fs.Glob(s.Root.FS(), home.DamagedFolder+"*")
	if err != nil {
		return err
	}
	for _, name := range aside {
		if name == damagedName || name == wrongName {
			continue // notes
		}
		if err := s.Root.RemoveAll(name); err != nil {
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

// Rebuild makes the database of a site again from its published tree, when site.db cannot be read.
// The mirror stays published and keeps its version, its mirror paths, and the bodies that are blobs.
// The next run requests documents again, because the links that were stored beside them name URLs by
// numbers of the lost database. The history is lost. The old database and packs are moved to a folder
// "damaged". Until the new one is complete it counts as damaged too, so that Rebuild can be called again
// after a crash. It returns how many URLs are known again; ErrLocked while a process has the site open. A
// published tree that cannot be read is an error too, before anything is changed.
func (s *State) Rebuild(name string) (known int, err error) {
	defer disk.Explain(&err, "rebuild site %s", name)
	root, err := s.SiteRoot(name)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	if err := readable(root); err != nil {
		return 0, err
	}
	last, err := s.setAside(name, root)
	if err != nil {
		return 0, err
	}
	st, err := s.openSite(name, rebuilding)
	if err != nil {
		return 0, err
	}
	if err = st.Frames.Skip(last); err == nil {
		known, err = st.Refill()
	}
	return known, errors.Join(err, st.Close())
}

// readable reports whether the published tree of a site, if there is one, can be made records of.
func readable(site *os.Root) error {
	tree, err := regular.Root{Root: site}.OpenRoot(trees.CurrentLink)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return disk.Err("open current", err)
	}
	defer tree.Close()
	if _, err := phm.OpenMeta(tree.FS()); err != nil {
		return err
	}
	if _, err := tree.Stat(phm.FilesName); err != nil {
		return fmt.Errorf("%w: %v", disk.ErrDamaged, err)
	}
	return nil
}

// setAside moves the database and the packs of a site out of use, and returns the number of the last pack.
// The packs go first: as long as the database is there, so is what calls for a rebuild.
func (s *State) setAside(name string, root *os.Root) (last uint32, err error) {
	lock, err := s.HoldSite(name)
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	aside, err := asideFolder(root)
	packs, _ := disk.NumbersIn(root, "packs", bodies.PackName) // a missing one has no number
	if n := len(packs); n > 0 {
		last = packs[n-1]
	}
	names := []string{"packs", log.Folder, pages.DigestsFile, pages.TextsFile}
	heads, _ := disk.NumbersIn(root, ".", bodies.HeadsFile)
	for _, n := range heads {
		names = append(names, bodies.HeadsFile(n))
	}
	for _, f := range append(names, home.SiteDB) {
		if _, lerr := root.Lstat(f); (err == nil) && !errors.Is(lerr, fs.ErrNotExist) {
			err = root.Rename(f, aside+"/"+f)
		}
	}
	return last, disk.Err("set aside", err)
}

// Unreadable returns a *DatabaseError that says why only Redo or Rebuild helps a site's database: its pages
// or values are damaged, or it is an older copy; nil when it is whole. The error is that ctx ended,
// ErrNoSite, or ErrLocked while a process writes the site.
func (s *State) Unreadable(ctx context.Context, name string) (why, err error) {
	site, err := s.openSite(name, reading)
	if _, ok := errors.AsType[*db.DatabaseError](err); ok {
		return err, nil
	}
	if err != nil {
		return nil, err
	}
	bad, err := site.Unreadable(ctx)
	if bad {
		why = site.DB.Damaged(errors.New("it cannot be read"))
	}
	return why, errors.Join(err, site.Close())
}
