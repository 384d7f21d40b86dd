package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	bolt "go.etcd.io/bbolt"
)

// PairRecord is what testing two base URLs for being replicas came to. A base URL ends with a slash; what lies under one lies under the other
// at the same relative path.
type PairRecord struct {
	Base1     string    `json:"base1"`
	Base2     string    `json:"base2"`
	Tested    time.Time `json:"tested"`
	Level     string    `json:"level"`               // "1" to "5", "mismatch" and so on: replica.Level
	Mirrors   bool      `json:"mirrors"`             // the level is one of 1 to 5
	Confident bool      `json:"confident"`           // enough tests had an answer
	Equal     bool      `json:"interchangeable"`     // levels 1 to 3, and confident: one may stand for the other
	Good      float64   `json:"good"`                // share of the answered tests in which both had the same, or nearly
	Answered  int       `json:"answered"`            // tests whose source was had
	Tests     int       `json:"tests"`               // tests that robots rules allowed
	Named     bool      `json:"named,omitempty"`     // a job names base2 as an alternate of base1
	Stored    bool      `json:"stored,omitempty"`    // the side of base1 was what a mirror holds of it
	SoftPages int       `json:"softPages,omitempty"` // answers that were like the answer to a path that no host has
}

func pairKey(base1, base2 string) []byte { return []byte(base1 + "\x00" + base2) }

// SavePair keeps what a test of a pair came to, in the place of an earlier one.
func (s *State) SavePair(p PairRecord) error {
	v, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("pair of %s and %s: %w", p.Base1, p.Base2, err)
	}
	return s.withDB(func(db *bolt.DB) error {
		return diskErr("write pair", db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("pairs"))
			if err != nil {
				return err
			}
			return b.Put(pairKey(p.Base1, p.Base2), v)
		}))
	})
}

// Pairs lists the pairs that were tested, by base URLs.
func (s *State) Pairs() ([]PairRecord, error) {
	var out []PairRecord
	err := s.viewPairs(func(b *bolt.Bucket) error {
		return b.ForEach(func(k, v []byte) error {
			p, err := decodePair(k, v)
			out = append(out, p)
			return err
		})
	})
	return out, err
}

// LoadPair returns what the test of two base URLs, in this order, came to; ok is false when there was none.
func (s *State) LoadPair(base1, base2 string) (p PairRecord, ok bool, err error) {
	err = s.viewPairs(func(b *bolt.Bucket) error {
		k := pairKey(base1, base2)
		v := b.Get(k)
		if v == nil {
			return nil
		}
		ok = true
		p, err = decodePair(k, v)
		return err
	})
	return p, ok, err
}

func decodePair(k, v []byte) (p PairRecord, err error) {
	if err := json.Unmarshal(v, &p); err != nil {
		return p, fmt.Errorf("pair %q: %w: %v", k, ErrDamaged, err)
	}
	return p, nil
}

func (s *State) viewPairs(f func(*bolt.Bucket) error) error {
	if _, err := s.root.Lstat(stateDB); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.withDB(func(db *bolt.DB) error {
		return db.View(func(tx *bolt.Tx) error {
			if b := tx.Bucket([]byte("pairs")); b != nil {
				return f(b)
			}
			return nil
		})
	})
}
