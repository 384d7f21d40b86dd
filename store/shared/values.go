// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"bytes"
	"encoding/json"
	"fmt"

	"mirrord/store/db"
)

// KeyValues keeps small values under the keys of several kinds: those of one machine, in mirror.db, or those
// that the nodes of a cluster share. Safe for concurrent use, also by several processes and machines.
type KeyValues interface {
	// Change replaces the value of a key by what change makes of it, if no other process writes the key
	// meanwhile; nil stands for none. An error of change leaves all as it was. change may be called several
	// times, and must not keep what it is given.
	Change(kind, key string, change func(was []byte) ([]byte, error)) error
	// All returns the values of a kind by key, with all changes of this KeyValues. Those of other machines may
	// be missing for a moment.
	All(kind string) (map[string][]byte, error)
}

func (s *Database) Change(kind, key string, change func([]byte) ([]byte, error)) error {
	var refused error // by change: nothing went wrong in writing
	err := s.update("write "+kind, func(tx *db.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte(kind))
		if err != nil {
			return err
		}
		was := b.Get([]byte(key))
		now, err := change(was)
		switch {
		case err != nil:
			refused = err
			return err
		case now != nil:
			return b.Put([]byte(key), now)
		case was != nil:
			return b.Delete([]byte(key))
		}
		return nil
	})
	if refused != nil {
		return refused
	}
	return err
}

func (s *Database) All(kind string) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := s.view(func(tx *db.Tx) error {
		b := tx.Bucket([]byte(kind))
		if b == nil {
			return nil
		}
		for k, v := range b.From(nil) {
			out[string(k)] = bytes.Clone(v)
		}
		return nil
	})
	return out, err
}

// changeFact replaces the value of a key by what change makes of it; nil stands for none, and for one that
// cannot be read.
func changeFact[T any](s KeyValues, kind, key string, change func(*T) (*T, error)) error {
	return s.Change(kind, key, func(v []byte) ([]byte, error) {
		var was *T
		if v != nil {
			if was = new(T); json.Unmarshal(v, was) != nil {
				was = nil
			}
		}
		now, err := change(was)
		if err != nil || now == nil {
			return nil, err
		}
		if v, err = json.Marshal(now); err != nil {
			return nil, fmt.Errorf("%s %q: %w", kind, key, err)
		}
		return v, nil
	})
}

// factOf returns the value of a key of mirror.db; ok is false without one, and for one that cannot be read.
func factOf[T any](s *Database, kind, key string) (v T, ok bool, err error) {
	err = s.view(func(tx *db.Tx) error {
		if b := tx.Bucket([]byte(kind)); b != nil {
			raw := b.Get([]byte(key))
			ok = raw != nil && json.Unmarshal(raw, &v) == nil
		}
		return nil
	})
	if !ok {
		v = *new(T)
	}
	return v, ok, err
}

// appendFact appends a value to those of a bucket under numbers, which forgets all but the last ones.
func appendFact(b *db.Bucket, v []byte, kept uint64) error {
	n, err := b.NextSequence()
	if err == nil && n > kept {
		err = b.Delete(db.NumberKey(n - kept))
	}
	if err != nil {
		return err
	}
	return b.Put(db.NumberKey(n), v)
}

// lastFacts returns the last values of a bucket, which may be nil, the newest first. One that cannot be read
// is left out.
func lastFacts[T any](b *db.Bucket, most int) (out []T) {
	if b == nil {
		return nil
	}
	c := b.Cursor()
	for k, v := c.Last(); k != nil && len(out) < most; k, v = c.Prev() {
		var one T
		if json.Unmarshal(v, &one) == nil {
			out = append(out, one)
		}
	}
	return out
}

// saveFact stores the value of a key; nil stands for none.
func saveFact[T any](s KeyValues, kind, key string, v *T) error {
	return changeFact(s, kind, key, func(*T) (*T, error) { return v, nil })
}

// factsOf returns all values of a kind by their keys. One that cannot be read is left out.
func factsOf[T any](s KeyValues, kind string) (map[string]T, error) {
	all, err := s.All(kind)
	out := make(map[string]T, len(all))
	for k, v := range all {
		var one T
		if json.Unmarshal(v, &one) == nil {
			out[k] = one
		}
	}
	return out, err
}
