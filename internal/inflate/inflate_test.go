// SPDX-License-Identifier: Apache-2.0

package inflate

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

func packed(t testing.TB, level int, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// samples are data of many kinds.
func samples() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 66_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "<p class=%d>The page of number %d, and nothing else.</p>\n", r.IntN(9), i)
	}
	skew := make([]byte, 40_000) // long codes
	for i := range skew {
		skew[i] = byte(min(r.ExpFloat64()*8, 255))
	}
	return map[string][]byte{
		"nothing": nil,
		"byte":    []byte("a"),
		"zeros":   make([]byte, 10_000),
		"pairs":   bytes.Repeat([]byte("ab"), 500),
		"seven":   bytes.Repeat([]byte("abcdefg"), 500),
		"nine":    bytes.Repeat([]byte("abcdefghi"), 500),
		"noise":   noise,
		"text":    []byte(text.String()),
		"skew":    skew,
	}
}

// What compress/flate packs is unpacked as it was, into memory that is just large enough, and up to where the
// memory ends.
func TestDecode(t *testing.T) {
	var d Decoder
	for name, data := range samples() {
		for _, level := range []int{flate.HuffmanOnly, 0, 1, 6} {
			src := append(packed(t, level, data), "what follows"...)
			for _, room := range []int{len(data), len(data) + 1000, len(data) / 2, 1} {
				dst := make([]byte, room)
				n, used, err := d.Decode(dst, src)
				want := data[:min(room, len(data))]
				if !bytes.Equal(dst[:n], want) {
					t.Fatalf("%s, level %d, room %d: %d bytes, not these %d", name, level, room, n, len(want))
				}
				switch {
				case room < len(data) && !errors.Is(err, ErrFull):
					t.Errorf("%s, level %d, room %d: %v", name, level, room, err)
				case room >= len(data) && (err != nil || used != len(src)-len("what follows")):
					t.Errorf("%s, level %d, room %d: %d of %d, %v", name, level, room, used, len(src), err)
				}
			}
		}
	}
}

// A stream that is cut off is told from one that is damaged.
func TestDecodeCut(t *testing.T) {
	var d Decoder
	for name, data := range samples() {
		src := packed(t, 6, data)
		dst := make([]byte, len(data))
		for _, n := range []int{0, 1, 2, len(src) / 2, len(src) - 2, len(src) - 1} {
			if n < 0 || n >= len(src) {
				continue
			}
			if _, _, err := d.Decode(dst, src[:n]); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s, %d of %d bytes: %v", name, n, len(src), err)
			}
		}
	}
}

// FuzzDecode holds the package against compress/flate: the same bytes, or an error from both.
func FuzzDecode(f *testing.F) {
	for _, data := range samples() {
		data = data[:min(len(data), 3000)]
		for _, level := range []int{-2, 0, 1, 6} {
			f.Add(packed(f, level, data))
		}
	}
	f.Add([]byte{7})
	const most = 1 << 20
	d, dst := new(Decoder), make([]byte, most)
	f.Fuzz(func(t *testing.T, src []byte) {
		from := bytes.NewReader(src)
		want, werr := io.ReadAll(io.LimitReader(flate.NewReader(from), most+1))
		n, used, err := d.Decode(dst, src)
		switch {
		case len(want) > most:
			if !errors.Is(err, ErrFull) || !bytes.Equal(dst, want[:most]) {
				t.Fatalf("%d bytes, %v", n, err)
			}
		case (err == nil) != (werr == nil):
			t.Fatalf("%v, compress/flate: %v", err, werr)
		case err == nil && (!bytes.Equal(dst[:n], want) || used != len(src)-from.Len()):
			t.Fatalf("%d bytes of %d, not %d of %d", n, used, len(want), len(src)-from.Len())
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for name, data := range samples() {
		src := packed(b, 6, data)
		b.Run(name, func(b *testing.B) {
			var d Decoder
			dst := make([]byte, len(data)+300)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, _, err := d.Decode(dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
