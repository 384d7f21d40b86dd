// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"fmt"

	"mirrord/internal/binread"
	"mirrord/store/disk"
)

// Changes of an entry.
const (
	redoPut      = 'p' // bucket, key, value
	redoDelete   = 'd' // bucket, key
	redoSequence = 's' // bucket, 8 bytes, big endian
	redoTally    = 'T' // bucket, tally: its value
)

func appendChange(b []byte, what byte, bucket []byte, rest ...[]byte) []byte {
	b = append(b, what)
	b = binread.AppendString(b, string(bucket))
	for _, r := range rest {
		b = binary.AppendUvarint(b, uint64(len(r)))
		b = append(b, r...)
	}
	return b
}

// redo makes the changes of an entry in a transaction.
func redo(t *transaction, changes []byte) error {
	d := binread.Reader{Rest: changes}
	for len(d.Rest) > 0 {
		what := d.Byte()
		b, err := t.CreateBucketIfNotExists(d.Bytes())
		if err != nil {
			return err
		}
		switch what {
		case redoPut:
			k := d.Bytes()
			err = b.Put(k, d.Bytes())
		case redoDelete:
			err = b.Delete(d.Bytes())
		case redoSequence:
			if v := d.Bytes(); len(v) == 8 {
				err = b.b.SetSequence(binary.BigEndian.Uint64(v))
			}
		case redoTally:
			now := b.tallied()
			now.seq = b.Sequence()
			err = b.comesTo(*now, d.Bytes())
		default:
			err = errRedo
		}
		if err != nil {
			return err
		}
		if d.Bad {
			return errRedo
		}
	}
	return nil
}

// comesTo is an error when a tally is not the one that was written.
func (b *bucket) comesTo(now tally, written []byte) error {
	var want tally
	if want.decode(written) && now.same(want) {
		return nil
	}
	return fmt.Errorf("log: %w: bucket %q does not come to what was written", disk.ErrDamaged, b.name)
}

// agrees reports as an error that the database is not as the changes of its last transaction left it.
func (t *transaction) agrees(changes []byte) error {
	d := binread.Reader{Rest: changes}
	for len(d.Rest) > 0 && !d.Bad {
		what, name := d.Byte(), d.Bytes()
		rest := d.Bytes()
		if what == redoPut {
			d.Bytes()
		}
		if b := t.Bucket(name); what == redoTally && !d.Bad {
			if b == nil {
				return errRedo
			}
			if err := b.comesTo(*t.tallyOf(name), rest); err != nil {
				return err
			}
		}
	}
	return nil
}
