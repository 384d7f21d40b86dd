// SPDX-License-Identifier: Apache-2.0

package source

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestFingerprints(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	f := newFingerprints([]uint32{9, 1 << 31, 0, 9, math.MaxUint32}, math.MaxUint32, now)
	b := f.encode()
	got, ok := readFingerprints(b)
	if !ok || !got.made.Equal(now) || got.upTo != f.upTo || !slices.Equal(got.files, f.files) {
		t.Errorf("%+v, %v: want %+v", got, ok, f)
	}
	for n := range b {
		spoilt := slices.Clone(b)
		spoilt[n] ^= 0x10
		if _, ok := readFingerprints(spoilt); ok {
			t.Errorf("byte %d may be any", n)
		}
		if _, ok := readFingerprints(b[:n]); ok {
			t.Errorf("the first %d bytes are enough", n)
		}
	}
}

func TestFingerprintsMayShare(t *testing.T) {
	now := time.Now()
	from := func(first, n uint32, upTo uint32) *fingerprints {
		var files []uint32
		for i := range n {
			if x := (first + i) * 7919; x <= upTo {
				files = append(files, x)
			}
		}
		return newFingerprints(files, upTo, now)
	}
	const all = math.MaxUint32
	site := from(0, 1000, all)
	for what, c := range map[string]struct {
		other *fingerprints
		want  bool
	}{
		"nothing":                        {from(2000, 1000, all), false},
		"no files":                       {from(0, 0, all), false},
		"too few":                        {from(1000-findLeast+1, 5000, all), false},
		"enough":                         {from(1000-findLeast, 5000, all), true},
		"one of a sample":                {from(499, 5000, 499*7919), true},
		"beyond the sample of the other": {from(500, 5000, 499*7919), false},
	} {
		if got := site.mayShare(c.other); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
		if got := c.other.mayShare(site); got != c.want {
			t.Errorf("%s, the other way: %v", what, got)
		}
	}
	// the same file at many places of this site
	if !newFingerprints(make([]uint32, findLeast), all, now).mayShare(from(0, 1, all)) {
		t.Error("a file that lies at many places")
	}
	if got := fingerprintsUpTo(4 * mostFingerprints); got != all/4 {
		t.Errorf("up to %#x of a large site", got)
	}
}
