// SPDX-License-Identifier: Apache-2.0

package bodies

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mirrord/fetch/heads"
	"mirrord/internal/regular"
	"mirrord/relocate"
	"mirrord/store/disk"
	"mirrord/store/record"

	"github.com/klauspost/compress/s2"
)

// A rest that lies does no harm.
func FuzzRest(f *testing.F) {
	const body = "an ABSOLUTE link"
	made := "an ../ link"
	spans := []relocate.Span{{Start: 3, End: 11, At: 3, To: 6}}
	frame := Frame{Meta: []byte("meta"), Links: []byte("links"), Body: []byte(body)}
	f.Add(bytes.Clone(new(FrameWriter).Rest("f", &frame, spans)[HeaderSize:]))
	f.Add([]byte{})
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte(made), 0o644); err != nil {
		f.Fatal(err)
	}
	root, err := regular.OpenRoot(dir)
	if err != nil {
		f.Fatal(err)
	}
	p := &Packs{Published: func(path string) (*os.File, error) { return root.Open(path) }}
	f.Fuzz(func(t *testing.T, packed []byte) {
		if n, err := s2.DecodedLen(packed); (err == nil) && n > 16<<20 {
			return // a gigabyte for every input would end the fuzzing
		}
		raw := append(make([]byte, HeaderSize), packed...)
		copy(raw, restMagic)
		seal(raw)
		payload, err := NewFrameReader().rest(p, raw)
		if err != nil {
			if !errors.Is(err, disk.ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		if _, err := split(payload); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzHeadsFile reads heads from a file that holds anything.
func FuzzHeadsFile(f *testing.F) {
	root, err := os.OpenRoot(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { root.Close() })
	made, err := new(Frames).OpenHeads(root)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { made.Close() })
	if err := made.Begin(nil); err != nil {
		f.Fatal(err)
	}
	url := testURL(1).String()
	for n := range 2 {
		h, err := heads.Parse(fmt.Appendf(nil, "HTTP/1.1 200 OK\nServer: nginx/1.22.1\nETag: \"%d\"\n\n", n))
		if err != nil {
			f.Fatal(err)
		}
		made.Add(url, h)
	}
	f.Add(made.enc.bundle(nil, made.raw, made.ends), uint16(1))
	f.Add([]byte(olderMagic+"\x00\x00\x00\x00\x05\x00\x00\x00\x00\x01\x02\x03"), uint16(8))
	f.Fuzz(func(t *testing.T, b []byte, off uint16) {
		if err := os.WriteFile(filepath.Join(root.Name(), HeadsFile(1)), b, 0o644); err != nil {
			t.Fatal(err)
		}
		made.Packs.unpacked.drop(0)
		at := record.HeadPlace{File: 1, Off: int64(off)}
		h, err := made.Read(url, at)
		if (err != nil && !errors.Is(err, disk.ErrDamaged)) || (err == nil && h.Size() > 2*heads.MaxSize) {
			t.Fatal(err)
		}
		made.Bundled(at)
	})
}
