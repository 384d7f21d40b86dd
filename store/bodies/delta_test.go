// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"mirrord/store/disk"
	"mirrord/store/record"

	"pgregory.net/rapid"
)

// prose makes n lines that do not repeat each other.
func prose(rng *rand.Rand, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("<p>%x and %x</p>\n", rng.Uint64(), rng.Uint64())
	}
	return out
}

func frameOf(t testing.TB, s *Frames, at record.Place) []byte {
	t.Helper()
	raw, err := s.Packs.Frame(NewFrameReader(), at)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func appendOver(t testing.TB, s *Frames, w *FrameWriter, body []byte, old record.Place) record.Place {
	t.Helper()
	at, err := s.AppendFrameOver(w, FrameMeta{Digest: sha256.Sum256(body)}, []byte("links"), body, old,
		record.Place{})
	if err != nil {
		t.Fatal(err)
	}
	return written(t, s, &record.Done{Resource: record.Resource{Body: record.PackBody, At: at}})[0]
}

func TestDeltaRoundTripInBulk(t *testing.T) {
	s := opened(t)
	w, r := (&Frames{}).NewFrameWriter(), NewFrameReader()
	rapid.Check(t, func(rt *rapid.T) {
		chunk := rapid.SliceOfN(rapid.Byte(), 0, 300)
		a, b, c := chunk.Draw(rt, "a"), chunk.Draw(rt, "b"), chunk.Draw(rt, "c")
		same := random(rapid.SampledFrom([]int{0, 100, 5000, 200_000}).Draw(rt, "same"), 7)
		texts := [][]byte{bytes.Join([][]byte{a, same, b}, nil), bytes.Join([][]byte{b, same, c}, nil),
			bytes.Join([][]byte{c, same, same, a}, nil), a}
		var old record.Place
		for i, body := range texts {
			at := appendOver(t, s, w, body, old)
			f, err := s.ReadFrame(r, at)
			if err != nil || !bytes.Equal(f.Body, body) || string(f.Links) != "links" {
				rt.Fatalf("body %d: %v", i, err)
			}
			if err := f.Check(0, sha256.Sum256(body)); err != nil {
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
	s := opened(t)
	w := s.NewFrameWriter()
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
		if f, err := s.ReadFrame(NewFrameReader(), at); err != nil || !bytes.Equal(f.Body, c.body) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	large := random(8<<20, 4)
	at := appendOver(t, s, w, large, appendOver(t, s, w, large, record.Place{}))
	if f, err := s.ReadFrame(NewFrameReader(), at); err != nil || !bytes.Equal(f.Body, large) ||
		at.Len > 4<<20 {
		t.Errorf("8 MiB as a delta: %d bytes, %v", at.Len, err)
	}
}

func FuzzDelta(f *testing.F) {
	w := (&Frames{}).NewFrameWriter()
	dict := random(3000, 1)
	for _, body := range [][]byte{nil, dict, append([]byte("head"), dict...)} {
		head := encodeFrame(f, w, FrameMeta{}, []byte("links"), body)
		raw := append(make([]byte, new(DeltaHeader).Start()), head[HeaderSize:]...)
		copy(raw, deltaMagic)
		f.Add(raw, dict, uint32(1), int64(0), uint32(len(dict)))
	}
	s := opened(f)
	old := appendOver(f, s, w, dict, record.Place{})
	f.Add(frameOf(f, s, appendOver(f, s, w, append([]byte("head"), dict...), old)), dict, old.Pack,
		old.Off, old.Len)
	f.Add([]byte(deltaMagic), []byte{}, uint32(0), int64(-1), uint32(0))
	r := NewFrameReader()
	f.Fuzz(func(t *testing.T, raw, dict []byte, pack uint32, off int64, n uint32) {
		if d, ok := ParseDelta(raw); ok { // get past the checksum
			d.Base.Pack, d.Base.Off, d.Base.Len = pack, off, n
			d.Put(raw)
			if got, ok := ParseDelta(raw); !ok || got != d ||
				crc32.Checksum(raw[HeaderSize:], castagnoli) != binary.LittleEndian.Uint32(raw[8:]) {
				t.Fatalf("%+v, want %+v", got, d)
			}
			if out, err := r.decodeOver(raw[d.Start():], dict, nil); err == nil && len(out) > maxDelta {
				t.Fatalf("a payload of %d bytes", len(out))
			} else if err != nil && !errors.Is(err, disk.ErrDamaged) {
				t.Fatal(err)
			}
		}
		if len(raw) < HeaderSize {
			return
		}
		at, err := s.Packs.Append(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.ReadFrame(r, at); err != nil && !errors.Is(err, disk.ErrDamaged) {
			t.Fatal(err)
		}
		if at.Off > 64<<20 {
			if err := s.Packs.Finish(); err != nil {
				t.Fatal(err)
			}
			if err := s.Packs.Remove(at.Pack); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// What a changed page of 43 KB costs to store and to read: in full, and as a delta.
func BenchmarkDelta(b *testing.B) {
	s := opened(b)
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
				if _, err := s.ReadFrame(r, at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What changes a little costs a little in every version, all over one frame, until a new one costs less.
func TestDeltasOverFullFrames(t *testing.T) {
	s := opened(t)
	w, r := s.NewFrameWriter(), NewFrameReader()
	rng := rand.New(rand.NewPCG(1, 1))
	lines := prose(rng, 400)
	var places []record.Place
	var texts []string
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
		places, texts = append(places, at), append(texts, body)
		old = at
	}
	for i, at := range places {
		if f, err := s.ReadFrame(r, at); err != nil || string(f.Body) != texts[i] {
			t.Fatal(i, err)
		}
	}
	t.Logf("%d full frames of %d bytes, %d bytes of others", full, places[0].Len, size)
	if full > 3 {
		t.Errorf("%d full frames", full)
	}
}

// depthOf is how many frames must be read before the one at a place.
func depthOf(t testing.TB, s *Frames, at record.Place) int {
	t.Helper()
	under, err := s.Packs.Under(at)
	if err != nil {
		t.Fatal(err)
	}
	return len(under)
}

func appendLike(
	t testing.TB, s *Frames, w *FrameWriter, id int, body string, like record.Place,
) *record.Done {
	t.Helper()
	d := documentRecord(id, body)
	var err error
	if d.At, err = s.AppendFrameOver(w, FrameMetaOf(&d.Resource), []byte("links"), []byte(body),
		record.Place{}, like); err != nil {
		t.Fatal(err)
	}
	d.At = written(t, s, d)[0]
	f, err := s.ReadFrame(NewFrameReader(), d.At)
	if err != nil || string(f.Body) != body {
		t.Fatalf("document %d: %v", id, err)
	}
	return d
}

// Documents that say the same are deltas over one frame, the one that says it, and not over each other.
func TestFramesLike(t *testing.T) {
	s := opened(t)
	w, rng := s.NewFrameWriter(), rand.New(rand.NewPCG(1, 2))
	text := strings.Join(prose(rng, 2000), " ")
	first := document(t, s, 0, text)
	last := first
	for i := 1; i < 50; i++ { // each found as like the one before
		last = appendLike(t, s, w, i, text+fmt.Sprint(i), last.At)
		if n := depthOf(t, s, last.At); n != 1 || last.At.Len > 200 {
			t.Fatalf("document %d is %d bytes over %d", i, last.At.Len, n)
		}
	}
	large := appendLike(t, s, w, 80, strings.Repeat(text, likeDelta/len(text)), first.At)
	if isDelta(frameOf(t, s, large.At)) {
		t.Error("a large document is a delta")
	}
}

// Over the document that it takes the place of a document is written where that is clearly worth it, else
// over the one that it is like.
func TestOldOrLike(t *testing.T) {
	s := opened(t)
	w, rng := s.NewFrameWriter(), rand.New(rand.NewPCG(3, 4))
	lines, more := prose(rng, 1000), prose(rng, 1000)
	old, like := document(t, s, 0, strings.Join(lines, " ")), document(t, s, 1, strings.Join(more, " "))
	over := func(body string) record.Place {
		t.Helper()
		at, err := s.AppendFrameOver(w, FrameMeta{}, nil, []byte(body), old.At, like.At)
		if err != nil {
			t.Fatal(err)
		}
		d := &record.Done{Resource: record.Resource{Body: record.PackBody, At: at}}
		under, err := s.Packs.Under(written(t, s, d)[0])
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
