// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// A database of an older format is sealed by whoever first opens it for writing: all of it is copied, with
// checksums, into a new file, which then takes its name. The old file stays beside it as site.db.N, N being
// its format, so that the release before can go on from there; it goes when two more versions are published.
// A crash leaves the old database in use and a new one that nobody names. The new file is locked before it
// has its name, so that nobody comes in between.

// sealBytes is how much one transaction copies, about.
const sealBytes = 16 << 20

// asideName is what the older form of a database is called, by its format.
func asideName(name string, format uint32) string { return fmt.Sprintf("%s.%d", name, format) }

// sealOlder returns a sealed copy of a database, under its name and lock, and closes the old one. The
// old one is returned when it is sealed, is new, or lives for one run.
func sealOlder(old *database) (*database, error) {
	format, needs, err := old.older()
	if (err != nil) || !needs {
		return old, errors.Join(err, closeIf(err, old))
	}
	dir, name := filepath.Split(old.path)
	o := old.doorOptions
	o.path, o.fresh, o.known = filepath.Join(dir, "."+name+".sealed"), true, nil
	err = os.Remove(o.path) // of a process that was killed
	if (err != nil) && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(diskErr("seal "+name, err), old.Close())
	}
	made, err := openDatabase(o)
	if err != nil {
		return nil, errors.Join(err, old.Close())
	}
	made.bolt.NoSync = true // until all of it is there
	err = made.copyOf(old)
	if made.bolt.NoSync = made.volatile; (err == nil) && !made.volatile {
		err = made.bolt.Sync()
	}
	if err == nil {
		err = replaceWith(old.path, made.path, asideName(old.path, format))
	}
	if err != nil {
		return nil, errors.Join(diskErr("seal "+name, err), made.Close(), old.Close())
	}
	made.path, made.redo = old.path, old.redo
	old.redo = nil
	if fi, err := made.file.Stat(); err == nil {
		made.size = fi.Size()
	}
	return made, old.Close()
}

// closeIf closes a database when there was an error.
func closeIf(err error, d *database) error {
	if err == nil {
		return nil
	}
	return d.Close()
}

// replaceWith gives a new file the name of an old one, which keeps another one.
func replaceWith(path, made, aside string) error {
	err := os.Remove(aside)
	if (err == nil) || errors.Is(err, fs.ErrNotExist) {
		err = os.Link(path, aside)
	}
	if (err != nil) && !errors.Is(err, fs.ErrExist) && !isNoLink(err) {
		return err
	}
	if err := os.Rename(made, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// isNoLink reports whether a file system has no hard links: there is no way back then.
func isNoLink(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported)
}

// older returns the format of a database that is not sealed and has something in it.
func (d *database) older() (format uint32, needs bool, err error) {
	err = d.View(func(t *transaction) error {
		if needs = !t.sealed && !d.volatile && !t.isFresh(); !needs {
			return nil
		}
		if m := t.Bucket(bMeta); m != nil {
			if v := m.Get(kFormat); len(v) == 4 {
				format = be32(v)
			}
		}
		needs = format < FormatVersion // of a newer one, or without: opening it says what is wrong
		return nil
	})
	return format, needs && (format > 0), err
}

// copyOf fills a new database with what another one has.
func (d *database) copyOf(old *database) error {
	var names [][]byte
	err := old.View(func(t *transaction) error {
		return t.tx.ForEach(func(name []byte, _ *bolt.Bucket) error {
			names = append(names, []byte(string(name)))
			return nil
		})
	})
	for _, name := range names {
		for next := []byte{}; (next != nil) && (err == nil); {
			next, err = d.copyPart(old, name, next)
		}
	}
	return err
}

// copyPart copies values of a bucket from a key on, and returns the key from which on others are left, nil
// for none.
func (d *database) copyPart(old *database, name, from []byte) (next []byte, err error) {
	err = d.Update(func(to *transaction) error {
		return old.View(func(t *transaction) error {
			src := t.Bucket(name)
			dst, err := to.CreateBucketIfNotExists(name)
			if err == nil {
				err = dst.b.SetSequence(src.b.Sequence())
			}
			if err != nil {
				return err
			}
			dst.fill(1)
			next = nil
			c := src.Cursor()
			size := 0
			for k, v := c.Seek(from); k != nil; k, v = c.Next() {
				if size > sealBytes {
					next = []byte(string(k))
					return nil
				}
				size += len(k) + len(v)
				if (string(name) == string(bMeta)) && (string(k) == string(kFormat)) {
					v = binary.BigEndian.AppendUint32(nil, FormatVersion)
				}
				if v == nil {
					return fmt.Errorf("bucket %q in %q: %w", k, name, errValue)
				}
				if err := dst.Put(k, v); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return next, err
}

// dropOlder removes databases of older formats once enough versions are published that they lack.
func (s *home) dropOlder(versions []Version) error {
	const enough = 2
	if len(versions) < enough {
		return nil
	}
	return s.dropOlderIf(func(fi fs.FileInfo) bool {
		return fi.ModTime().Before(versions[len(versions)-enough].Time)
	})
}

// dropAllOlder removes databases of older formats.
func (s *home) dropAllOlder() error { return s.dropOlderIf(func(fs.FileInfo) bool { return true }) }

func (s *home) dropOlderIf(goes func(fs.FileInfo) bool) error {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return diskErr("list folder", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), siteDB+".") {
			continue
		}
		if fi, err := e.Info(); (err != nil) || !goes(fi) {
			continue
		}
		if err := removeIn(s.root, e.Name()); err != nil {
			return diskErr("remove "+e.Name(), err)
		}
	}
	return nil
}
