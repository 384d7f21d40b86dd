package store

import (
	"encoding/json"
	"errors"
	"io/fs"

	bolt "go.etcd.io/bbolt"
)

// LastRuns returns the last run of every site that the run log knows. A record that cannot be read is left out.
func (s *State) LastRuns() (map[string]RunRecord, error) {
	out := map[string]RunRecord{}
	if _, err := s.root.Lstat(stateDB); errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	err := s.withDB(func(db *bolt.DB) error {
		return db.View(func(tx *bolt.Tx) error {
			all := tx.Bucket([]byte("runs"))
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
	})
	return out, err
}
