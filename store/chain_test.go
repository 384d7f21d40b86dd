// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/store/disk"
	"mirrord/store/record"
)

// What changes a little costs a little in every version, all over one frame, until a new one costs less.
func TestDeltasOverFullFrames(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	w, r := s.Frames.NewFrameWriter(), NewFrameReader()
	rng := rand.New(rand.NewPCG(1, 1))
	lines := prose(rng, 400)
	var places []record.Place
	var bodies []string
	var old record.Place
	full, size := 0, uint32(0)
	for i := range 60 {
		for range 4 {
			lines[rng.IntN(len(lines))] = prose(rng, 1)[0]
		}
		body := strings.Join(lines, "")
		at := appendOver(t, s, w, []byte(body), old)
		if n := depthOf(t, s, at); n == 0 {
			full++
		} else if n > 1 || (i <= 8 && int(at.Len) > 400*i) {
			t.Errorf("version %d has depth %d; four lines of 45 bytes cost %d bytes", i, n, at.Len)
		}
		if i > 0 {
			size += at.Len
		}
		places, bodies = append(places, at), append(bodies, body)
		old = at
	}
	for i, at := range places {
		if f, err := s.Frames.ReadFrame(r, at); err != nil || string(f.Body) != bodies[i] {
			t.Fatal(i, err)
		}
	}
	t.Logf("%d full frames of %d bytes, %d bytes of others", full, places[0].Len, size)
	if full > 3 {
		t.Errorf("%d full frames", full)
	}
}

// chainOf makes versions of a document as older versions of the program did, each over the one before, with a
// pack of its own for each. Only the last one is in use.
func chainOf(t testing.TB, s *Site, n int) (places []record.Place, bodies []string) {
	t.Helper()
	s.packs.max = 128 << 10
	body := string(random(20_000, 1))
	filler := func(i int) { document(t, s, i+1, string(random(120_000, byte(i+2)))) }
	last := documentOver(t, s, 0, body, record.Place{})
	for i := range n {
		places, bodies = append(places, last.At), append(bodies, body)
		filler(i)
		body += fmt.Sprintf("change %d", i)
		last = deepOver(t, s, 0, body, last.At)
	}
	commit(t, s, 0, newURLs(0, 1), last)
	foldAll(t, s, 1)
	return append(places, last.At), append(bodies, body)
}

// What a delta over deltas needs stays as long as that is in use. When a part of it moves it becomes a delta
// over the full frame.
func TestCompactMovesChains(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	places, bodies := chainOf(t, s, 5)
	would := compact(t, s, true)
	did := compact(t, s, false)
	if did.Packs < 5 || did.Packs != would.Packs {
		t.Errorf("it did %+v and said %+v before", did, would)
	}
	rec, _, err := s.Records.Get(testURL(0))
	if err != nil || rec.At == places[5] {
		t.Fatalf("%+v, %v", rec, err)
	}
	if f, err := s.Frames.ReadFrame(NewFrameReader(), rec.At); err != nil || string(f.Body) != bodies[5] {
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
	s.packs.max = 128 << 10
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
	if f, err := s.Frames.ReadFrame(NewFrameReader(), rec.At); err != nil || string(f.Body) != body {
		t.Error(err)
	}
	verifyTest(t, s)
}

// Any damage within a chain is ErrDamaged for all deltas over it, and no harm to the next version.
func TestDamagedChains(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	places, bodies := chainOf(t, s, 4)
	name := filepath.Join(s.Dir(), "packs", packName(places[2].Pack))
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head := good[places[2].Off:][:places[2].Len]
	d, _ := parseDelta(head)
	for what, spoil := range map[string]func(b []byte, d delta){
		"a bit":                 func(b []byte, d delta) { b[len(b)-1] ^= 1 },
		"a loop":                func(b []byte, d delta) { d.base = places[4]; d.put(b) },
		"a loop of right depth": func(b []byte, d delta) { d.base, d.depth = places[3], 4; d.put(b) },
		"another base":          func(b []byte, d delta) { d.sum++; d.put(b) },
		"a base left out":       func(b []byte, d delta) { d.base, d.depth = places[0], 1; d.put(b) },
		"the deepest":           func(b []byte, d delta) { d.depth = 255; d.put(b) },
	} {
		bad := bytes.Clone(good)
		spoil(bad[places[2].Off:][:places[2].Len], d)
		if err := os.WriteFile(name, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		s.packs.forget()
		for i, at := range places {
			f, err := s.Frames.ReadFrame(NewFrameReader(), at)
			if (i < 2 && (err != nil || string(f.Body) != bodies[i])) || (i >= 2 && !errors.Is(err, disk.ErrDamaged)) {
				t.Errorf("%s: version %d: %v", what, i, err)
			}
		}
		next := appendOver(t, s, (&Frames{}).NewFrameWriter(), []byte(bodies[4]), places[4])
		if f, err := s.Frames.ReadFrame(NewFrameReader(), next); err != nil || string(f.Body) != bodies[4] {
			t.Errorf("%s: the next version: %v", what, err)
		}
		var found []Problem
		if _, err := s.Verify(t.Context(), func(p Problem) { found = append(found, p) }); err != nil ||
			len(found) != 1 || found[0].Kind != BadFrame {
			t.Errorf("%s: verify found %v, %v", what, found, err)
		}
		if _, err := s.Compact(t.Context(), true); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := os.WriteFile(name, good, 0o644); err != nil {
		t.Fatal(err)
	}
	s.packs.forget()
}
