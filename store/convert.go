// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"

	"mirrord/store/disk"
)

// Until format 8, databases of one-off mirrors had no checksums. The first opening of one for writing copies
// it, with checksums, into a new file, which then takes its name. A crash leaves the old database in use and
// a file that the next opening removes.

// unsealedFormat is the format of a database without checksums that is converted. Older ones are refused.
const unsealedFormat = 7

// loggedFormat is the first format of a database that says up to which transaction it follows its log.
const loggedFormat = 10

// convert replaces a database without checksums, which is closed then, by one with them: the error is
// errReplaced, as when another process had done it. It does nothing for one that has them, or that is new.
func (d *database) convert() error {
	format, old, err := d.unsealed()
	switch {
	case err != nil || !old:
		return err
	case format > unsealedFormat || (format == 0 && d.site != ""):
		return d.damaged(errors.New("its checksums are missing"))
	case format < unsealedFormat && d.site != "":
		return fmt.Errorf(
			"%s: %w: format %d, this one reads formats %d to %d. Remove the mirror and run it again, "+
				"or export it with the older mirrord and import that: its versions come, what it learned and its users "+
				"do not", filepath.Base(d.path), errOldFormat, format, unsealedFormat, FormatVersion)
	case d.readOnly && d.site == "":
		return fmt.Errorf("%s: %w: the next run converts it", filepath.Base(d.path), errOldFormat)
	case d.readOnly:
		return fmt.Errorf("%s: %w: mirrord gc %s converts it, and so does its next run", filepath.Base(d.path),
			errOldFormat, d.site)
	}
	err = d.makeNext(func(next *database) error { return next.copyOf(d) })
	if err == nil {
		err = d.takeName()
	}
	if err != nil {
		return disk.Err("convert "+filepath.Base(d.path), err)
	}
	return errReplaced
}

// unsealed reports whether a database has values, and no checksums, and its format, 0 for none.
func (d *database) unsealed() (format uint32, is bool, err error) {
	err = d.raw(func(tx *bolt.Tx) error {
		k, _ := tx.Cursor().First()
		if is = k != nil && tx.Bucket(bSums) == nil; !is {
			return nil
		}
		if m := tx.Bucket(bMeta); m != nil {
			if v := m.Get(kFormat); len(v) == 4 {
				format = binary.BigEndian.Uint32(v)
			}
		}
		return nil
	})
	return format, is, err
}

// raw reads the database without checksums.
func (d *database) raw(f func(*bolt.Tx) error) (err error) {
	var tx *bolt.Tx
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = d.fault(p, tx, false)
		}
	}()
	return d.bolt.View(func(t *bolt.Tx) error {
		tx = t
		return f(t)
	})
}

// copyOf fills a new database with what one without checksums has.
func (d *database) copyOf(old *database) error {
	return d.Update(func(to *transaction) error {
		return old.raw(func(t *bolt.Tx) error {
			if d.site != "" {
				to.number = uint64(t.ID()) + 1 // behind all of its log
			}
			return t.ForEach(func(name []byte, from *bolt.Bucket) error {
				b, err := to.CreateBucketIfNotExists(name)
				if err != nil {
					return err
				}
				return b.copyOf(from)
			})
		})
	})
}

// copyOf copies what a bucket has.
func (b *bucket) copyOf(from *bolt.Bucket) error {
	b.fill(1)
	if err := b.b.SetSequence(from.Sequence()); err != nil {
		return err
	}
	return from.ForEach(func(k, v []byte) error {
		if v == nil {
			in, err := b.CreateBucket(k)
			if err != nil {
				return err
			}
			return in.copyOf(from.Bucket(k))
		}
		if string(b.name) == string(bMeta) && string(k) == string(kFormat) {
			v = binary.BigEndian.AppendUint32(nil, FormatVersion)
		}
		return b.Put(k, v)
	})
}
