// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mirrord/internal/dbpages"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/record"
	"mirrord/store/shared"
	"mirrord/store/trees"
)

// DepotNotes is the file of a site's folder in which its depots are noted. It stays on its machine.
const DepotNotes = "depots.json"

// travels reports whether a file or folder of a site's folder goes where the site goes. Published trees are
// made again, and so is the log, unless it has results of an unfinished run; files of older formats, and what
// was set aside, are of use here only.
func travels(name string) bool {
	switch name {
	case trees.Dir, trees.VersionsDir, trees.CurrentLink, log.Folder, db.LockName, damagedFolder, DepotNotes,
		AwayName, glanceName:
		return false
	}
	return name[0] != '.' && !strings.HasPrefix(name, home.SiteDB+".")
}

// TravelFile is a file that goes where a site goes, or where the state goes.
type TravelFile struct {
	Name string // in the folder of the site, slash-separated
	Info fs.FileInfo
	*os.File
}

// Size is how long the file was when it was opened. It may be longer now.
func (f *TravelFile) Size() int64 { return f.Info.Size() }

// Travelling is a site as of its last commit, with all files that go where it goes. Derived files are not
// among them. The database comes last.
type Travelling struct {
	*Site
	Files []TravelFile
	Tx    uint64 // the last transaction of the database
	Token uint64 // that the last lease has left in it
}

// errUnsettled says that packs were removed while they were opened.
var errUnsettled = fmt.Errorf("packs are being collected: %w", db.ErrBusy)

// OpenTravelling opens a site for travelling, also while a run writes it. Packs and heads are only added to,
// but by a collection: files that go meanwhile make another attempt.
func OpenTravelling(s *State, name string) (t *Travelling, err error) {
	for range 20 {
		if t, err = openTravelling(s, name); !errors.Is(err, errUnsettled) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", name, err)
	}
	return t, nil
}

func openTravelling(s *State, name string) (_ *Travelling, err error) {
	if err := home.CheckName(name); err != nil {
		return nil, err
	}
	dir := "sites/" + name
	before, err := travelNames(s.Root.FS(), dir)
	if err != nil {
		return nil, err
	}
	view, err := s.ViewSite(name)
	if err != nil {
		return nil, err
	}
	t := &Travelling{Site: view}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	names, err := travelNames(s.Root.FS(), dir)
	if err != nil {
		return nil, err
	}
	for _, file := range names {
		if file != home.SiteDB {
			if err := t.add(file); err != nil {
				return nil, err
			}
		}
	}
	if segment, batches := view.DB.Journal.List(); len(batches) > 0 {
		if err := t.add(log.Folder + "/" + filepath.Base(segment.Name())); err != nil {
			return nil, err
		}
	}
	for _, file := range before { // the view may refer to it
		data := strings.HasPrefix(file, "packs/") || strings.HasPrefix(file, "heads.")
		if data && !slices.ContainsFunc(t.Files, func(f TravelFile) bool { return f.Name == file }) {
			return nil, errUnsettled
		}
	}
	head, err := dbpages.ReadCommit(view.DB.File)
	if err != nil {
		return nil, view.DB.Damaged(err)
	}
	fi, err := view.DB.File.Stat()
	if err != nil {
		return nil, disk.Err("look at "+home.SiteDB, err)
	}
	t.Tx = head.Tx
	t.Files = append(t.Files, TravelFile{Name: home.SiteDB, Info: fi, File: view.DB.File})
	return t, view.DB.View(func(tx *db.Tx) error {
		t.Token = home.TokenIn(tx.Meta())
		return nil
	})
}

// add opens a file; one that went meanwhile is left out.
func (t *Travelling) add(name string) error {
	f, err := openTravel(t.Root, name)
	if err == nil {
		t.Files = append(t.Files, f)
	}
	return disk.Err("open "+name, disk.UnlessGone(err))
}

// openTravel opens a file that goes where a site or the state goes.
func openTravel(root *os.Root, name string) (TravelFile, error) {
	f, err := root.Open(name)
	if err != nil {
		return TravelFile{}, err
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close() // it was not read
	}
	return TravelFile{Name: name, Info: fi, File: f}, err
}

// travelNames lists the files of a site's folder that travel, sorted.
func travelNames(fsys fs.FS, dir string) (names []string, err error) {
	err = fs.WalkDir(fsys, dir, func(path string, e fs.DirEntry, err error) error {
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
func (t *Travelling) Close() error {
	var errs []error
	for _, f := range t.Files {
		if f.Name != home.SiteDB { // which belongs to the view
			errs = append(errs, f.File.Close())
		}
	}
	return errors.Join(append(errs, t.Site.Close())...)
}

// Published is the number of the last version, 0 for none.
func (t *Travelling) Published() (int, error) {
	vs, err := t.Versions.List()
	if err != nil || len(vs) == 0 {
		return 0, err
	}
	return vs[len(vs)-1].Number, nil
}

// UsedBodies calls f for each body that is published as it came and that a record, a kept version or the
// unfinished run refers to, in order of digests.
func UsedBodies(ctx context.Context, s *Site, f func(digest [32]byte) error) error {
	var used [][32]byte
	err := s.Records.Bodied(ctx, func(r *record.Resource, _ bool) error {
		if r.Body == record.BlobBody {
			used = append(used, r.Digest)
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(used, func(a, b [32]byte) int { return slices.Compare(a[:], b[:]) })
	for _, digest := range slices.Compact(used) {
		if err := f(digest); err != nil {
			return err
		}
	}
	return nil
}

// LastTransaction is the number of the last transaction of a site's database; 0 when it has none.
func LastTransaction(s *State, name string) (uint64, error) {
	f, err := s.Root.Open("sites/" + name + "/" + home.SiteDB)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, disk.Err("open "+home.SiteDB, err)
	}
	defer f.Close()
	head, err := dbpages.ReadCommit(f)
	return head.Tx, err
}

// OpenShared opens the files of a state that belong to no site: mirror.db as of its last commit, and what
// lies beside it. Sockets, locks and what was set aside are left out. done lets go of them.
func OpenShared(s *State) (files []TravelFile, done func() error, err error) {
	var d *db.DB
	done = func() error {
		var errs []error
		for _, f := range files {
			if f.Name != shared.FileName {
				errs = append(errs, f.File.Close())
			}
		}
		if d != nil {
			errs = append(errs, d.Close())
		}
		return errors.Join(errs...)
	}
	entries, err := fs.ReadDir(s.Root.FS(), ".")
	for _, e := range entries {
		own := strings.HasPrefix(e.Name(), shared.FileName) || strings.HasSuffix(e.Name(), ".lock") ||
			e.Name()[0] == '.' || e.Name() == DepotNotes
		if err != nil || own || !e.Type().IsRegular() {
			continue
		}
		var f TravelFile
		if f, err = openTravel(s.Root, e.Name()); err == nil {
			files = append(files, f)
		}
	}
	if err == nil {
		if d, err = s.Shared.Copy(); errors.Is(err, shared.ErrNone) {
			return files, done, nil
		}
	}
	if err == nil {
		var fi fs.FileInfo
		if fi, err = d.File.Stat(); err == nil {
			files = append(files, TravelFile{Name: shared.FileName, Info: fi, File: d.File})
		}
	}
	if err != nil {
		return nil, nil, errors.Join(disk.Err("open shared files", err), done())
	}
	return files, done, nil
}
