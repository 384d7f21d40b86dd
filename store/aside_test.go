// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"testing"
)

// A reader that keeps large frames beside the heap reads the same as any other: plain frames, packed ones,
// and deltas over them.
func TestFramesBesideTheHeap(t *testing.T) {
	for _, volatile := range []bool{true, false} {
		_, s := openTest(t, t.TempDir(), Options{Volatile: volatile})
		large := bytes.Repeat(random(64<<10, 1), 40)
		small := random(1000, 2)
		changed := bytes.Clone(large)
		copy(changed[1<<20:], "changed")
		d := []*Done{document(t, s, 0, string(large)), document(t, s, 1, string(small))}
		d = append(d, documentOver(t, s, 2, string(changed), d[0].At))
		commit(t, s, 0, newURLs(0, 3), d...)
		foldAll(t, s, 1)
		r := NewFrameReader()
		r.Aside = true
		for range 2 {
			for i, want := range [][]byte{large, small, changed} {
				f, err := s.Frames.ReadFrame(r, d[i].At)
				if err != nil || !bytes.Equal(f.Body, want) || string(f.Links) != "links" {
					t.Errorf("volatile %v, frame %d: %v, %d bytes, links %q", volatile, i, err, len(f.Body), f.Links)
				}
				if beside := len(r.aside) > 0; beside != (i != 1) {
					t.Errorf("volatile %v, frame %d: %d buffers beside the heap", volatile, i, len(r.aside))
				}
				r.Release()
				if cap(r.raw) > maxKept || cap(r.out) > maxKept || cap(r.other) > maxKept || len(r.aside) > 0 {
					t.Errorf("volatile %v, frame %d: kept %d, %d, %d bytes", volatile, i, cap(r.raw), cap(r.out),
						cap(r.other))
				}
			}
		}
	}
}
