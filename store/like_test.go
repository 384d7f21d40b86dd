// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func appendLike(t testing.TB, s *Site, w *FrameWriter, id int, body string, like Place) *Done {
	t.Helper()
	d := documentRecord(id, body, nil)
	var err error
	if d.At, err = s.Frames.AppendFrameLike(w, FrameMetaOf(&d.Resource), []byte("links"), []byte(body),
		like); err != nil {
		t.Fatal(err)
	}
	f, err := s.Frames.ReadFrame(NewFrameReader(), d.At)
	if err != nil || string(f.Body) != body {
		t.Fatalf("document %d: %v", id, err)
	}
	return d
}

// depthOf is how many frames must be read before the one at a place.
func depthOf(t testing.TB, s *Site, at Place) int {
	t.Helper()
	links, err := s.packs.chain(nil, at)
	if err != nil {
		t.Fatal(err)
	}
	return len(links) - 1
}

// Documents that say the same are deltas over one frame, the one that says it, and not over each other.
func TestFramesLike(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	w, rng := s.Frames.NewFrameWriter(), rand.New(rand.NewPCG(1, 2))
	text := strings.Join(prose(rng, 2000), " ")
	first := document(t, s, 0, text)
	last, done := first, []*Done{first}
	for i := 1; i < 50; i++ { // each found as like the one before
		last = appendLike(t, s, w, i, text+fmt.Sprint(i), last.At)
		done = append(done, last)
		if n := depthOf(t, s, last.At); n != 1 || last.At.Len > 200 {
			t.Fatalf("document %d is %d bytes over %d", i, last.At.Len, n)
		}
	}
	// A page that has become another one, and those that say the same.
	other := strings.Join(prose(rng, 2000), " ")
	changed := documentOver(t, s, 50, strings.Join(prose(rng, 2000), " ")+other[:len(other)/2], Place{})
	if changed = documentOver(t, s, 50, other, changed.At); depthOf(t, s, changed.At) != 1 {
		t.Fatal("the page that has changed is stored in full")
	}
	last = appendLike(t, s, w, 51, other, changed.At)
	if last.At.Len > 200 {
		t.Errorf("a page that says what a changed one does takes %d bytes", last.At.Len)
	}
	done = append(done, changed, last)
	// Each differs from the one before by more than nearly: no chain is too deep.
	for i := 52; i < 80; i++ {
		other = strings.Join(prose(rng, 400), " ") + other[len(other)/5:]
		last = appendLike(t, s, w, i, other, last.At)
		done = append(done, last)
		if n := depthOf(t, s, last.At); n > maxDepth {
			t.Fatalf("document %d: depth %d", i, n)
		}
	}
	large := appendLike(t, s, w, 80, strings.Repeat(text, likeDelta/len(text)), first.At)
	if isDelta(frameOf(t, s, large.At)) {
		t.Error("a large document is a delta")
	}
	commit(t, s, 0, newURLs(0, 81), append(done, large)...)
	verifyTest(t, s)
}

// A delta is written only when it clearly pays.
func TestAppendDelta(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	w, rng := s.Frames.NewFrameWriter(), rand.New(rand.NewPCG(3, 4))
	text := strings.Join(prose(rng, 2000), " ")
	first := document(t, s, 0, text)
	try := func(body string, over Place) bool {
		t.Helper()
		_, before := s.packs.where()
		at, ok, err := s.Frames.AppendDelta(w, FrameMetaOf(&documentRecord(0, body, nil).Resource), nil,
			[]byte(body), over)
		if err != nil {
			t.Fatal(err)
		}
		if _, after := s.packs.where(); after-before != int64(at.Len) || ok != (at.Len > 0) {
			t.Errorf("%d bytes were written for %v", after-before, at)
		}
		return ok
	}
	if !try(text+" more", first.At) {
		t.Error("a small change is no delta")
	}
	if try(strings.Join(prose(rng, 2000), " "), first.At) {
		t.Error("another text is a delta")
	}
	if try(text, Place{}) {
		t.Error("a delta over nothing")
	}
	name := filepath.Join(s.Dir(), "packs", packName(first.At.Pack))
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	raw[first.At.Off+int64(first.At.Len)/2] ^= 1
	if err := os.WriteFile(name, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	s.packs.forget()
	if try(text+" more", first.At) {
		t.Error("a delta over a damaged frame")
	}
	if d := documentRecord(1, text, nil); d != nil {
		d.At, err = s.Frames.AppendFrameLike(w, FrameMetaOf(&d.Resource), nil, []byte(text), first.At)
		if (err != nil) || isDelta(frameOf(t, s, d.At)) {
			t.Errorf("over a damaged frame: %v", err)
		}
	}
}
