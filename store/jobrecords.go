// SPDX-License-Identifier: Apache-2.0

package store

import bolt "go.etcd.io/bbolt"

// JobRecords returns what the scheduler keeps about jobs, by name; the store does not look into it.
func (s *State) JobRecords() (map[string][]byte, error) {
	out := map[string][]byte{}
	err := s.viewDB(func(tx *bolt.Tx) error {
		b := tx.Bucket(bJobs)
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, v []byte) error {
			out[string(k)] = append([]byte{}, v...)
			return nil
		})
	})
	return out, err
}

// SaveJobRecords writes records of jobs, all of them or none; nil removes one. The copies in the folders of
// the sites are a spare: one that cannot be written is logged.
func (s *State) SaveJobRecords(records map[string][]byte) error {
	defer s.keepJobRecords(records)
	return s.updateDB("write job records", func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(bJobs)
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
	})
}
