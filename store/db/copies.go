// SPDX-License-Identifier: Apache-2.0

package db

import (
	"os"
	"path/filepath"

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
