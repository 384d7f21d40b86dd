// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"encoding/binary"
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

// Any damage of a delta or its base is ErrDamaged, and never another document.
func TestDamagedDeltas(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	base := document(t, s, 0, string(random(3000, 1)))
	changed := documentOver(t, s, 1, string(random(3000, 1))+"more", base.At)
	other := document(t, s, 2, string(random(3000, 1)))
	commit(t, s, 0, newURLs(0, 3), base, changed, other)
	foldAll(t, s, 1)
	name := filepath.Join(s.Dir, "packs", bodies.PackName(base.At.Pack))
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head := good[changed.At.Off:]
	d, ok := bodies.ParseDelta(head)
	if !ok || d.Base != base.At {
		t.Fatalf("%+v, %v", d, ok)
	}
	header := func(f func(d *bodies.DeltaHeader)) func(b []byte) {
		return func(b []byte) {
			d := d
			f(&d)
			d.Put(b[changed.At.Off:][:changed.At.Len])
		}
	}
	cases := map[string]func(b []byte){
		"a bit of the base":        func(b []byte) { b[base.At.Off+100] ^= 1 },
		"the base's magic":         func(b []byte) { copy(b[base.At.Off:], "mPxx") },
		"a delta over itself":      header(func(d *bodies.DeltaHeader) { d.Base = changed.At }),
		"a depth that is not so":   header(func(d *bodies.DeltaHeader) { d.Depth++ }),
		"no depth":                 header(func(d *bodies.DeltaHeader) { d.Depth = 0 }),
		"another frame":            header(func(d *bodies.DeltaHeader) { d.Base = other.At }),
		"a base in a missing pack": header(func(d *bodies.DeltaHeader) { d.Base.Pack = 77 }),
		"a base before the start":  header(func(d *bodies.DeltaHeader) { d.Base.Off = -5 }),
		"a base beyond the end":    header(func(d *bodies.DeltaHeader) { d.Base.Off = 1 << 50 }),
		"a base of no length":      header(func(d *bodies.DeltaHeader) { d.Base.Len = 0 }),
		"a huge base":              header(func(d *bodies.DeltaHeader) { d.Base.Len = 1 << 31 }),
		"the sum of the base":      header(func(d *bodies.DeltaHeader) { d.Sum++ }),
		"the length":               func(b []byte) { binary.LittleEndian.PutUint32(b[changed.At.Off+4:], 5) },
	}
	for i := range int64(changed.At.Len) {
		cases[fmt.Sprintf("byte %d", i)] = func(b []byte) { b[changed.At.Off+i] ^= 1 << (i % 8) }
	}
	for what, spoil := range cases {
		bad := bytes.Clone(good)
		spoil(bad)
		if err := os.WriteFile(name, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		s.Frames.Packs.Forget()
		if _, err := s.Frames.ReadFrame(bodies.NewFrameReader(), changed.At); !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	bad := bytes.Clone(good)
	cases["the sum of the base"](bad)
	if err := os.WriteFile(name, bad, 0o644); err != nil {
		t.Fatal(err)
	}
	var found []upkeep.Problem
	if _, err := s.Verify(t.Context(), func(p upkeep.Problem) { found = append(found, p) }); err != nil ||
		len(found) != 1 || found[0].Kind != upkeep.BadFrame || found[0].Subject != testURL(1).String() {
		t.Errorf("verify found %v, %v", found, err)
	}
	if err := os.WriteFile(name, good, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Frames.Packs.Forget()
}

// A base that no record refers to stays as long as its delta, moves with its pack, and goes with its
// delta.
func TestCompactMovesBases(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	s.Frames.Packs.Max = 256 << 10
	body := string(random(60_000, 1))
	base := documentOver(t, s, 0, body, record.Place{})
	var filler []*record.Done
	for id := 1; id < 6; id++ { // holes of the first pack, and some of the next
		filler = append(filler, document(t, s, id, string(random(60_000, byte(id+1)))))
	}
	changed := documentOver(t, s, 0, "changed"+body, base.At)
	if changed.At.Pack == base.At.Pack {
		t.Fatalf("delta %v and base %v lie in one pack", changed.At, base.At)
	}
	commit(t, s, 0, newURLs(0, 6), append([]*record.Done{changed}, filler[4])...)
	foldAll(t, s, 1)
	would := compact(t, s, true)
	did := compact(t, s, false)
	if did.Packs == 0 || did.Packs != would.Packs || did.Freed != would.Freed || did.Moved != would.Moved {
		t.Errorf("it did %+v and said %+v before", did, would)
	}
	if _, err := os.Stat(filepath.Join(s.Dir, "packs", bodies.PackName(base.At.Pack))); err == nil {
		t.Error("the pack of the base is still there")
	}
	rec, _, err := s.Records.Get(testURL(0))
	if err != nil || rec.At == changed.At {
		t.Fatalf("%+v, %v", rec, err)
	}
	f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), rec.At)
	if err != nil || string(f.Body) != "changed"+body {
		t.Fatal(err)
	}
	if deltasOf(t, s) != 1 {
		t.Errorf("%d deltas", deltasOf(t, s))
	}
	verifyTest(t, s)
	if c := compact(t, s, false); c.Packs != 0 {
		t.Errorf("again: %+v", c)
	}
}

// An unreadable delta stays where it is when its base moves; the others over the same base move with it.
func TestCompactBesideADamagedDelta(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true}, upkeep.BadFrame)
	s.Frames.Packs.Max = 256 << 10
	body := string(random(60_000, 1))
	base := documentOver(t, s, 0, body, record.Place{})
	for id := 2; id < 6; id++ {
		document(t, s, id, string(random(60_000, byte(id+1))))
	}
	keep := document(t, s, 2, string(random(200_000, 9)))
	bad, good := documentOver(t, s, 0, "bad"+body, base.At), documentOver(t, s, 1, "good"+body, base.At)
	commit(t, s, 0, newURLs(0, 3), bad, good, keep)
	foldAll(t, s, 1)
	name := filepath.Join(s.Dir, "packs", bodies.PackName(bad.At.Pack))
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	raw[bad.At.Off+int64(bad.At.Len)-1] ^= 1
	if err := os.WriteFile(name, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Frames.Packs.Forget()
	if c := compact(t, s, false); c.Packs == 0 || len(c.Damaged) > 0 {
		t.Errorf("%+v", c)
	}
	for id, want := range []string{"", "good" + body} {
		rec, _, err := s.Records.Get(testURL(id))
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), rec.At)
		if (want == "" && !errors.Is(err, disk.ErrDamaged)) || (want != "" && (err != nil ||
			string(f.Body) != want)) {
			t.Errorf("document %d: %v", id, err)
		}
	}
}

// The base of a document of an unfinished run stays where it is, because the journal is not rewritten.
func TestCompactLeavesBasesOfTheJournal(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	s.Frames.Packs.Max = 256 << 10
	body := string(random(60_000, 1))
	base := documentOver(t, s, 0, body, record.Place{})
	for id := 1; id < 6; id++ {
		document(t, s, id, string(random(60_000, byte(id+1))))
	}
	changed := documentOver(t, s, 0, "changed"+body, base.At)
	commit(t, s, 0, newURLs(0, 1), changed)
	compact(t, s, false)
	if f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), changed.At); err != nil ||
		string(f.Body) != "changed"+body {
		t.Fatal(err)
	}
}
