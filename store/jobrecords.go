package store

import (
	"errors"
	"io/fs"

	bolt "go.etcd.io/bbolt"
)

// JobRecords returns what the scheduler keeps about jobs, by name; the store does not look into it.
func (s *State) JobRecords() (map[string][]byte, error) {
	out := map[string][]byte{}
	if _, err := s.root.Lstat(stateDB); errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	err := s.withDB(func(db *bolt.DB) error {
		return db.View(func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte("jobs"))
			if b == nil {
				return nil
			}
			return b.ForEach(func(k, v []byte) error {
				out[string(k)] = append([]byte{}, v...)
				return nil
			})
		})
	})
	return out, err
}

// SaveJobRecords writes records of jobs, all of them or none; nil removes one.
func (s *State) SaveJobRecords(records map[string][]byte) error {
	return s.withDB(func(db *bolt.DB) error {
		return diskErr("write job records", db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("jobs"))
			if err != nil {
				return err
			}
			for name, v := range records {
				if v == nil {
					err = b.Delete([]byte(name))
				} else {
					err = b.Put([]byte(name), v)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}))
	})
}
