// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"maps"
	"testing"
)

// Orphans are read again as they were written, as far as their numbers are given.
func TestOrphansAreKept(t *testing.T) {
	want := Orphans{3: 7, 4: 7, 5: 7, 9: 8, 299: 7}
	data, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeOrphans(data, 300); err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	delete(want, 299)
	if got, err := DecodeOrphans(data, 299); err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if data, err := (Orphans{}).Encode(); data != nil || err != nil {
		t.Errorf("no orphans: %q, %v", data, err)
	}
	if got, err := DecodeOrphans(nil, 300); len(got) != 0 || err != nil {
		t.Errorf("no data: %v, %v", got, err)
	}
	if _, err := DecodeOrphans([]byte("{"), 300); err == nil {
		t.Error("damage was read")
	}
}
