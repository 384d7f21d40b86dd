// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"

	"mirrord/store/disk"
)

// Until format 8, databases of one-off mirrors had no checksums. The first opening of one for writing gives
// them to its values, in one transaction.

// unsealedFormat is the format of a database without checksums that is converted. Older ones are refused.
const unsealedFormat = 7

// loggedFormat is the first format of a database that says up to which transaction it follows its log.
const loggedFormat = 10

// convert gives a database without checksums those. It does nothing for one that has them, or that is new.
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
	err = d.alone(func() error { return d.raw(d.bolt.Update, d.seal) })
	return disk.Err("convert "+filepath.Base(d.path), err)
}

// unsealed reports whether a database has values, and no checksums, and its format, 0 for none.
func (d *database) unsealed() (format uint32, is bool, err error) {
	err = d.raw(d.bolt.View, func(tx *bolt.Tx) error {
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

// raw calls f with a transaction of the database without checksums, which begin begins.
func (d *database) raw(begin func(func(*bolt.Tx) error) error, f func(*bolt.Tx) error) (err error) {
	var tx *bolt.Tx
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = d.fault(p, tx, true)
		}
	}()
	return begin(func(t *bolt.Tx) error {
		tx = t
		return f(t)
	})
}

// seal gives all values their checksums.
func (d *database) seal(t *bolt.Tx) error {
	to := &transaction{tx: t, top: map[string]*bucket{}}
	err := t.ForEach(func(name []byte, _ *bolt.Bucket) error {
		to.Bucket(name).tally = new(tally)
		return nil
	})
	if err == nil {
		_, err = t.CreateBucket(bSums)
	}
	for _, b := range to.top {
		if err == nil {
			err = b.seal()
		}
	}
	if err != nil {
		return err
	}
	if d.site != "" {
		to.number = uint64(t.ID()) // behind all of its log
	}
	return to.end()
}

// seal gives the values of a bucket their checksums.
func (b *bucket) seal() error {
	var keys, values [][]byte
	err := b.b.ForEach(func(k, v []byte) error {
		keys, values = append(keys, bytes.Clone(k)), append(values, bytes.Clone(v))
		return nil
	})
	for i, k := range keys {
		v := values[i]
		if err == nil && v == nil {
			err = b.Bucket(k).seal()
		}
		if err != nil || v == nil {
			continue
		}
		if string(b.name) == string(bMeta) && string(k) == string(kFormat) {
			v = binary.BigEndian.AppendUint32(nil, FormatVersion)
		}
		v = sealed(b.name, k, v)
		if b.tally != nil {
			b.tally.add(k, v)
		}
		err = b.b.Put(k, v)
	}
	return err
}
