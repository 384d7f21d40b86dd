// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"slices"

	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/store/record"
)

// Join adds the URLs that are in the mirror now, and were not by the records before the version next, to
// the version before: the caller knows that its files are those of the records. So it is of a version that
// was imported, once a run has found the same. It may be called again.
func (s *Versions) Join(next int) error {
	prefix := db.NumberKey(uint64(next))
	for at := prefix; at != nil; {
		err := s.Update("join version", func(tx *db.Tx) error {
			res, hist := tx.Bucket(home.Resources), tx.Bucket(home.History)
			var joined [][]byte
			c := hist.Cursor()
			k, v := c.Seek(at)
			for n := 0; (n < s.records.FoldItems) && bytes.HasPrefix(k, prefix); n++ {
				was, err := isInSet(k[8:], v)
				if err != nil {
					return err
				}
				is, err := isInSet(k[8:], res.Get(k[8:]))
				if err != nil {
					return err
				}
				if is && !was {
					joined = append(joined, slices.Clone(k))
				}
				k, v = c.Next()
			}
			if at = nil; bytes.HasPrefix(k, prefix) {
				at = slices.Clone(k)
			}
			return deleteAll(hist, joined)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isInSet reports whether a stored record, which may be none, says that its URL is in the mirror.
func isInSet(key, value []byte) (bool, error) {
	if len(value) == 0 {
		return false, nil
	}
	var r record.Resource
	err := r.DecodeKeyed(key, value)
	return r.InSet, err
}
