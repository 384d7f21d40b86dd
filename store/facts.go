// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// PairRecord is what testing two base URLs for being replicas came to. A base URL ends with a slash; what
// lies under one lies under the other at the same relative path.
type PairRecord struct {
	Base1     string    `json:"base1"`
	Base2     string    `json:"base2"`
	Tested    time.Time `json:"tested"`
	Level     string    `json:"level"`           // "1" to "5", "mismatch" and so on: hosts.Level
	Mirrors   bool      `json:"mirrors"`         // the level is one of 1 to 5
	Confident bool      `json:"confident"`       // enough tests had an answer
	Equal     bool      `json:"interchangeable"` // levels 1 to 3, and confident: one may stand for the other
	// share of the answered tests in which both had the same, or nearly
	Good     float64 `json:"good"`
	Answered int     `json:"answered"`         // tests whose source was had
	Tests    int     `json:"tests"`            // tests that robots rules allowed
	Named    bool    `json:"named,omitempty"`  // a job names base2 as an alternate of base1
	Stored   bool    `json:"stored,omitempty"` // the side of base1 was what a mirror holds of it
	// answers that were like the answer to a path that no host has
	SoftPages int `json:"soft_pages,omitempty"`
	// one redirects to the other: one host by two names
	Alias    bool `json:"alias,omitempty"`
	RootOnly bool `json:"root_only,omitempty"` // nothing but the front page is alike
	// paths of the tests whose pages have the same bytes or words
	SamePaths []string `json:"equal,omitempty"`
}

func pairKey(base1, base2 string) string { return base1 + "\x00" + base2 }

// SavePair stores the result of a test of a pair, and replaces an earlier one.
func (s *State) SavePair(p PairRecord) error {
	return saveFact(SharedOf(s), string(bPairs), pairKey(p.Base1, p.Base2), &p)
}

// Pairs lists the pairs that were tested, by base URLs. A record that cannot be read is left out.
func (s *State) Pairs() ([]PairRecord, error) {
	all, err := factsOf[PairRecord](SharedOf(s), string(bPairs))
	var out []PairRecord
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[key])
	}
	return out, err
}

// LoadPair returns what the test of two base URLs, in this order, came to; ok is false when there was none,
// or its record cannot be read.
func (s *State) LoadPair(base1, base2 string) (p PairRecord, ok bool, err error) {
	return factOf[PairRecord](s, bPairs, pairKey(base1, base2))
}

// JobRecords returns what the scheduler keeps about jobs, by name; the store does not look into it.
func (s *State) JobRecords() (map[string][]byte, error) {
	return SharedOf(s).All(string(bJobs))
}

// SaveJobRecords writes records of jobs, all of them or none; nil removes one. The copies in the folders of
// the sites are a spare: one that cannot be written is logged.
func (s *State) SaveJobRecords(records map[string][]byte) error {
	defer s.keepJobRecords(records)
	return s.updateDB("write job records", func(tx *transaction) error {
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

// LastRuns returns the last run of every site that the run log knows. A record that cannot be read is left
// out.
func (s *State) LastRuns() (map[string]RunRecord, error) {
	out := map[string]RunRecord{}
	err := s.viewDB(func(tx *transaction) error {
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
