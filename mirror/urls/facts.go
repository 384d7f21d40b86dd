// SPDX-License-Identifier: Apache-2.0

package urls

import "encoding/json"

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

// WriteFact stores a fact as JSON.
func WriteFact(f Facts, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.SetFact(name, data)
}
