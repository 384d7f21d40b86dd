// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mirrord/store/disk"
	"mirrord/store/record"
)

// prose makes n lines that do not repeat each other.
func prose(rng *rand.Rand, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("<p>%x and %x</p>\n", rng.Uint64(), rng.Uint64())
	}
	return out
}

func frameOf(t testing.TB, s *Site, at record.Place) []byte {
	t.Helper()
	raw, err := s.packs.frame(NewFrameReader(), at)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func appendOver(t testing.TB, s *Site, w *FrameWriter, body []byte, old record.Place) record.Place {
	t.Helper()
	at, err := s.Frames.AppendFrameOver(w, FrameMeta{Digest: sha256.Sum256(body)}, []byte("links"), body, old,
		record.Place{})
	if err != nil {
		t.Fatal(err)
	}
	return written(t, s, at)
}

func TestDeltaRoundTripInBulk(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	w, r := (&Frames{}).NewFrameWriter(), NewFrameReader()
	rapid.Check(t, func(rt *rapid.T) {
		chunk := rapid.SliceOfN(rapid.Byte(), 0, 300)
		a, b, c := chunk.Draw(rt, "a"), chunk.Draw(rt, "b"), chunk.Draw(rt, "c")
		same := random(rapid.SampledFrom([]int{0, 100, 5000, 200_000}).Draw(rt, "same"), 7)
		bodies := [][]byte{bytes.Join([][]byte{a, same, b}, nil), bytes.Join([][]byte{b, same, c}, nil),
			bytes.Join([][]byte{c, same, same, a}, nil), a}
		var old record.Place
		for i, body := range bodies {
			at := appendOver(t, s, w, body, old)
			f, err := s.Frames.ReadFrame(r, at)
			if err != nil || !bytes.Equal(f.Body, body) || string(f.Links) != "links" {
				rt.Fatalf("body %d: %v", i, err)
			}
			if err := f.check(0, sha256.Sum256(body)); err != nil {
				rt.Fatalf("body %d: %v", i, err)
			}
			if len(same) >= 5000 && i == 1 && at.Len > 1000 {
				rt.Fatalf("body %d takes %d bytes", i, at.Len)
			}
			old = at
		}
	})
}

func TestDeltaFallsBackToAFullFrameInBulk(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	w := s.Frames.NewFrameWriter()
	body := random(20_000, 1)
	old := appendOver(t, s, w, body, record.Place{})
	if raw := frameOf(t, s, appendOver(t, s, w, body, old)); !isDelta(raw) {
		t.Fatalf("the same again is %q", raw[:4])
	}
	big := random(maxDelta, 2)
	bigAt := appendOver(t, s, w, big, record.Place{})
	odd := old
	odd.Off++
	for _, c := range []struct {
		name string
		body []byte
		old  record.Place
	}{
		{"nothing in common", random(20_000, 3), old},
		{"no old one", body, record.Place{}},
		{"the old one's pack is missing", body, record.Place{Pack: 99, Len: 100}},
		{"the old one lies beyond the end", body, record.Place{Pack: old.Pack, Off: 1 << 40, Len: 100}},
		{"the old one is no frame", body, odd},
		{"the old one is too short", body, record.Place{Pack: old.Pack, Len: 1}},
		{"too large", big, old},
		{"the old one is too large", body, bigAt},
	} {
		at := appendOver(t, s, w, c.body, c.old)
		if raw := frameOf(t, s, at); isDelta(raw) {
			t.Errorf("%s: it is a delta", c.name)
		}
		if f, err := s.Frames.ReadFrame(NewFrameReader(), at); err != nil || !bytes.Equal(f.Body, c.body) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	large := random(8<<20, 4)
	at := appendOver(t, s, w, large, appendOver(t, s, w, large, record.Place{}))
	if f, err := s.Frames.ReadFrame(NewFrameReader(), at); err != nil || !bytes.Equal(f.Body, large) ||
		at.Len > 4<<20 {
		t.Errorf("8 MiB as a delta: %d bytes, %v", at.Len, err)
	}
}

// Any damage of a delta or its base is ErrDamaged, and never another document.
func TestDamagedDeltas(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	base := document(t, s, 0, string(random(3000, 1)))
	changed := documentOver(t, s, 1, string(random(3000, 1))+"more", base.At)
	other := document(t, s, 2, string(random(3000, 1)))
	commit(t, s, 0, newURLs(0, 3), base, changed, other)
	foldAll(t, s, 1)
	name := filepath.Join(s.Dir(), "packs", packName(base.At.Pack))
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head := good[changed.At.Off:]
	d, ok := parseDelta(head)
	if !ok || d.base != base.At {
		t.Fatalf("%+v, %v", d, ok)
	}
	header := func(f func(d *delta)) func(b []byte) {
		return func(b []byte) {
			d := d
			f(&d)
			d.put(b[changed.At.Off:][:changed.At.Len])
		}
	}
	cases := map[string]func(b []byte){
		"a bit of the base":        func(b []byte) { b[base.At.Off+100] ^= 1 },
		"the base's magic":         func(b []byte) { copy(b[base.At.Off:], "mPxx") },
		"a delta over itself":      header(func(d *delta) { d.base = changed.At }),
		"a depth that is not so":   header(func(d *delta) { d.depth++ }),
		"no depth":                 header(func(d *delta) { d.depth = 0 }),
		"another frame":            header(func(d *delta) { d.base = other.At }),
		"a base in a missing pack": header(func(d *delta) { d.base.Pack = 77 }),
		"a base before the start":  header(func(d *delta) { d.base.Off = -5 }),
		"a base beyond the end":    header(func(d *delta) { d.base.Off = 1 << 50 }),
		"a base of no length":      header(func(d *delta) { d.base.Len = 0 }),
		"a huge base":              header(func(d *delta) { d.base.Len = 1 << 31 }),
		"the sum of the base":      header(func(d *delta) { d.sum++ }),
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
		s.packs.forget()
		if _, err := s.Frames.ReadFrame(NewFrameReader(), changed.At); !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	bad := bytes.Clone(good)
	cases["the sum of the base"](bad)
	if err := os.WriteFile(name, bad, 0o644); err != nil {
		t.Fatal(err)
	}
	var found []Problem
	if _, err := s.Verify(t.Context(), func(p Problem) { found = append(found, p) }); err != nil ||
		len(found) != 1 || found[0].Kind != BadFrame || found[0].Subject != testURL(1).String() {
		t.Errorf("verify found %v, %v", found, err)
	}
	if err := os.WriteFile(name, good, 0o644); err != nil {
		t.Fatal(err)
	}
	s.packs.forget()
}

// A base that no record refers to stays as long as its delta, moves with its pack, and goes with its
// delta.
func TestCompactMovesBases(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	s.packs.max = 256 << 10
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
	if _, err := os.Stat(filepath.Join(s.Dir(), "packs", packName(base.At.Pack))); err == nil {
		t.Error("the pack of the base is still there")
	}
	rec, _, err := s.Records.Get(testURL(0))
	if err != nil || rec.At == changed.At {
		t.Fatalf("%+v, %v", rec, err)
	}
	f, err := s.Frames.ReadFrame(NewFrameReader(), rec.At)
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

// Packs that are too large for one transaction move one after the other, so that a delta may move twice, or
// out of a pack that is still to come.
func TestPacksMoveOneByOne(t *testing.T) {
	for seed := range uint64(8) {
		_, s := openTest(t, t.TempDir(), Options{Volatile: true})
		h := newPastOf(t, s, rand.New(rand.NewPCG(seed, 9)), 8, seed%2 > 0)
		for n := 1; n < 8; n += 2 {
			h.drop(n)
		}
		uses, deltas, err := s.compactor().packUses(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.packs.finish(); err != nil {
			t.Fatal(err)
		}
		if err := s.update("begin pack", s.packs.note); err != nil {
			t.Fatal(err)
		}
		h.rng.Shuffle(len(uses), func(i, j int) { uses[i], uses[j] = uses[j], uses[i] })
		var c Compaction
		for _, u := range uses {
			if err := s.compactor().movePack(t.Context(), u, deltas, &c); err != nil {
				t.Fatal(err)
			}
			verifyTest(t, s)
		}
		if c.Packs != len(uses) || len(c.Damaged) > 0 || len(deltas) == 0 {
			t.Errorf("seed %d: %+v of %d packs, %d deltas", seed, c, len(uses), len(deltas))
		}
		now, _, err := s.compactor().packUses(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range deltas {
			if f, err := s.Frames.ReadFrame(NewFrameReader(), d.at); err != nil || len(f.Body) == 0 {
				t.Errorf("seed %d: delta at %v: %v", seed, d.at, err)
			}
		}
		if len(now) == 0 {
			t.Error("no packs")
		}
		h.check(s)
	}
}

// An unreadable delta stays where it is when its base moves; the others over the same base move with it.
func TestCompactBesideADamagedDelta(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true}, BadFrame)
	s.packs.max = 256 << 10
	body := string(random(60_000, 1))
	base := documentOver(t, s, 0, body, record.Place{})
	for id := 2; id < 6; id++ {
		document(t, s, id, string(random(60_000, byte(id+1))))
	}
	keep := document(t, s, 2, string(random(200_000, 9)))
	bad, good := documentOver(t, s, 0, "bad"+body, base.At), documentOver(t, s, 1, "good"+body, base.At)
	commit(t, s, 0, newURLs(0, 3), bad, good, keep)
	foldAll(t, s, 1)
	name := filepath.Join(s.Dir(), "packs", packName(bad.At.Pack))
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	raw[bad.At.Off+int64(bad.At.Len)-1] ^= 1
	if err := os.WriteFile(name, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	s.packs.forget()
	if c := compact(t, s, false); c.Packs == 0 || len(c.Damaged) > 0 {
		t.Errorf("%+v", c)
	}
	for id, want := range []string{"", "good" + body} {
		rec, _, err := s.Records.Get(testURL(id))
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.Frames.ReadFrame(NewFrameReader(), rec.At)
		if (want == "" && !errors.Is(err, disk.ErrDamaged)) || (want != "" && (err != nil ||
			string(f.Body) != want)) {
			t.Errorf("document %d: %v", id, err)
		}
	}
}

// The base of a document of an unfinished run stays where it is, because the journal is not rewritten.
func TestCompactLeavesBasesOfTheJournal(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	s.packs.max = 256 << 10
	body := string(random(60_000, 1))
	base := documentOver(t, s, 0, body, record.Place{})
	for id := 1; id < 6; id++ {
		document(t, s, id, string(random(60_000, byte(id+1))))
	}
	changed := documentOver(t, s, 0, "changed"+body, base.At)
	commit(t, s, 0, newURLs(0, 1), changed)
	compact(t, s, false)
	if f, err := s.Frames.ReadFrame(NewFrameReader(), changed.At); err != nil ||
		string(f.Body) != "changed"+body {
		t.Fatal(err)
	}
}

func FuzzDelta(f *testing.F) {
	w := (&Frames{}).NewFrameWriter()
	dict := random(3000, 1)
	for _, body := range [][]byte{nil, dict, append([]byte("head"), dict...)} {
		head, err := w.encode(nil, []byte("links"), body)
		if err != nil {
			f.Fatal(err)
		}
		raw := append(make([]byte, new(delta).start()), head[frameHeader:]...)
		copy(raw, deltaMagic)
		f.Add(raw, dict, uint32(1), int64(0), uint32(len(dict)))
	}
	_, s := openTest(f, f.TempDir(), Options{Volatile: true})
	old := appendOver(f, s, w, dict, record.Place{})
	f.Add(frameOf(f, s, appendOver(f, s, w, append([]byte("head"), dict...), old)), dict, old.Pack,
		old.Off, old.Len)
	f.Add([]byte(deltaMagic), []byte{}, uint32(0), int64(-1), uint32(0))
	r := NewFrameReader()
	f.Fuzz(func(t *testing.T, raw, dict []byte, pack uint32, off int64, n uint32) {
		if d, ok := parseDelta(raw); ok { // get past the checksum
			d.base.Pack, d.base.Off, d.base.Len = pack, off, n
			d.put(raw)
			if got, ok := parseDelta(raw); !ok || got != d ||
				crc32.Checksum(raw[frameHeader:], castagnoli) != binary.LittleEndian.Uint32(raw[8:]) {
				t.Fatalf("%+v, want %+v", got, d)
			}
			if out, err := r.decodeOver(raw[d.start():], dict, nil); err == nil && len(out) > maxDelta {
				t.Fatalf("a payload of %d bytes", len(out))
			} else if err != nil && !errors.Is(err, disk.ErrDamaged) {
				t.Fatal(err)
			}
		}
		if len(raw) < frameHeader {
			return
		}
		at, err := s.packs.append(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Frames.ReadFrame(r, at); err != nil && !errors.Is(err, disk.ErrDamaged) {
			t.Fatal(err)
		}
		if at.Off > 64<<20 {
			if err := s.packs.finish(); err != nil {
				t.Fatal(err)
			}
			if err := s.packs.remove(at.Pack); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// What a changed page of 43 KB costs to store and to read: in full, and as a delta.
func BenchmarkDelta(b *testing.B) {
	_, s := openTest(b, b.TempDir(), Options{Volatile: true})
	w, r := (&Frames{}).NewFrameWriter(), NewFrameReader()
	lines := prose(rand.New(rand.NewPCG(1, 1)), 1000)
	body := []byte(strings.Join(lines, ""))
	lines[500] = "<p>new\n"
	now := []byte(strings.Join(lines, ""))
	old := appendOver(b, s, w, body, record.Place{})
	for _, c := range []struct {
		name string
		now  []byte
		old  record.Place
	}{{"full", now, record.Place{}}, {"delta", now, old}} {
		at := appendOver(b, s, w, c.now, c.old)
		b.Run("write-"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.now)))
			for b.Loop() {
				at = appendOver(b, s, w, c.now, c.old)
			}
			b.ReportMetric(float64(at.Len), "bytes")
		})
		b.Run("read-"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.now)))
			for b.Loop() {
				if _, err := s.Frames.ReadFrame(r, at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
