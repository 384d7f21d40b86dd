// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"mirrord/internal/dbpages"
	"mirrord/store/disk"
)

// errBehind says that a database is whole, and its log has transactions that it has not.
var errBehind = errors.New("its log has more")

// upToDate returns the database that a reader gets of a site: d, or err, when its writer has closed it, or
// has it open. Else a loss of power may have cost what was not synced: when d is not what the log says, one
// is made of the log.
func upToDate(s *State, root *os.Root, o doorOptions, d *database, err error) (*database, error) {
	damaged := errors.Is(err, disk.ErrDamaged) || errors.Is(err, fs.ErrNotExist)
	if (d == nil && !damaged) || isWritten(root) || (d != nil && d.busy) || isClean(root) {
		return d, err
	}
	segment, serr := lastSegment(root)
	if serr != nil {
		return d, err
	}
	defer segment.Close()
	scratch := []string{filepath.Dir(o.path), os.TempDir()}
	n, nerr := counted(s, root, o.site, segment)
	if (nerr == nil) && n.cut {
		if segment, nerr = beginningOf(segment, n.end.size, scratch); nerr == nil {
			defer segment.Close()
		}
	}
	var of dbpages.Commit
	if d != nil && nerr == nil {
		of = *d.of
		if nerr = isUpTo(d, segment, n); nerr == nil {
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
	if err = redoInto(o, segment, publishedIn(root)); err != nil {
		return nil, err
	}
	o.readOnly, o.fresh = true, false
	if d, err = openDatabase(o); err == nil {
		d.of = &of
	}
	return d, err
}

// isUpTo is an error when a database is not what a segment of its log says: errBehind, or that it is damaged.
func isUpTo(d *database, segment *os.File, n noted) error {
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
	case n.cut && last > n.end.tx:
		return d.damaged(errNoBodies)
	}
	_, _, _, err = catchUp(d, segment, last, func(*database, uint64, []byte) error { return errBehind })
	return err
}

// beginningOf copies the beginning of a segment.
func beginningOf(segment *os.File, size int64, scratch []string) (*os.File, error) {
	f, err := scratchFile(scratch)
	if err != nil {
		return nil, err
	}
	if _, err = io.Copy(f, io.NewSectionReader(segment, 0, size)); err != nil {
		return nil, fmt.Errorf("copy log: %w", errors.Join(err, f.Close()))
	}
	return f, nil
}
