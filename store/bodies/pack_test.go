// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mirrord/store/disk"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

func encodeFrame(t testing.TB, w *FrameWriter, m FrameMeta, links, body []byte) []byte {
	t.Helper()
	if err := w.fill(m, links, body); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(w.pack())
}

// encodePlain makes a frame as one-off mirrors wrote them once.
func encodePlain(t testing.TB, w *FrameWriter, m FrameMeta, links, body []byte) []byte {
	t.Helper()
	if err := w.fill(m, links, body); err != nil {
		t.Fatal(err)
	}
	seal(w.buf)
	return bytes.Clone(w.buf)
}

// encodeQuick makes a frame as one-off mirrors write them.
func encodeQuick(t testing.TB, w *FrameWriter, m FrameMeta, links, body []byte) []byte {
	t.Helper()
	if err := w.fill(m, links, body); err != nil {
		t.Fatal(err)
	}
	payload := w.buf[HeaderSize:]
	return appendS2(make([]byte, 0, roomForS2(payload)), quickMagic, payload)
}

func decodeFrame(r *FrameReader, raw []byte) (Frame, error) {
	if len(raw) < HeaderSize {
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
			if err := f.Check(m.ID, m.Digest); err != nil || !bytes.Equal(f.Links, links) ||
				!bytes.Equal(f.Body, body) {
				rt.Fatalf("%+v, %v", f, err)
			}
			if err := f.Check(m.ID, [32]byte{}); err != nil {
				rt.Fatalf("without a digest: %v", err)
			}
			if err := f.Check(m.ID, [32]byte{1}); !errors.Is(err, disk.ErrDamaged) {
				rt.Fatalf("another digest: %v", err)
			}
			if err := f.Check(m.ID+1, m.Digest); !errors.Is(err, disk.ErrDamaged) {
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
		if fix && len(raw) >= HeaderSize { // get past the checksum
			raw = bytes.Clone(raw)
			payload := raw[HeaderSize:]
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
		_ = fr.Check(1, [32]byte{})
	})
}

// A commit without a frame does not sync the pack: on a busy disk that waits for everybody's data.
func TestPackSyncsWhatIsNew(t *testing.T) {
	s := opened(t)
	document(t, s, 0, "a page")
	if err := s.Packs.Sync(); err != nil {
		t.Fatal(err)
	}
	pack := s.Packs.w
	gone, err := os.Create(filepath.Join(t.TempDir(), "pack"))
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	s.Packs.w = gone // which cannot be synced
	if err := s.Packs.Sync(); err != nil {
		t.Error("the pack was synced again:", err)
	}
	s.Packs.w = pack
	document(t, s, 0, "another page")
	s.Packs.w = gone
	if err := s.Packs.Sync(); err == nil {
		t.Error("a new frame was not synced")
	}
	s.Packs.w = pack
	if err := s.Packs.Sync(); err == nil {
		t.Error("what may be lost was synced later")
	}
}

// A number that begins as an object of JSON does, with a digest that ends as one does, is no object.
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
		if err := f.Check(id, m.Digest); err != nil {
			t.Errorf("%d: %v", id, err)
		}
	}
}

// A frame that is longer than its header says is damaged.
func TestFrameWithMoreBehindIt(t *testing.T) {
	raw := encodeFrame(t, (&Frames{}).NewFrameWriter(), FrameMeta{}, nil, []byte("body"))
	if _, err := decodeFrame(NewFrameReader(), append(raw, 0)); !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("%v", err)
	}
}

// badDisk is a file of which nothing can be read: EIO, as from a bad sector.
func badDisk(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open("/proc/self/mem") // nothing is mapped at its beginning
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, syscall.EIO) {
		t.Skipf("it says %v", err)
	}
	return f
}

// What the disk has lost of a pack is damage, for each way of reading it.
func TestUnreadablePack(t *testing.T) {
	s := opened(t)
	at := document(t, s, 0, "lost").At
	s.Packs.files[at.Pack] = badDisk(t)
	for what, read := range map[string]func() error{
		"document": func() error { _, err := s.ReadFrame(NewFrameReader(), at); return err },
		"header":   func() error { _, err := s.Packs.Under(at); return err },
		"frame":    func() error { _, err := s.Packs.Frame(NewFrameReader(), at); return err },
	} {
		if err := read(); !errors.Is(err, disk.ErrDamaged) || !strings.Contains(err.Error(), "smartctl") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
