// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A database of an older format becomes one of the present format when it is opened for writing. Before that
// it is copied, so that an older mirrord can be gone back to: the packs that it refers to are only added to,
// and the published tree is derived from it. The copy goes when packs are rewritten.

// formatCopyPrefix is what names of such copies begin with; the number of the format follows.
const formatCopyPrefix = siteDB + ".format-"

// keepOldFormat copies the database when opening it for writing changes its format.
func (l *siteLock) keepOldFormat() error {
	format, err := formatIn(l.db)
	if err != nil || format == 0 || format >= FormatVersion {
		return err
	}
	const aside = siteDB + ".copy"
	// one that is there was made by a process that was killed, or before a return to an older mirrord
	name := fmt.Sprint(formatCopyPrefix, format)
	if err := errors.Join(copyWhole(l.root, siteDB, aside), l.root.Rename(aside, name)); err != nil {
		return diskErr("keep a copy of the older format", err)
	}
	return diskErr("keep a copy of the older format", syncDir(l.dir))
}

// formatIn returns the format of a database; 0 of a new one, or when it has none.
func formatIn(db *database) (format uint32, err error) {
	err = db.View(func(tx *transaction) error {
		if m := tx.Bucket(bMeta); m != nil {
			if v := m.Get(kFormat); len(v) == 4 {
				format = be32(v)
			}
		}
		return nil
	})
	return format, err
}

// copyWhole copies a file to another name, synced.
func copyWhole(root *os.Root, from, to string) error {
	src, err := root.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	fi, err := src.Stat()
	if err != nil {
		return err
	}
	dst, err := root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fi.Mode().Perm())
	if err != nil {
		return err
	}
	if err = cloneFile(dst, src); err != nil { // the file system cannot
		_, err = io.Copy(dst, src)
	}
	return errors.Join(err, dst.Sync(), dst.Close())
}

// dropOldFormats removes the copies: what they refer to is about to go.
func (s *home) dropOldFormats() error {
	names, err := fs.Glob(s.root.FS(), formatCopyPrefix+"*")
	for _, name := range names {
		err = errors.Join(err, s.root.Remove(name))
	}
	return diskErr("remove the copy of an older format", err)
}

// FormatStep says what becomes of a site's database when it is opened for writing.
type FormatStep struct {
	From, To int    // formats; equal when nothing changes
	Copy     string // path of the copy of the older one, which is kept then
	Room     int64  // bytes that the disk must have free for it, at most
	Stays    int64  // bytes of them that Copy takes
}

// FormatStep returns the step that the next run of the site makes. Beside the database there are its copy,
// the new one, and the log of the new one.
func (s *SiteNotes) FormatStep() (f FormatStep, err error) {
	format, err := formatIn(s.db)
	if err != nil {
		return f, err
	}
	f = FormatStep{From: int(format), To: max(int(format), FormatVersion)}
	f.Copy = filepath.Join(s.dir, fmt.Sprint(formatCopyPrefix, format))
	if fi, serr := s.db.file.Stat(); serr == nil {
		f.Room, f.Stays = 3*fi.Size(), fi.Size()
	}
	return f, nil
}
