// SPDX-License-Identifier: Apache-2.0

// Package travel is the room of package store that has what moves a site to another machine, or a part of
// the state: the files that go, from a view of it, and the folder in which a site arrives.
package travel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mirrord/internal/dbpages"
	"mirrord/store/away"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/shared"
	"mirrord/store/trees"
)

// DepotNotes is the file of a site's folder in which its depots are noted. It stays on its machine.
const DepotNotes = "depots.json"

// travels reports whether a file or folder of a site's folder goes where the site goes. Published trees are
// made again, and so is the log, unless it has results of an unfinished run; files of older formats, and what
// was set aside, are of use here only. The database comes from the view.
func travels(name string) bool {
	switch name {
	case trees.Dir, trees.VersionsDir, trees.CurrentLink, log.Folder, db.LockName, home.DamagedFolder,
		home.GlanceFile, DepotNotes, away.FileName, home.SiteDB:
		return false
	}
	return name[0] != '.' && !strings.HasPrefix(name, home.SiteDB+".")
}

// File is a file that goes where a site goes, or where the state goes.
type File struct {
	Name string // in the folder of the site, slash-separated
	Info fs.FileInfo
	*os.File
}

// Size is how long the file was when it was opened. It may be longer now.
func (f *File) Size() int64 { return f.Info.Size() }

// Departure is a site as of its last commit, with all files that go where it goes. Derived files are not
// among them. The database comes last.
type Departure struct {
	Viewed
	Files   []File
	Tx      uint64 // the last transaction of the database
	Token   uint64 // that the last lease has left in it
	Version int    // the last one, 0 for none
}

// Viewed is a site that is open for reading.
type Viewed struct {
	*facts.Records
	Packs *bodies.Packs
	Away  *away.Site // what a depot has of it; nil for nothing
	Close func() error
}

// errUnsettled says that packs were removed while they were opened.
var errUnsettled = fmt.Errorf("packs are being collected: %w", db.ErrBusy)

// Depart opens a site for travelling, also while a run writes it; view opens it for reading. Packs and heads
// are only added to, but by a collection: files that go meanwhile make another attempt.
func Depart(s *home.StateFolder, name string, view func() (Viewed, error)) (d *Departure, err error) {
	for range 20 {
		if d, err = depart(s, name, view); !errors.Is(err, errUnsettled) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", name, err)
	}
	return d, nil
}

func depart(s *home.StateFolder, name string, view func() (Viewed, error)) (_ *Departure, err error) {
	if err := home.CheckName(name); err != nil {
		return nil, err
	}
	before, err := travelNames(s, name)
	if err != nil {
		return nil, err
	}
	v, err := view()
	if err != nil {
		return nil, err
	}
	d := &Departure{Viewed: v}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	names, err := travelNames(s, name)
	if err != nil {
		return nil, err
	}
	for _, file := range names {
		if err := d.add(file); err != nil {
			return nil, err
		}
	}
	if b := d.DB.Journal.Now(); b.Segment != nil {
		if err := d.add(log.Folder + "/" + filepath.Base(b.Segment.Name())); err != nil {
			return nil, err
		}
	}
	for _, file := range before { // the view may refer to it
		data := strings.HasPrefix(file, "packs/") || strings.HasPrefix(file, "heads.")
		if data && !slices.ContainsFunc(d.Files, func(f File) bool { return f.Name == file }) {
			return nil, errUnsettled
		}
	}
	head, err := dbpages.ReadCommit(d.DB.File)
	if err != nil {
		return nil, d.DB.Damaged(err)
	}
	fi, err := d.DB.File.Stat()
	if err != nil {
		return nil, disk.Err("look at "+home.SiteDB, err)
	}
	d.Tx = head.Tx
	d.Files = append(d.Files, File{Name: home.SiteDB, Info: fi, File: d.DB.File})
	return d, d.DB.View(func(tx *db.Tx) (err error) {
		d.Token = home.TokenIn(tx.Meta())
		d.Version, err = trees.LastKnown(tx)
		return err
	})
}

// add opens a file; one that went meanwhile is left out.
func (d *Departure) add(name string) error {
	f, err := openFile(d.Root, name)
	if err == nil {
		d.Files = append(d.Files, f)
	}
	return disk.Err("open "+name, disk.UnlessGone(err))
}

func openFile(root *os.Root, name string) (File, error) {
	f, err := root.Open(name)
	if err != nil {
		return File{}, err
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close() // it was not read
	}
	return File{Name: name, Info: fi, File: f}, err
}

// travelNames lists the files of a site's folder that travel, sorted.
func travelNames(s *home.StateFolder, site string) (names []string, err error) {
	dir := "sites/" + site
	err = fs.WalkDir(s.Root.FS(), dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name := strings.TrimPrefix(path, dir+"/")
		if !travels(name) && !strings.Contains(name, "/") {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if e.Type().IsRegular() {
			names = append(names, name)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, home.ErrNoSite
	}
	return names, disk.Err("list site", err)
}

// Close lets go of the site and its files.
func (d *Departure) Close() (err error) {
	for _, f := range d.Files {
		if f.Name != home.SiteDB { // which belongs to the view
			err = errors.Join(err, f.File.Close())
		}
	}
	return errors.Join(err, d.Viewed.Close())
}

// PackNumber is the number of the pack that is a file of a site's folder; 0 for another file.
func PackNumber(file string) uint32 {
	name, _ := strings.CutPrefix(file, "packs/")
	return disk.NumberOf(name, bodies.PackName)
}

// Left reports whether a check-out left a part of a file in the depot, with those bytes: they count,
// regardless of the local file.
func (d *Departure) Left(file string, from, size int64, digest away.SHA256) bool {
	num := PackNumber(file)
	return num > 0 && d.Away.Left(num, from, size, digest)
}

// Bring makes a range of a file be here.
func (d *Departure) Bring(file string, from, to int64) error {
	if num := PackNumber(file); num > 0 {
		return d.Packs.Bring(num, from, to)
	}
	return nil
}

// LastTransaction is the number of the last transaction of a site's database; 0 when it has none.
func LastTransaction(s *home.StateFolder, name string) (uint64, error) {
	f, err := s.Root.Open("sites/" + name + "/" + home.SiteDB)
	if err != nil {
		return 0, disk.Err("open "+home.SiteDB, disk.UnlessGone(err))
	}
	defer f.Close()
	head, err := dbpages.ReadCommit(f)
	return head.Tx, err
}

// OpenShared opens the files of a state that belong to no site: mirror.db as of its last commit, and what
// lies beside it. Sockets, locks and what was set aside are left out. done lets go of them.
func OpenShared(s *home.StateFolder, of *shared.Database) (files []File, done func() error, err error) {
	var d *db.DB
	done = func() (err error) {
		for _, f := range files {
			if f.Name != shared.FileName {
				err = errors.Join(err, f.File.Close())
			}
		}
		if d != nil {
			err = errors.Join(err, d.Close())
		}
		return err
	}
	entries, err := fs.ReadDir(s.Root.FS(), ".")
	for _, e := range entries {
		own := strings.HasPrefix(e.Name(), shared.FileName) || strings.HasSuffix(e.Name(), ".lock") ||
			e.Name()[0] == '.' || e.Name() == DepotNotes
		if err != nil || own || !e.Type().IsRegular() {
			continue
		}
		var f File
		if f, err = openFile(s.Root, e.Name()); err == nil {
			files = append(files, f)
		}
	}
	if err == nil {
		if d, err = of.Copy(); errors.Is(err, shared.ErrNone) {
			return files, done, nil
		}
	}
	if err == nil {
		var fi fs.FileInfo
		if fi, err = d.File.Stat(); err == nil {
			files = append(files, File{Name: shared.FileName, Info: fi, File: d.File})
		}
	}
	if err != nil {
		return nil, nil, errors.Join(disk.Err("open shared files", err), done())
	}
	return files, done, nil
}
