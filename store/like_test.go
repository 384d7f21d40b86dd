// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mirrord/store/record"
)

func appendLike(t testing.TB, s *Site, w *FrameWriter, id int, body string, like record.Place) *record.Done {
	t.Helper()
	d := documentRecord(id, body, nil)
	var err error
	if d.At, err = s.Frames.AppendFrameOver(w, FrameMetaOf(&d.Resource), []byte("links"), []byte(body),
		record.Place{}, like); err != nil {
		t.Fatal(err)
	}
	d.At = written(t, s, d.At)
	f, err := s.Frames.ReadFrame(NewFrameReader(), d.At)
	if err != nil || string(f.Body) != body {
		t.Fatalf("document %d: %v", id, err)
	}
	return d
}

// depthOf is how many frames must be read before the one at a place.
func depthOf(t testing.TB, s *Site, at record.Place) int {
	t.Helper()
	under, err := s.packs.under(at)
	if err != nil {
		t.Fatal(err)
	}
	return len(under)
}

// Documents that say the same are deltas over one frame, the one that says it, and not over each other.
func TestFramesLike(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	w, rng := s.Frames.NewFrameWriter(), rand.New(rand.NewPCG(1, 2))
	text := strings.Join(prose(rng, 2000), " ")
	first := document(t, s, 0, text)
	last, done := first, []*record.Done{first}
	for i := 1; i < 50; i++ { // each found as like the one before
		last = appendLike(t, s, w, i, text+fmt.Sprint(i), last.At)
		done = append(done, last)
		if n := depthOf(t, s, last.At); n != 1 || last.At.Len > 200 {
			t.Fatalf("document %d is %d bytes over %d", i, last.At.Len, n)
		}
	}
	large := appendLike(t, s, w, 80, strings.Repeat(text, likeDelta/len(text)), first.At)
	if isDelta(frameOf(t, s, large.At)) {
		t.Error("a large document is a delta")
	}
	commit(t, s, 0, newURLs(0, 81), append(done, large)...)
	verifyTest(t, s)
}

// Over the document that it takes the place of a document is written where that is clearly worth it, else
// over the one that it is like.
func TestOldOrLike(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	w, rng := s.Frames.NewFrameWriter(), rand.New(rand.NewPCG(3, 4))
	lines, more := prose(rng, 1000), prose(rng, 1000)
	old, like := document(t, s, 0, strings.Join(lines, " ")), document(t, s, 1, strings.Join(more, " "))
	over := func(body string) record.Place {
		t.Helper()
		at, err := s.Frames.AppendFrameOver(w, FrameMeta{}, nil, []byte(body), old.At, like.At)
		if err != nil {
			t.Fatal(err)
		}
		under, err := s.packs.under(written(t, s, at))
		if err != nil {
			t.Fatal(err)
		}
		return append(under, record.Place{})[0]
	}
	for _, c := range []struct {
		name, body string
		want       record.Place
	}{
		{"a small change", strings.Join(lines, " ") + "more", old.At},
		{"much of the old one, and more of the other", strings.Join(append(lines[:300], more...), " "), like.At},
		{"nothing of both", strings.Join(prose(rng, 1000), " "), record.Place{}},
	} {
		if got := over(c.body); got != c.want {
			t.Errorf("%s: it is over %v, want %v", c.name, got, c.want)
		}
	}
	damageAt(t, s, old.At, int64(old.At.Len)/2)
	if got := over(strings.Join(lines, " ") + "more"); got != (record.Place{}) {
		t.Errorf("it is over %v, which is damaged", got)
	}
	damageAt(t, s, old.At, int64(old.At.Len)/2)
}
