// SPDX-License-Identifier: Apache-2.0

package log

import (
	"encoding/binary"
	"fmt"

	"mirrord/internal/binread"
	"mirrord/store/disk"
)

// Changes of a transaction: a byte that says which, and names, keys and values as uvarint length and bytes.
const (
	Put      = 'p' // bucket, key, value
	Delete   = 'd' // bucket, key
	Sequence = 's' // bucket, 8 bytes, big endian
	Tally    = 'T' // bucket, tally: its value
)

// ErrEntry says that something is no entry of a log, or none of its changes.
var ErrEntry = fmt.Errorf("log: %w: no entry here", disk.ErrDamaged)

// AppendChange writes a change.
func AppendChange(b []byte, what byte, bucket []byte, rest ...[]byte) []byte {
	b = append(b, what)
	b = binread.AppendString(b, string(bucket))
	for _, r := range rest {
		b = binary.AppendUvarint(b, uint64(len(r)))
		b = append(b, r...)
	}
	return b
}

// Changes calls f for each of some changes. value is that of Put, and what Sequence and Tally say.
func Changes(changes []byte, f func(what byte, bucket, key, value []byte) error) error {
	d := binread.Reader{Rest: changes}
	for len(d.Rest) > 0 {
		what, bucket := d.Byte(), d.Bytes()
		var key, value []byte
		if what == Put || what == Delete {
			key = d.Bytes()
		}
		if what != Delete {
			value = d.Bytes()
		}
		if d.Bad {
			return ErrEntry
		}
		if err := f(what, bucket, key, value); err != nil {
			return err
		}
	}
	return nil
}
