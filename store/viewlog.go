// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io/fs"
	"os"

	"mirrord/internal/dbpages"
)

// upToDate returns the database that a reader gets of a site: the copy d of site.db, or err, when its writer
// has closed it, or has it open. Else a loss of power may have cost what was not synced. Then the copy is
// checked and catches up with the log; one that is damaged is made again of the log.
func upToDate(
	s *State, root *os.Root, o doorOptions, d *database, err error,
) (*database, error) {
	damaged := errors.Is(err, ErrDamaged) || errors.Is(err, fs.ErrNotExist)
	if (d == nil && (!damaged || isWritten(root))) || (d != nil && (d.busy || d.copied == nil)) ||
		isClean(root) {
		return d, err
	}
	segment, serr := lastSegment(root)
	if serr != nil {
		return d, err
	}
	defer segment.Close()
	var of dbpages.Commit
	var file *os.File
	defer func() {
		if file != nil {
			file.Close()
		}
	}()
	scratch := o.scratch
	o.known, o.sign, o.scratch, o.readOnly, o.volatile = nil, "", nil, false, true
	n, nerr := counted(s, root, o.site, segment)
	if (nerr == nil) && n.cut {
		segment, nerr = beginningOf(segment, n.end.size, scratch)
		if nerr == nil {
			defer segment.Close()
		}
	}
	if nerr != nil {
		return d, errors.Join(err, nerr)
	}
	if d != nil {
		of = *d.copied
		file, err = sameOpen(d.file)
		if err = errors.Join(err, d.Close()); err != nil {
			return nil, err
		}
		o.held = file
		err = bringUp(o, segment, n)
		damaged = errors.Is(err, ErrDamaged)
	}
	if damaged {
		if file != nil {
			file.Close()
		}
		if file, err = scratchFile(scratch); err == nil {
			o.held, o.fresh = file, true
			err = redoInto(o, segment, publishedIn(root))
		}
	}
	if err != nil {
		return nil, err
	}
	o.readOnly, o.fresh = true, false
	if d, err = openDatabase(o); err == nil {
		d.copied = &of
	}
	return d, err
}

// isWritten reports whether a process has the database in a site's folder open for writing.
func isWritten(root *os.Root) bool {
	f, err := root.Open(siteDB)
	if err != nil {
		return false
	}
	defer f.Close()
	free, err := flock(f, false, false)
	return (err == nil) && !free
}

// bringUp makes a copy of a database what a segment of its log says.
func bringUp(o doorOptions, segment *os.File, n noted) error {
	d, err := openDatabase(o)
	if err != nil {
		return err
	}
	err = d.View(func(t *transaction) error {
		if t.isFresh() {
			return d.damaged(errNoDatabase)
		}
		if err := t.checkSums(); err != nil {
			return d.damaged(err)
		}
		return nil
	})
	if err == nil {
		last, known, lerr := lastOf(d)
		switch err = lerr; {
		case err != nil || !known:
		case n.cut && last > n.end.tx:
			err = d.damaged(errNoBodies)
		default:
			_, _, _, err = catchUp(d, segment, last)
		}
	}
	return errors.Join(err, d.Close())
}

// beginningOf copies the beginning of a segment.
func beginningOf(segment *os.File, size int64, scratch []string) (*os.File, error) {
	f, err := scratchFile(scratch)
	if err != nil {
		return nil, err
	}
	if err = copyBytes(f, segment, size); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// scratchFile makes a file without a name in the first of some folders that takes it.
func scratchFile(dirs []string) (f *os.File, err error) {
	for i, dir := range dirs {
		f, err = temporaryFile(dir, i == len(dirs)-1)
		if (err == nil) || !isNoRoom(err) {
			break
		}
	}
	return f, err
}
