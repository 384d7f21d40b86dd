// SPDX-License-Identifier: Apache-2.0

package db

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"mirrord/store/disk"
)

// FormatVersion is the version of the on-disk format.
//
//	7  without checksums in the databases; the first opening for writing converts it, see convert.go. Formats 1
//	   to 6 are refused
//	8  site.db is sealed, see sealed.go
//	9  packs may have holes of which a depot has the bytes, see away.go
//	10 the log is the truth, and site.db an index that is not synced: it says which transaction of the log it
//	   has last. The first opening for writing makes a database of format 8 or 9 one of it. Heads of answers
//	   lie in bundles, and documents in frames have a head of a few bytes
//	11 the journal of an unfinished run is in the log alone
const FormatVersion = 11

// Until format 8, databases of one-off mirrors had no checksums. The first opening of one for writing gives
// them to its values, in one transaction.

// unsealedFormat is the format of a database without checksums that is converted. Older ones are refused.
const unsealedFormat = 7

// convert gives a database without checksums those. It does nothing for one that has them, or that is new.
func (d *DB) convert() error {
	format, old, err := d.unsealed()
	switch {
	case err != nil || !old:
		return err
	case format > unsealedFormat || (format == 0 && d.Site != ""):
		return d.Damaged(errors.New("its checksums are missing"))
	case format < unsealedFormat && d.Site != "":
		return fmt.Errorf(
			"%s: %w: format %d, this one reads formats %d to %d. Remove the mirror and run it again, "+
				"or export it with the older mirrord and import that: its versions come, what it learned and its users "+
				"do not", filepath.Base(d.Path), ErrOldFormat, format, unsealedFormat, FormatVersion)
	case d.ReadOnly && d.Site == "":
		return fmt.Errorf("%s: %w: the next run converts it", filepath.Base(d.Path), ErrOldFormat)
	case d.ReadOnly:
		return fmt.Errorf("%s: %w: mirrord gc %s converts it, and so does its next run", filepath.Base(d.Path),
			ErrOldFormat, d.Site)
	}
	return disk.Err("convert "+filepath.Base(d.Path), d.Update(seal))
}

func (d *DB) unsealed() (format uint32, is bool, err error) {
	err = d.View(func(t *Tx) error {
		tx := t.tx
		k, _ := tx.Cursor().First()
		if is = k != nil && tx.Bucket(bSums) == nil; !is {
			return nil
		}
		if m := tx.Bucket(Meta); m != nil {
			if v := m.Get(KeyFormat); len(v) == 4 {
				format = binary.BigEndian.Uint32(v)
			}
		}
		return nil
	})
	return format, is, err
}

func seal(t *Tx) error {
	err := t.tx.ForEach(func(name []byte, _ *bolt.Bucket) error {
		t.Bucket(name).tally = new(tally)
		return nil
	})
	if err == nil {
		_, err = t.tx.CreateBucket(bSums)
	}
	for _, b := range t.top {
		if err == nil {
			err = b.seal()
		}
	}
	if t.counts {
		t.number = uint64(t.tx.ID()) // behind all of its log
	}
	return err
}

func (b *Bucket) seal() error {
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
		if string(b.name) == string(Meta) && string(k) == string(KeyFormat) {
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
