// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"

	bolt "go.etcd.io/bbolt"
)

// LastRuns returns the last run of every site that the run log knows. A record that cannot be read is left
// out.
func (s *State) LastRuns() (map[string]RunRecord, error) {
	out := map[string]RunRecord{}
	err := s.viewDB(func(tx *bolt.Tx) error {
		all := tx.Bucket(bRuns)
		if all == nil {
			return nil
		}
		return all.ForEachBucket(func(name []byte) error {
			_, v := all.Bucket(name).Cursor().Last()
			var r RunRecord
			if v != nil && json.Unmarshal(v, &r) == nil {
				out[string(name)] = r
			}
			return nil
		})
	})
	return out, err
}
