// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mirrord/internal/dbpages"
	"mirrord/internal/regular"
	"mirrord/phm"
	"mirrord/store/disk"
	"mirrord/store/log"
)

// How long to try for a view of which records and published tree are of one version, and the pause between
// two attempts. A publish is two commits with a rename and some syncs between them.
const (
	pinFor   = 5 * time.Second
	pinPause = 10 * time.Millisecond
)

// pinTree opens the published tree of a view, also one that was decided on and has no link yet. whole
// is false when it is not the tree of the last version that the view knows: another was published meanwhile.
func (s *Site) pinTree() (whole bool, err error) {
	vs, err := s.Versions.List()
	if err != nil {
		return false, err
	}
	p := s.Trees.hold()
	s.pin = p
	nothing := (len(vs) == 0) && p.name == ""
	switch {
	case nothing, p.err != nil:
		return true, nil
	case len(vs) == 0, p.Root.Root == nil:
		return !s.Stale(), nil
	}
	meta, err := p.ReadFile(phm.MetaName, regular.MaxSmall)
	same := (err == nil) && bytes.Equal(meta, vs[len(vs)-1].Meta)
	return same || !s.Stale(), nil
}

// Busy reports whether the site was being written when a view of it was opened.
func (s *home) Busy() bool { return s.db.busy }

// Stale reports whether something was committed since a view was opened.
func (s *home) Stale() bool { return s.db.stale() }

// errBehind says that a database is whole, and its log has transactions that it has not.
var errBehind = errors.New("its log has more")

// upToDate returns the database that a reader gets of a site: d, or err, when its writer has closed it, or
// has it open. Else a loss of power may have cost what was not synced: when d is not what the log says, one
// is made of the log.
func upToDate(s *State, root *os.Root, o doorOptions, d *database, err error) (*database, error) {
	damaged := errors.Is(err, disk.ErrDamaged) || errors.Is(err, fs.ErrNotExist)
	if (d == nil && !damaged) || isWritten(root) || (d != nil && d.busy) || log.IsClean(root) {
		return d, err
	}
	segment, serr := log.LastOf(root)
	if serr != nil {
		return d, err
	}
	defer segment.Close()
	scratch := []string{filepath.Dir(o.path), os.TempDir()}
	cut := false
	whole, nerr := log.Read(segment)
	if nerr == nil {
		_, cut, nerr = counted(s, root, o.site, whole)
	}
	var of dbpages.Commit
	if d != nil && nerr == nil {
		of = *d.of
		if nerr = isUpTo(d, whole, cut); nerr == nil {
			return d, nil
		}
		if err = nerr; errors.Is(nerr, errBehind) || errors.Is(nerr, disk.ErrDamaged) {
			nerr = nil
		}
	}
	if d != nil {
		nerr = errors.Join(nerr, d.Close())
	}
	if nerr != nil {
		return nil, errors.Join(err, nerr)
	}
	file, err := scratchFile(scratch)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	o.known, o.held, o.shared, o.readOnly, o.volatile, o.fresh = nil, file, false, false, true, true
	version := publishedIn(root)
	if err = o.fill(func(d *database) error { return redoAll(d, whole, version) }); err != nil {
		return nil, err
	}
	o.readOnly, o.fresh = true, false
	if d, err = openDatabase(o); err == nil {
		d.of = &of
	}
	return d, err
}

// isUpTo is an error when a database is not what a segment of its log says: errBehind, or that it is damaged.
// cut says that results without bodies were cut off the segment.
func isUpTo(d *database, segment *log.Readable, cut bool) error {
	err := d.View(func(t *transaction) error {
		if t.isFresh() {
			return d.damaged(errNoDatabase)
		}
		if err := t.checkSums(); err != nil {
			return d.damaged(err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	last, known, err := lastOf(d)
	switch {
	case err != nil || !known:
		return err
	case cut && last > segment.Last():
		return d.damaged(errNoBodies)
	}
	_, err = catchUp(d, segment, last, func(*database, uint64, []byte) error { return errBehind })
	return err
}

// copyShared makes a copy, without a name, of a database that is not shared, as it was after its last commit,
// also while a process has it locked. dbpages.Commit says why the copy is whole.
func copyShared(path string, dirs ...string) (*os.File, error) {
	src, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	still, err := disk.Flock(src, false, false)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(viewFor); ; time.Sleep(time.Millisecond) {
		before, err := dbpages.ReadCommit(src)
		var dst *os.File
		if err == nil {
			dst, err = scratchFile(dirs)
		}
		if err == nil {
			_, err = io.Copy(dst, io.NewSectionReader(src, 0, before.Size))
		}
		after, aerr := dbpages.ReadCommit(src)
		if err == nil && aerr == nil && before == after {
			return dst, nil
		}
		if dst != nil {
			dst.Close()
		}
		if aerr != nil {
			err = aerr
		}
		fault := (*dbpages.Fault)(nil)
		switch {
		case err != nil && (still || !errors.As(err, &fault)):
			return nil, err
		case !time.Now().Before(end):
			return nil, errors.Join(err, ErrBusy)
		}
	}
}

// scratchFile makes a file without a name in the first of some folders that takes it. In the last one it has
// a name for a moment where the file system makes none without.
func scratchFile(dirs []string) (f *os.File, err error) {
	for _, dir := range dirs {
		if f, err = disk.NamelessFile(dir); err == nil || !isNoRoom(err) {
			return f, err
		}
	}
	if f, err = os.CreateTemp(dirs[len(dirs)-1], ".mirrord-scratch-"); err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isNoRoom reports whether a file cannot be made because there is no place for it.
func isNoRoom(err error) bool {
	for _, why := range []error{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EOPNOTSUPP, fs.ErrPermission, fs.ErrNotExist,
	} {
		if errors.Is(err, why) {
			return true
		}
	}
	return false
}
