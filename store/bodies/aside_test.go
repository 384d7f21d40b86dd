// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"bytes"
	"testing"

	"mirrord/store/record"
)

// A reader that keeps large frames beside the heap reads the same as any other: plain frames, packed ones,
// and deltas over them.
func TestFramesBesideTheHeap(t *testing.T) {
	for _, quick := range []bool{true, false} {
		s := opened(t)
		large := bytes.Repeat(random(64<<10, 1), 40)
		small := random(1000, 2)
		changed := bytes.Clone(large)
		copy(changed[1<<20:], "changed")
		d := []*record.Done{document(t, s, 0, string(large)), document(t, s, 1, string(small))}
		for i := 0; quick && i < len(d); i++ {
			payload, err := s.Packs.Payload(NewFrameReader(), d[i].At)
			if err == nil {
				d[i].At, err = AppendQuick(s.Packs, payload)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		over := documentRecord(2, string(changed))
		over.At = appendOver(t, s, s.NewFrameWriter(), changed, d[0].At)
		d = append(d, over)
		r := NewFrameReader()
		r.Aside = true
		for range 2 {
			for i, want := range [][]byte{large, small, changed} {
				f, err := s.ReadFrame(r, d[i].At)
				if err != nil || !bytes.Equal(f.Body, want) || string(f.Links) != "links" {
					t.Errorf("quick %v, frame %d: %v, %d bytes, links %q", quick, i, err, len(f.Body), f.Links)
				}
				if beside := len(r.aside) > 0; beside != (i != 1) {
					t.Errorf("quick %v, frame %d: %d buffers beside the heap", quick, i, len(r.aside))
				}
				r.Release()
				if cap(r.raw) > maxKept || cap(r.out) > maxKept || cap(r.other) > maxKept || len(r.aside) > 0 {
					t.Errorf("quick %v, frame %d: kept %d, %d, %d bytes", quick, i, cap(r.raw), cap(r.out),
						cap(r.other))
				}
			}
		}
	}
}

// No copy of a large document stays when it is gathered, and it is read again as any other.
func TestLargeFrames(t *testing.T) {
	for _, oneOff := range []bool{true, false} {
		s := opened(t)
		s.Plain = oneOff
		w := s.NewFrameWriter()
		texts := [][]byte{bytes.Repeat(random(64<<10, 1), 40), random(1000, 2), random(maxKept+1, 3)}
		var done []*record.Done
		for id, body := range texts {
			d := documentRecord(id, string(body))
			var err error
			if d.At, err = s.GatherFrame(w, FrameMetaOf(&d.Resource), []byte("links"), body); err != nil {
				t.Fatal(err)
			}
			if cap(w.buf) > maxKept || cap(w.out) > maxKept {
				t.Errorf("one-off %v, frame %d: buffers of %d and %d bytes", oneOff, id, cap(w.buf), cap(w.out))
			}
			done = append(done, d)
		}
		r := NewFrameReader()
		r.Aside = true
		for id, at := range written(t, s, done...) {
			f, err := s.ReadFrame(r, at)
			if err != nil || !bytes.Equal(f.Body, texts[id]) || string(f.Links) != "links" {
				t.Errorf("one-off %v, frame %d: %v, %d bytes, links %q", oneOff, id, err, len(f.Body), f.Links)
			}
			if err := f.Check(done[id].ID, done[id].Digest); err != nil {
				t.Errorf("one-off %v, frame %d: %v", oneOff, id, err)
			}
			if cap(r.out) > maxKept {
				t.Errorf("one-off %v, frame %d: %d bytes of the heap", oneOff, id, cap(r.out))
			}
			r.Release()
		}
	}
}
