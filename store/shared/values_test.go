// SPDX-License-Identifier: Apache-2.0

package shared

import (
	"errors"
	"testing"
)

// A refused change is no failure to write: the error is the one of the callback.
func TestChangeRefused(t *testing.T) {
	st := open(t, t.TempDir(), false)
	put := func([]byte) ([]byte, error) { return []byte("1"), nil }
	if err := st.Change("things", "a", put); err != nil {
		t.Fatal(err)
	}
	no := errors.New("there is one already")
	err := st.Change("things", "a", func([]byte) ([]byte, error) { return nil, no })
	if !errors.Is(err, no) || err.Error() != no.Error() {
		t.Errorf("%v", err)
	}
	all, err := st.All("things")
	if err != nil || string(all["a"]) != "1" {
		t.Errorf("%q, %v", all, err)
	}
}
