// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// A database of an older format is sealed when it is first opened for writing: all of it is copied, with
// checksums, into a new file, which then takes its name. A crash leaves the old database in use and a new one
// without a name. The new file is locked before it has its name, so that no process comes in between.

// sealBytes is how much one transaction copies, about.
const sealBytes = 16 << 20

// sealOlder returns a sealed copy of a database, under its name and lock, and closes the old one. The
// old one is returned when it is sealed, is new, or lives for one run.
func sealOlder(old *database) (*database, error) {
	needs, err := old.older()
	if (err != nil) || !needs {
		return old, errors.Join(err, closeIf(err, old))
	}
	made, _, err := sealedCopy(old)
	if err != nil {
		return nil, errors.Join(err, old.Close())
	}
	made.redo = old.redo
	old.redo = nil
	return made, old.Close()
}

// sealedCopy puts a sealed copy of a database in its place, and returns it, open and locked. The old one
// stays open, and locked. named says that the copy has its name already, also when there is an error.
func sealedCopy(old *database) (made *database, named bool, err error) {
	dir, name := filepath.Split(old.path)
	o := old.doorOptions
	o.path, o.fresh, o.known = filepath.Join(dir, "."+name+".sealed"), true, nil
	err = os.Remove(o.path) // of a process that was killed
	if (err != nil) && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, diskErr("seal "+name, err)
	}
	if made, err = openDatabase(o); err != nil {
		return nil, false, err
	}
	made.bolt.NoSync = true // until all of it is there
	err = made.copyOf(old)
	if made.bolt.NoSync = made.volatile; (err == nil) && !made.volatile {
		err = made.bolt.Sync()
	}
	if err == nil {
		err = os.Rename(made.path, old.path)
		named = err == nil
	}
	if named && !made.volatile {
		err = syncDir(dir)
	}
	if err != nil {
		if !named {
			err = errors.Join(err, os.Remove(made.path))
		}
		return nil, named, errors.Join(diskErr("seal "+name, err), made.Close())
	}
	made.path = old.path
	if fi, err := made.file.Stat(); err == nil {
		made.size = fi.Size()
	}
	return made, true, nil
}

// closeIf closes a database when there was an error.
func closeIf(err error, d *database) error {
	if err == nil {
		return nil
	}
	return d.Close()
}

// older reports whether a database is one of an older format that is not sealed.
func (d *database) older() (needs bool, err error) {
	err = d.View(func(t *transaction) error {
		if needs = !t.sealed && !d.volatile && !t.isFresh(); !needs {
			return nil
		}
		format := uint32(0)
		if m := t.Bucket(bMeta); m != nil {
			if v := m.Get(kFormat); len(v) == 4 {
				format = be32(v)
			}
		}
		needs = (format > 0) && (format < FormatVersion) // else opening it reports the error
		return nil
	})
	return needs, err
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
					n, err := dst.copyBucket(k, src.Bucket(k))
					if size += n; err != nil {
						return err
					}
					continue
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

// copyBucket makes a bucket in this one, with what another one has, and returns how many bytes that is.
func (b *bucket) copyBucket(name []byte, from *bucket) (size int, err error) {
	to, err := b.CreateBucket(name)
	if err != nil {
		return 0, err
	}
	if err := to.b.SetSequence(from.b.Sequence()); err != nil {
		return 0, err
	}
	err = from.ForEach(func(k, v []byte) error {
		size += len(k) + len(v)
		if v != nil {
			return to.Put(k, v)
		}
		n, err := to.copyBucket(k, from.Bucket(k))
		size += n
		return err
	})
	return size, err
}
