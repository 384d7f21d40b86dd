// SPDX-License-Identifier: Apache-2.0

package db

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mirrord/internal/dbpages"
	"mirrord/store/disk"
	"mirrord/store/log"
)

// IsUpTo is an error when a database is not what a segment of its log says: errBehind, or that it is damaged.
// cut says that results without bodies were cut off the segment.
func IsUpTo(d *DB, segment *log.Readable, cut bool) error {
	err := d.View(func(t *Tx) error {
		if t.IsFresh() {
			return d.Damaged(ErrNoDatabase)
		}
		if err := t.CheckSums(); err != nil {
			return d.Damaged(err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	last, known, err := Last(d)
	switch {
	case err != nil || !known:
		return err
	case cut && last > segment.Last():
		return d.Damaged(ErrNoBodies)
	}
	_, err = catchUp(d, segment, last, func(*DB, uint64, []byte) error { return ErrBehind })
	return err
}

// InScratch opens a database for reading that fill makes in a file without a name. It is as stale as d, the
// view that it replaces; nil: of none that could be read.
func (o Options) InScratch(d *DB, fill func(next *DB) error) (*DB, error) {
	file, err := disk.Scratch(filepath.Dir(o.Path), os.TempDir())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	o.Known, o.held, o.Shared, o.Busy = nil, file, false, false
	o.ReadOnly, o.Volatile, o.Fresh = false, true, true
	if err = o.fill(fill); err != nil {
		return nil, err
	}
	o.ReadOnly, o.Fresh = true, false
	next, err := Open(o)
	if err == nil {
		if next.of = new(dbpages.Commit); d != nil {
			next.of = d.of
		}
	}
	return next, err
}

// OpenCopy opens a copy, in the first of some folders that takes it, of a database that is not shared. It is
// as it was after its last commit.
func (o Options) OpenCopy(dirs ...string) (*DB, error) {
	f, err := copyShared(o.Path, dirs...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, o.Damaged(err)
	}
	defer f.Close()
	if err := o.look(f); err != nil {
		return nil, o.Damaged(err)
	}
	o.ReadOnly, o.Known, o.held = true, nil, f
	return Open(o)
}

// copyShared makes a copy, without a name, of a database that is not shared, as it was after its last commit,
// also while a process has it locked. dbpages.Commit says why the copy is whole.
func copyShared(path string, dirs ...string) (dst *os.File, err error) {
	src, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if dst, err = disk.Scratch(dirs...); err != nil {
		return nil, err
	}
	for range copyTries { // each time another process has written
		before, berr := dbpages.ReadCommit(src)
		_, err = io.Copy(io.NewOffsetWriter(dst, 0), io.NewSectionReader(src, 0, before.Size))
		after, aerr := dbpages.ReadCommit(src)
		if err = errors.Join(berr, err, aerr); err == nil && before == after {
			return dst, nil
		}
		time.Sleep(time.Millisecond)
	}
	return nil, errors.Join(cmp.Or(err, ErrBusy), dst.Close())
}

// copyTries is how often a copy is made until none was written meanwhile.
const copyTries = 100
