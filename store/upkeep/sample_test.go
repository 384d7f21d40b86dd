// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// The parts of a division together read what a whole check reads, once, and damage is found by the part that
// it belongs to. What paces the check sees the bytes, and ends it.
func TestSampleIsAPart(t *testing.T) {
	dir := t.TempDir()
	s := verifySite(t, dir)
	whole, err := s.Verify(t.Context(), nil)
	if err != nil || whole.Problems > 0 {
		t.Fatalf("%+v, %v", whole, err)
	}
	of := func(odd bool) func(string) bool {
		return func(url string) bool { return (url[len(url)-1]%2 == 1) == odd }
	}
	var parts Stats
	spent := int64(0)
	spend := func(n int64) error {
		spent += n
		return nil
	}
	for _, odd := range []bool{false, true} {
		part, err := s.Sample(t.Context(), Sampling{Pick: of(odd), Spend: spend}, nil)
		if err != nil || part.Records != whole.Records || part.Problems > 0 {
			t.Errorf("%+v, %v", part, err)
		}
		parts.Frames, parts.Blobs, parts.Bytes = parts.Frames+part.Frames, parts.Blobs+part.Blobs,
			parts.Bytes+part.Bytes
	}
	if parts.Frames != whole.Frames || parts.Blobs != whole.Blobs || parts.Bytes != whole.Bytes {
		t.Errorf("parts %+v, whole %+v", parts, whole)
	}
	if spent < whole.Bytes {
		t.Errorf("paced over %d bytes, of %d", spent, whole.Bytes)
	}
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs/??/*"))
	if err != nil || len(blobs) != 1 {
		t.Fatal(blobs, err)
	}
	write := func(body string) { // of testURL(2)
		if err := os.WriteFile(blobs[0], []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("owt")
	defer write("two")
	for _, odd := range []bool{false, true} {
		part, err := s.Sample(t.Context(), Sampling{Pick: of(odd)}, nil)
		if err != nil || (part.Problems > 0) == odd {
			t.Errorf("odd %v: %+v, %v", odd, part, err)
		}
	}
	enough := errors.New("enough")
	_, err = s.Sample(t.Context(), Sampling{Spend: func(int64) error { return enough }}, nil)
	if !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
}
