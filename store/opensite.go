// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/record"
	"mirrord/store/trees"
	"mirrord/store/upkeep"
)

// mmapBytes is the address space that is reserved for a database, so that growing it never waits for readers:
// 4 GiB where addresses have 64 bits, else 64 MiB.
const mmapBytes = 1 << (26 + 6*(^uint(0)>>63))

// OpenSite opens a site for writing and makes it when it does not exist. Another process that has it open is
// ErrLocked. A database that is damaged, missing, or older than the published version, is made again from its
// log first: nothing is lost.
func (s *State) OpenSite(name string) (*Site, error) {
	st, err := s.openSite(name, writing)
	damaged, ok := errors.AsType[*db.DatabaseError](err)
	if !ok || (damaged.Site != name) {
		return st, err
	}
	if rerr := Redo(s, name, err); rerr != nil {
		if !errors.Is(rerr, disk.ErrDamaged) { // else the first error says what to do
			err = errors.Join(err, rerr)
		}
		return nil, err
	}
	return s.openSite(name, writing)
}

// openMode is what a site is opened for.
type openMode int

const (
	reading openMode = iota // while no process writes
	viewing                 // reading, beside a writer
	writing
	rebuilding // writing, and a database that is missing beside a published tree is made
)

func (m openMode) readOnly() bool { return m == reading || m == viewing }

func (s *State) openSite(name string, mode openMode) (_ *Site, err error) {
	defer disk.Explain(&err, "open site %s", name)
	open := s.acquire
	if mode.readOnly() {
		open = s.openFolder
	}
	folder, err := open(name, mode)
	if err != nil {
		return nil, err
	}
	st := &Site{Site: upkeep.Site{Folder: folder.Folder, Kept: s.Bodies}, spool: s.Spool}
	st.Shown = func() { st.glancer.note(st.Folder, true) }
	packs, left, err := packsOf(s, st.Root, name)
	if errors.Is(err, fs.ErrNotExist) { // a rebuild ended early, or the file was removed
		err = st.DB.Damaged(errors.New("the folder packs beside it is missing"))
	}
	if err != nil {
		return nil, errors.Join(err, st.Release())
	}
	st.Away, st.Frames = left, &bodies.Frames{Packs: packs, Plain: st.OneOff}
	if st.Heads, err = st.Frames.OpenHeads(st.Root); err != nil {
		return nil, errors.Join(err, packs.Close(), st.Release())
	}
	if s.opt.PackSize > 0 {
		packs.Max = s.opt.PackSize
	}
	st.makeParts()
	if !st.ReadOnly {
		if err := st.spool.Hold(); err != nil {
			st.Close()
			return nil, err
		}
		st.holds = true
	}
	if err := st.start(folder); err != nil {
		st.Close()
		return nil, err
	}
	return st, nil
}

// opening is the folder of a site with its database, which is locked.
type opening struct {
	*home.Folder
	mode      openMode
	published bool // some version is
	logged    bool // there is a log
}

// acquire makes the caller the only writer of a site on this machine, and makes the site when it does not
// exist. One that cannot be used is a *DatabaseError.
func (s *State) acquire(name string, mode openMode) (*opening, error) {
	lease, err := home.Acquire(s.Owner, name)
	if err != nil {
		return nil, err
	}
	f, err := s.openFolder(name, mode)
	if err != nil {
		return nil, errors.Join(err, lease.Release())
	}
	f.Lease = lease
	if err = f.catchUp(s); err != nil {
		return nil, errors.Join(err, f.Release())
	}
	return f, nil
}

// catchUp makes a database that is whole follow its log, and the present format.
func (f *opening) catchUp(s *State) error {
	if err := f.DB.View(f.checkWhole); err != nil { // before anything is changed
		return err
	}
	last, known, err := db.Last(f.DB)
	if err != nil {
		return err
	}
	if end, err := cutLog(s, f.Root, f.Name); err != nil {
		return err
	} else if (end > 0) && known && (last > end) {
		return f.DB.Damaged(db.ErrNoBodies)
	}
	if err := f.DB.Follow(f.Root); err != nil {
		return err
	}
	return disk.Err("open "+home.SiteDB, f.DB.Update(func(tx *db.Tx) error {
		if err := f.renew(tx); err != nil {
			return err
		}
		return f.Lease.Take(tx)
	}))
}

func (s *State) openFolder(name string, mode openMode) (*opening, error) {
	if err := home.CheckName(name); err != nil {
		return nil, err
	}
	dir := "sites/" + name
	if err := leadsOut(s, dir); err != nil {
		return nil, err
	}
	if !mode.readOnly() {
		for _, d := range []string{dir + "/packs", dir + "/trees"} {
			if err := s.Root.MkdirAll(d, 0o755); err != nil {
				return nil, disk.Err("make folder", err)
			}
		}
	}
	root, err := s.SiteRoot(name)
	if err != nil {
		return nil, err
	}
	f := &opening{mode: mode, logged: log.Has(root)}
	f.Folder = &home.Folder{
		Name:     name,
		Dir:      filepath.Join(s.Dir, "sites", name),
		Volatile: s.Volatile,
		OneOff:   s.opt.OneOff,
		ReadOnly: mode.readOnly(),
		Now:      s.Now,
		Root:     root,
	}
	_, cerr := root.Lstat(trees.CurrentLink)
	f.published = !errors.Is(cerr, fs.ErrNotExist)
	if f.DB, err = s.openDB(f); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return f, nil
}

func (s *State) openDB(f *opening) (d *db.DB, err error) {
	mode, root := f.mode, f.Root
	o := db.Options{
		Path:     filepath.Join(f.Dir, home.SiteDB),
		Site:     f.Name,
		Mode:     0o640,
		Wait:     s.opt.Wait,
		Depth:    1,
		ReadOnly: f.ReadOnly,
		Volatile: s.Volatile,
		Fresh:    mode == rebuilding || (mode == writing && !f.published && !f.logged),
		Shared:   true,
	}
	o.Busy = f.ReadOnly && db.IsWritten(root)
	if mode == reading && o.Busy {
		return nil, disk.ErrLocked
	}
	if mode == viewing {
		o.Wait = db.ViewFor
	}
	if f.ReadOnly {
		o.Known = &s.checked
	} else {
		o.Mmap = mmapBytes
	}
	for ok := false; !ok && (err == nil); {
		d, err = db.Open(o)
		if mode == viewing && f.logged {
			d, err = upToDate(s, root, o, d, err)
		}
		if ok = !f.ReadOnly; !ok && (err == nil) {
			if ok, err = openJournal(s, root, d); !ok || (err != nil) {
				err = errors.Join(err, d.Close())
			}
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		_, gone := s.Root.Lstat("sites/" + f.Name) // removed a moment ago
		if err = home.ErrNoSite; (f.published || f.logged) && gone == nil {
			err = o.Damaged(db.ErrNoDatabase)
		}
	}
	if mode == viewing && errors.Is(err, disk.ErrLocked) {
		err = db.Busy(errors.New("its database is in use: try again"))
	}
	return d, err
}

// leadsOut is an error when the folder of a site is a symbolic link that leads out of the state.
func leadsOut(s *State, dir string) error {
	fi, err := s.Root.Lstat(dir)
	if err != nil || fi.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	if _, err := s.Root.Stat(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("%s is a symbolic link that leads out of the state directory, which is not followed: "+
		"mount its target in its place (mount --bind)", filepath.Join(s.Dir, dir))
}

// loggedFormat is the first format of a database that says up to which transaction it follows its log.
const loggedFormat = 10

// errRebuilding says that another process is rebuilding the database.
var errRebuilding = db.Busy(errors.New("its database is being rebuilt: try again when that is done"))

func allBuckets() [][]byte {
	return [][]byte{db.Meta, home.Resources, home.Links, home.History, home.Versions, home.Scripts,
		home.Observed, home.Looks}
}

// checkWhole reports the defect of a site's database that is opened for writing: one that is whole can catch
// up with its log.
func (f *opening) checkWhole(tx *db.Tx) error {
	if tx.IsFresh() && (f.mode == rebuilding || (!f.published && !f.logged)) {
		return nil
	}
	if err := f.checkFormat(tx); err != nil {
		return err
	}
	if err := tx.CheckSums(); err != nil {
		return f.DB.Damaged(err)
	}
	return nil
}

// checkFormat reports the defect of a site's database before anything else of it is read.
func (f *opening) checkFormat(tx *db.Tx) error {
	m := tx.Meta()
	if m == nil && tx.IsFresh() {
		if f.published || f.logged {
			return f.DB.Damaged(db.ErrNoDatabase)
		}
		return home.ErrNoSite
	}
	for _, name := range [][]byte{db.Meta, home.Resources, home.Links, home.History, home.Versions} {
		if tx.Bucket(name) == nil {
			return f.DB.Damaged(fmt.Errorf("its bucket %q is missing", name))
		}
	}
	format, ok := m.Number(db.KeyFormat)
	if !ok {
		return f.DB.Damaged(errors.New("it has no format version"))
	} else if format > db.FormatVersion {
		return fmt.Errorf("site.db: %w; this one reads format %d: use the newer mirrord for this state",
			record.ErrNewerFormat, db.FormatVersion)
	} else if _, ok := tx.Logged(); !ok && format >= loggedFormat && !tx.Writable() {
		return f.DB.Damaged(errors.New("it does not say which transaction was the last"))
	}
	if at, ok := m.Number(home.KeyRebuilt); ok && at == 0 && f.mode != rebuilding {
		if f.DB.Busy {
			return errRebuilding
		}
		return f.DB.Damaged(errors.New("its rebuild did not finish"))
	}
	return nil
}

// check is checkFormat, and reports a database that does not know the published version. Each version is
// written into the database before the link moves to its tree.
func (f *opening) check(tx *db.Tx) error {
	if err := f.checkFormat(tx); err != nil || f.mode == rebuilding {
		return err
	}
	published := trees.LinkedVersion(f.Root)
	if published == 0 {
		return nil
	}
	last, _ := trees.LastKnown(tx)           // who carries a publish out reports one that cannot be read
	if (published <= last) || f.DB.Stale() { // a version has come since the copy was made
		return nil
	}
	return f.DB.Damaged(fmt.Errorf("%w: version %d is published, and it ends with version %d", db.ErrOlder,
		published, last))
}

// renew makes a new database one of the present format.
func (f *opening) renew(tx *db.Tx) error {
	if tx.IsFresh() && (f.mode == rebuilding || !f.published) {
		for _, b := range allBuckets() {
			if _, err := tx.CreateBucket(b); err != nil {
				return err
			}
		}
		if err := tx.Meta().Put(db.KeyFormat, binary.BigEndian.AppendUint32(nil, db.FormatVersion)); err != nil {
			return err
		}
		if f.mode == rebuilding {
			if err := tx.Meta().Put(home.KeyRebuilt, db.NumberKey(0)); err != nil {
				return err
			}
		}
	}
	if err := f.check(tx); err != nil {
		return err
	}
	m := tx.Meta()
	if format, _ := m.Number(db.KeyFormat); format < db.FormatVersion {
		return m.Put(db.KeyFormat, binary.BigEndian.AppendUint32(nil, db.FormatVersion))
	}
	return nil
}

// start finishes what a crash left half done.
func (s *Site) start(f *opening) error {
	if s.ReadOnly {
		return s.DB.View(f.check)
	}
	num, size, err := s.Records.PacksEnd()
	if err != nil {
		return err
	}
	if err := s.DB.BeginLog(); err != nil {
		return err
	}
	if err := s.SyncFolder(); err != nil {
		return err
	}
	if err := s.Frames.Begin(num, size); err != nil {
		return err
	}
	// of a program of format 8 or 9, with its copies of the databases that it converted, and of one before this
	// that was killed
	older, err := fs.Glob(s.Root.FS(), home.SiteDB+".format-*")
	if err != nil {
		return err
	}
	for _, name := range append(older, ".tail", "packs/withdrawn", ".site.db.redone", ".site.db.sealed",
		filepath.Base(s.DB.CopyName())) {
		if err := s.Root.RemoveAll(name); err != nil {
			return disk.Err("remove "+name, err)
		}
	}
	s.DB.Before = func() error {
		if err := s.Frames.Sync(); err != nil {
			return err
		}
		return s.Kept.Sync()
	}
	if s.OneOff {
		if err := s.Frames.Separate(true); err != nil {
			return err
		}
	}
	if err := s.Trees.Recover(); err != nil {
		return err
	}
	if err := s.Records.TakeJournal(); err != nil {
		return err
	}
	s.glancer.note(s.Folder, true)
	return nil
}

// Documents opens the packs of a site for reading, without its database. A pack that was compacted away
// meanwhile is ErrDamaged: the records say where its documents are now. The caller closes them.
func (s *State) Documents(name string) (*bodies.Packs, error) {
	dir, err := s.SiteRoot(name)
	var p *bodies.Packs
	if err == nil {
		defer dir.Close()
		p, _, err = packsOf(s, dir, name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = home.ErrNoSite
	}
	if err != nil {
		return nil, fmt.Errorf("packs of %s: %w", name, err)
	}
	return p, nil
}

// How long to try for a view of which records and published tree are of one version, and the pause between
// two attempts. A publish is two commits with a rename and some syncs between them.
const (
	pinFor   = 5 * time.Second
	pinPause = 10 * time.Millisecond
)

// ViewSite opens a site for reading as it was after the last commit, also while a run writes it, in this
// process or another one: it is never ErrLocked. It reads the database as it was then and the tree that was
// published, and blocks no writer.
//
// Bodies, heads and packs are only added to while a version is kept, but one that a later thinning or
// collection removes is ErrDamaged in an old view; Stale reports that something has changed since, and then a
// new view has what there is. A site of which nothing was committed yet is ErrNoSite. One that is being
// rebuilt, or that is held for long, is ErrBusy.
func (s *State) ViewSite(name string) (*Site, error) {
	for end := time.Now().Add(pinFor); ; time.Sleep(pinPause) {
		st, err := s.openSite(name, viewing)
		if err != nil {
			return nil, err
		}
		vs, err := st.Versions.List()
		if err != nil {
			return nil, errors.Join(err, st.Close())
		}
		if st.Trees.Pin(vs) || !time.Now().Before(end) {
			return st, nil
		}
		if err := st.Close(); err != nil {
			return nil, err
		}
	}
}

// LastToken returns the token of the last lease of a site, 0 when it has none or cannot be read.
func (s *State) LastToken(site string) (token uint64) {
	v, err := s.ViewSite(site)
	if err != nil {
		return 0
	}
	defer v.Close()
	_ = v.DB.View(func(tx *db.Tx) error { // 0 when it cannot be read
		token = home.TokenIn(tx.Meta())
		return nil
	})
	return token
}
