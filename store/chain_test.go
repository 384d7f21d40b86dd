// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mirrord/store/bodies"
	"mirrord/store/disk"
	"mirrord/store/record"
	"mirrord/store/upkeep"
)

// chainOf makes versions of a document as older versions of the program did, each over the one before, with a
// pack of its own for each. Only the last one is in use.
func chainOf(t testing.TB, s *Site, n int) (places []record.Place, texts []string) {
	t.Helper()
	s.Frames.Packs.Max = 128 << 10
	body := string(random(20_000, 1))
	filler := func(i int) { document(t, s, i+1, string(random(120_000, byte(i+2)))) }
	last := documentOver(t, s, 0, body, record.Place{})
	for i := range n {
		places, texts = append(places, last.At), append(texts, body)
		filler(i)
		body += fmt.Sprintf("change %d", i)
		last = deepOver(t, s, 0, body, last.At)
	}
	commit(t, s, 0, newURLs(0, 1), last)
	foldAll(t, s, 1)
	return append(places, last.At), append(texts, body)
}

// What a delta over deltas needs stays as long as that is in use. When a part of it moves it becomes a delta
// over the full frame.
func TestCompactMovesChains(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	places, texts := chainOf(t, s, 5)
	would := compact(t, s, true)
	did := compact(t, s, false)
	if did.Packs < 5 || did.Packs != would.Packs {
		t.Errorf("it did %+v and said %+v before", did, would)
	}
	rec, _, err := s.Records.Get(testURL(0))
	if err != nil || rec.At == places[5] {
		t.Fatalf("%+v, %v", rec, err)
	}
	if f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), rec.At); err != nil || string(f.Body) != texts[5] {
		t.Fatal(err)
	}
	if n := depthOf(t, s, rec.At); n != 1 {
		t.Errorf("its depth is %d", n)
	}
	verifyTest(t, s)
	if c := compact(t, s, false); c.Packs != 0 {
		t.Errorf("again: %+v", c)
	}
}

// Compacting a pack also moves the deltas over its frames, out of packs that stay.
func TestCompactMovesWhatIsOverABase(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	s.Frames.Packs.Max = 128 << 10
	base := documentOver(t, s, 0, string(random(20_000, 1)), record.Place{})
	document(t, s, 9, string(random(100_000, 9))) // a hole
	body, last := string(random(20_000, 1)), base
	var done []*record.Done
	for i := 1; i < 4; i++ {
		body += fmt.Sprint("change ", i)
		last = documentOver(t, s, i, body, last.At)
		done = append(done, last, document(t, s, 10+i, string(random(120_000, byte(10+i)))))
	}
	commit(t, s, 0, newURLs(0, 20), done...)
	foldAll(t, s, 1)
	would, did := compact(t, s, true), compact(t, s, false)
	if did.Packs != 1 || did.Packs != would.Packs || did.Freed != would.Freed || did.Moved != would.Moved {
		t.Errorf("it did %+v and said %+v before", did, would)
	}
	rec, _, err := s.Records.Get(testURL(3))
	if err != nil || rec.At == last.At {
		t.Errorf("%+v, %v", rec, err)
	}
	if f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), rec.At); err != nil || string(f.Body) != body {
		t.Error(err)
	}
	verifyTest(t, s)
}

// Any damage within a chain is ErrDamaged for all deltas over it, and no harm to the next version.
func TestDamagedChains(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	places, texts := chainOf(t, s, 4)
	name := filepath.Join(s.Dir, "packs", bodies.PackName(places[2].Pack))
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head := good[places[2].Off:][:places[2].Len]
	d, _ := bodies.ParseDelta(head)
	for what, spoil := range map[string]func(b []byte, d bodies.DeltaHeader){
		"a bit":                 func(b []byte, d bodies.DeltaHeader) { b[len(b)-1] ^= 1 },
		"a loop":                func(b []byte, d bodies.DeltaHeader) { d.Base = places[4]; d.Put(b) },
		"a loop of right depth": func(b []byte, d bodies.DeltaHeader) { d.Base, d.Depth = places[3], 4; d.Put(b) },
		"another base":          func(b []byte, d bodies.DeltaHeader) { d.Sum++; d.Put(b) },
		"a base left out":       func(b []byte, d bodies.DeltaHeader) { d.Base, d.Depth = places[0], 1; d.Put(b) },
		"the deepest":           func(b []byte, d bodies.DeltaHeader) { d.Depth = 255; d.Put(b) },
	} {
		bad := bytes.Clone(good)
		spoil(bad[places[2].Off:][:places[2].Len], d)
		if err := os.WriteFile(name, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		s.Frames.Packs.Forget()
		for i, at := range places {
			f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), at)
			if (i < 2 && (err != nil || string(f.Body) != texts[i])) || (i >= 2 && !errors.Is(err, disk.ErrDamaged)) {
				t.Errorf("%s: version %d: %v", what, i, err)
			}
		}
		next := appendOver(t, s, (&bodies.Frames{}).NewFrameWriter(), []byte(texts[4]), places[4])
		if f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), next); err != nil || string(f.Body) != texts[4] {
			t.Errorf("%s: the next version: %v", what, err)
		}
		var found []upkeep.Problem
		if _, err := s.Verify(t.Context(), func(p upkeep.Problem) { found = append(found, p) }); err != nil ||
			len(found) != 1 || found[0].Kind != upkeep.BadFrame {
			t.Errorf("%s: verify found %v, %v", what, found, err)
		}
		if _, err := s.Compact(t.Context(), true); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := os.WriteFile(name, good, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Frames.Packs.Forget()
}

func appendOver(t testing.TB, s *Site, w *bodies.FrameWriter, body []byte, old record.Place) record.Place {
	t.Helper()
	m := bodies.FrameMeta{Digest: sha256.Sum256(body)}
	at, err := s.Frames.AppendFrameOver(w, m, []byte("links"), body, old, record.Place{})
	if err != nil {
		t.Fatal(err)
	}
	return written(t, s, at)
}

// depthOf is how many frames must be read before the one at a place.
func depthOf(t testing.TB, s *Site, at record.Place) int {
	t.Helper()
	under, err := s.Frames.Packs.Under(at)
	if err != nil {
		t.Fatal(err)
	}
	return len(under)
}
