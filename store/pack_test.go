// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"mirrord/store/disk"
	"mirrord/store/record"
)

func encodeFrame(t testing.TB, w *FrameWriter, m FrameMeta, links, body []byte) []byte {
	t.Helper()
	raw, err := w.encode(w.head(m), links, body)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(raw)
}

// encodePlain makes a frame as one-off mirrors wrote them once.
func encodePlain(t testing.TB, w *FrameWriter, m FrameMeta, links, body []byte) []byte {
	t.Helper()
	if err := w.fill(w.head(m), links, body); err != nil {
		t.Fatal(err)
	}
	seal(w.buf)
	return bytes.Clone(w.buf)
}

// encodeQuick makes a frame as one-off mirrors write them.
func encodeQuick(t testing.TB, _ *FrameWriter, m FrameMeta, links, body []byte) []byte {
	t.Helper()
	return encodeFrame(t, (&Frames{quick: true}).NewFrameWriter(), m, links, body)
}

func decodeFrame(r *FrameReader, raw []byte) (Frame, error) {
	if len(raw) < frameHeader {
		return Frame{}, disk.ErrDamaged
	}
	if err := checkFrame(raw); err != nil {
		return Frame{}, err
	}
	payload, err := r.payload(raw)
	if err != nil {
		return Frame{}, err
	}
	return split(payload)
}

func TestFrameRoundTrip(t *testing.T) {
	for _, encode := range []func(testing.TB, *FrameWriter, FrameMeta, []byte, []byte) []byte{
		encodeFrame,
		encodeQuick,
		encodePlain,
	} {
		w, r := (&Frames{}).NewFrameWriter(), NewFrameReader()
		rapid.Check(t, func(rt *rapid.T) {
			links, body := rapid.SliceOf(rapid.Byte()).Draw(rt, "links"), rapid.SliceOf(rapid.Byte()).Draw(rt, "body")
			m := FrameMeta{ID: rapid.Uint32().Draw(rt, "id"), Digest: sha256.Sum256(body)}
			raw := encode(t, w, m, links, body)
			f, err := decodeFrame(r, raw)
			if err != nil {
				rt.Fatal(err)
			}
			if err := f.check(m.ID, m.Digest); err != nil || !bytes.Equal(f.Links, links) ||
				!bytes.Equal(f.Body, body) {
				rt.Fatalf("%+v, %v", f, err)
			}
			if err := f.check(m.ID, [32]byte{}); err != nil {
				rt.Fatalf("without a digest: %v", err)
			}
			if err := f.check(m.ID, [32]byte{1}); !errors.Is(err, disk.ErrDamaged) {
				rt.Fatalf("another digest: %v", err)
			}
			if err := f.check(m.ID+1, m.Digest); !errors.Is(err, disk.ErrDamaged) {
				rt.Fatalf("another number: %v", err)
			}
			n := rapid.IntRange(0, len(raw)-1).Draw(rt, "cut")
			if _, err := decodeFrame(r, raw[:n]); !errors.Is(err, disk.ErrDamaged) {
				rt.Fatalf("cut to %d of %d bytes: %v", n, len(raw), err)
			}
			raw[n] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
			if _, err := decodeFrame(r, raw); err != nil && !errors.Is(err, disk.ErrDamaged) {
				rt.Fatalf("a bit is wrong at %d: %v", n, err)
			} else if err == nil && n != 2 { // no two magics differ in one bit
				rt.Fatalf("a wrong bit at %d was not found", n)
			}
		})
	}
}

func TestFrameBuffersAreGivenBack(t *testing.T) {
	body := random(3<<20, 1)
	w, r := (&Frames{}).NewFrameWriter(), NewFrameReader()
	raw := encodeFrame(t, w, FrameMeta{}, nil, body)
	if f, err := decodeFrame(r, raw); err != nil || !bytes.Equal(f.Body, body) {
		t.Fatal(err)
	}
	encodeFrame(t, w, FrameMeta{}, nil, nil)
	if n := max(cap(w.buf), cap(w.out), cap(r.out), cap(r.raw)); n > maxKept {
		t.Errorf("a buffer of %d bytes is kept", n)
	}
}

func FuzzFrame(f *testing.F) {
	w := (&Frames{}).NewFrameWriter()
	m := FrameMeta{ID: 1}
	f.Add(encodeFrame(f, w, m, []byte("links"), []byte("body")), false)
	f.Add(encodePlain(f, w, m, []byte("links"), []byte("body")), false)
	f.Add(encodeQuick(f, w, m, []byte("links"), bytes.Repeat([]byte("body"), 100)), true)
	f.Add(encodeFrame(f, w, m, nil, bytes.Repeat([]byte("x"), 1000)), true)
	f.Add([]byte(plainMagic+"\x01\x00\x00\x00\x00\x00\x00\x00\xff"), true)
	r := NewFrameReader()
	f.Fuzz(func(t *testing.T, raw []byte, fix bool) {
		if fix && len(raw) >= frameHeader { // get past the checksum
			raw = bytes.Clone(raw)
			payload := raw[frameHeader:]
			var h zstd.Header
			if n, err := s2.DecodedLen(payload); (err == nil) && n > 16<<20 {
				return
			}
			if h.Decode(payload) == nil && (h.FrameContentSize > 16<<20 || h.WindowSize > 16<<20) {
				return // a gigabyte for every input would end the fuzzing
			}
			binary.LittleEndian.PutUint32(raw[4:], uint32(len(payload)))
			binary.LittleEndian.PutUint32(raw[8:], crc32.Checksum(payload, castagnoli))
		}
		fr, err := decodeFrame(r, raw)
		if err != nil {
			if !errors.Is(err, disk.ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		_ = fr.check(1, [32]byte{})
	})
}

func TestPackRollsOver(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	s.packs.max = 4000
	var done []*record.Done
	for i := range 50 {
		done = append(done, document(t, s, i, string(random(500+i, byte(i)))))
	}
	big := document(t, s, 50, string(random(10000, 99))) // longer than a pack
	commit(t, s, 0, newURLs(0, 51), append(done, big)...)
	closeTest(t, st, s)
	packs, _ := filepath.Glob(filepath.Join(dir, "sites/x/packs/*.pack"))
	if len(packs) < 7 {
		t.Errorf("only %d packs", len(packs))
	}
	for _, p := range packs {
		if fi, err := os.Stat(p); err != nil || (fi.Size() > 4000 && fi.Size() < 10000) {
			t.Errorf("%s: %v, %v", p, fi.Size(), err)
		}
	}
	_, s = openTest(t, dir, Options{})
	if num, _ := s.packs.where(); int(num) != len(packs) {
		t.Errorf("continues in pack %d of %d", num, len(packs))
	}
	foldAll(t, s, 1)
	if n := len(resources(t, s)); n != 51 {
		t.Errorf("%d resources", n)
	}
}

// A commit without a frame does not sync the pack: on a busy disk that waits for everybody's data.
func TestPackSyncsWhatIsNew(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	commit(t, s, 0, newURLs(0, 1), document(t, s, 0, "a page"))
	pack := s.packs.w
	gone, err := os.Create(filepath.Join(t.TempDir(), "pack"))
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	s.packs.w = gone // which cannot be synced
	if err := s.packs.sync(); err != nil {
		t.Error("the pack was synced again:", err)
	}
	s.packs.w = pack
	d := document(t, s, 0, "another page")
	s.packs.w = gone
	if err := s.packs.sync(); err == nil {
		t.Error("a new frame was not synced")
	}
	s.packs.failed.Store(nil)
	s.packs.w = pack
	commit(t, s, 1, nil, d)
	foldAll(t, s, 1)
}

// What was not committed is cut off, also when a new pack was begun.
func TestPackUncommittedTail(t *testing.T) {
	for _, roll := range []bool{false, true} {
		dir := t.TempDir()
		st, s := openTest(t, dir, Options{})
		a := document(t, s, 0, "kept")
		commit(t, s, 0, newURLs(0, 1), a)
		if roll {
			s.packs.max = 10
		}
		document(t, s, 1, "never committed")
		document(t, s, 2, "neither")
		closeTest(t, st, s)
		st, s = openTest(t, dir, Options{})
		if num, size := s.packs.where(); num != 1 || size != int64(a.At.Len) {
			t.Errorf("roll %v: continues at %d in pack %d", roll, size, num)
		}
		s.packs.max = int64(a.At.Len) + 1
		b := document(t, s, 1, "another")
		if (roll && (b.At.Pack != 2 || b.At.Off != 0)) || (!roll && b.At.Pack != 2) {
			t.Errorf("the next frame lies at %+v", b.At)
		}
		commit(t, s, 1, newURLs(1, 2), b)
		closeTest(t, st, s)
		openTest(t, dir, Options{})
	}
}

func TestPackConcurrentAppends(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	s.packs.max = 20000
	done := make([]*record.Done, 400)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := g; i < len(done); i += 8 {
				done[i] = document(t, s, i, fmt.Sprintf("body %d %x", i, random(i, byte(i))))
			}
		})
	}
	wg.Wait()
	commit(t, s, 0, newURLs(0, len(done)), done...)
	r := NewFrameReader()
	for i, d := range done {
		f, err := s.Frames.ReadFrame(r, d.At)
		if err != nil || sha256.Sum256(f.Body) != d.Digest {
			t.Errorf("frame %d: %v", i, err)
		}
	}
}

func TestPackBadPlaces(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	d := document(t, s, 0, "body")
	commit(t, s, 0, newURLs(0, 1), d)
	r := NewFrameReader()
	for _, at := range []record.Place{
		{}, {Pack: 9, Len: 100}, {Pack: 1, Off: -1, Len: 100}, {Pack: 1, Off: 1, Len: d.At.Len - 1},
		{Pack: 1, Off: 0, Len: d.At.Len + 1}, {Pack: 1, Len: 1<<32 - 1},
		{Pack: 1, Off: 1<<63 - 1, Len: 1 << 31}, {Pack: 1, Off: 1 << 62, Len: 100}, {Pack: 1, Len: 3},
	} {
		if _, err := s.Frames.ReadFrame(r, at); !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("%+v: %v", at, err)
		}
	}
	if f, err := s.Frames.ReadFrame(r, d.At); err != nil || string(f.Body) != "body" {
		t.Error(err)
	}
}

// A number that begins as an object of JSON does, with a digest that ends as one does, is none.
func TestHeadThatLooksLikeJSON(t *testing.T) {
	var body []byte
	for n := range 1 << 16 {
		if body = fmt.Append(nil, n); sha256.Sum256(body)[metaDigest-1] == '}' {
			break
		}
	}
	for _, id := range []uint32{'{', '{' | 0x80<<1, 1<<28 + '{'} {
		m := FrameMeta{ID: id, Digest: sha256.Sum256(body)}
		f := Frame{Meta: m.append(nil), Body: body}
		if got, err := f.ID(); got != id || err != nil {
			t.Errorf("%d: %d, %v", id, got, err)
		}
		if err := f.check(id, m.Digest); err != nil {
			t.Errorf("%d: %v", id, err)
		}
	}
}
