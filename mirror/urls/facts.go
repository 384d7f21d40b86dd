// SPDX-License-Identifier: Apache-2.0

package urls

import (
	"bytes"
	"encoding/json"
)

// Facts are what a site remembers from run to run, by name. *store.SiteNotes are some.
type Facts interface {
	// Fact returns what SetFact kept under a name, nil when there is nothing.
	Fact(name string) ([]byte, error)
	// SetFact replaces the stored value.
	SetFact(name string, v []byte) error
}

// ReadFact decodes a fact from JSON. Without one, and when it cannot be decoded, ok is false and v is zero:
// what it says begins again.
func ReadFact[T any](f Facts, name string) (v T, ok bool, err error) {
	data, err := f.Fact(name)
	if err != nil || len(data) == 0 {
		return v, false, err
	}
	if json.Unmarshal(data, &v) != nil {
		return *new(T), false, nil
	}
	return v, true, nil
}

// WriteFact stores a fact as JSON, when it is another one. Of an empty value nothing is stored.
func WriteFact(f Facts, name string, v any) error {
	return KeepFact(f, name, func() ([]byte, error) {
		data, err := json.Marshal(v)
		switch string(data) {
		case "null", "[]", "{}":
			return nil, err
		}
		return data, err
	})
}

// KeepFact stores what encode gives as a fact of a site, when it is another one.
func KeepFact(f Facts, name string, encode func() ([]byte, error)) error {
	v, err := encode()
	if err != nil {
		return err
	}
	before, err := f.Fact(name)
	if (err != nil) || bytes.Equal(before, v) {
		return err
	}
	return f.SetFact(name, v)
}
