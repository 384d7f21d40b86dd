// SPDX-License-Identifier: Apache-2.0

package store

import (
	"crypto/sha256"
	"errors"
	"testing"

	"mirrord/store/bodies"
	"mirrord/store/record"
)

// What emptying packs costs: most of it is reading and writing the documents that stay, and one pass over the
// records.
func BenchmarkCompact(b *testing.B) {
	const docs = 20_000
	dir := b.TempDir()
	st, err := OpenState(dir, Options{Volatile: true})
	if err != nil {
		b.Fatal(err)
	}
	s, err := st.OpenSite("x")
	if err != nil {
		b.Fatal(err)
	}
	w := s.Frames.NewFrameWriter()
	body := random(4000, 1)
	done := make([]*record.Done, docs)
	for i := range done {
		r := record.Resource{
			ID:     uint32(i),
			URL:    testURL(i),
			InSet:  i%2 == 0,
			MIME:   "text/html",
			Size:   int64(len(body)),
			Digest: sha256.Sum256(body),
			Body:   record.PackBody,
		}
		if r.At, err = s.Frames.AppendFrame(w, bodies.FrameMetaOf(&r), nil, body); err != nil {
			b.Fatal(err)
		}
		done[i] = &record.Done{Resource: r}
	}
	commit(b, s, 0, newURLs(0, docs), done...)
	foldAll(b, s, 1)
	if err := errors.Join(s.Close(), st.Close()); err != nil {
		b.Fatal(err)
	}
	var moved int64
	for b.Loop() {
		b.StopTimer()
		st, err := OpenState(copyState(b, dir), Options{Volatile: true})
		if err != nil {
			b.Fatal(err)
		}
		s, err := st.OpenSite("x")
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		c := compact(b, s, false)
		b.StopTimer()
		if c.Packs == 0 {
			b.Fatalf("nothing to do: %+v", c)
		}
		moved = c.Moved
		if err := errors.Join(s.Close(), st.Close()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.SetBytes(moved)
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/docs, "µs/record")
}
