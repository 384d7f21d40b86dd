// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"bytes"
	"compress/flate"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"mirrord/internal/inorder"
)

// TestPackedIsNoBomb: a site whose files are nearly nothing but zeros goes out in archives that come back, in
// every form.
func TestPackedIsNoBomb(t *testing.T) {
	bodies := map[string]string{"index.html": "x", "disk.raw": strings.Repeat("\x00", inMemory+(9<<20))}
	for i := range 20 {
		bodies["small/"+strings.Repeat("z", i+1)+".raw"] = strings.Repeat("\x00", 100_000)
	}
	tree := makePHM(t, "index.html", bodies)
	var packedTar bytes.Buffer
	z := NewZstd(&packedTar, inorder.Crew{})
	if _, err := PackTar(z, tree, PackOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"archive": pack(t, tree), "tar": packedTar.Bytes()} {
		report, err := verifyArchive(bytes.NewReader(b), int64(len(b)), Limits{}, VerifyOptions{})
		if err != nil || report.Err() != nil || report.Files != len(bodies) {
			t.Errorf("%s of %d bytes: %v", name, len(b), err)
		}
		// Limits.Ratio, which counts above 64 MiB
		if n := report.Bytes; n > int64(len(b))*2*packRatio || len(b) > 10<<20 {
			t.Errorf("%s: %d bytes hold %d", name, len(b), n)
		}
	}
}

// TestBoundedStreams: other people's decoders read what the bounded writers make of streams that change
// between noise and zeros, written in pieces of any size, and no such stream packs beyond the ratio.
func TestBoundedStreams(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for round := range 2 {
		var raw []byte
		for len(raw) < 12<<20 {
			part := make([]byte, rnd.IntN(6<<20))
			if rnd.IntN(4) == 0 {
				rand.NewChaCha8([32]byte{byte(round)}).Read(part[:min(len(part), 1<<16)])
			}
			raw = append(raw, part...)
		}
		write := func(w io.WriteCloser, err error) {
			for rest := raw; len(rest) > 0 && err == nil; {
				n := min(len(rest), 1+rnd.IntN(300_000))
				_, err = w.Write(rest[:n])
				rest = rest[n:]
			}
			if err == nil {
				err = w.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		var deflated, zstded, alone bytes.Buffer
		d, err := newBoundedDeflate(&deflated, 6)
		write(d, err)
		write(NewZstd(&zstded, inorder.Crew{Go: func(f func()) { go f() }, Size: 3}), nil)
		write(NewZstd(&alone, inorder.Crew{}), nil)
		if !bytes.Equal(alone.Bytes(), zstded.Bytes()) {
			t.Error("three workers write other bytes than one")
		}
		for name, packed := range map[string]int{"deflate": deflated.Len(), "zstd": zstded.Len()} {
			if packed*2*packRatio < len(raw) {
				t.Errorf("%s: %d bytes in %d", name, len(raw), packed)
			}
		}
		if got, err := io.ReadAll(flate.NewReader(&deflated)); err != nil || !slices.Equal(got, raw) {
			t.Errorf("deflate: %v, equal %v", err, slices.Equal(got, raw))
		}
		r, err := zstd.NewReader(&zstded)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !slices.Equal(got, raw) {
			t.Errorf("zstd: %v, equal %v", err, slices.Equal(got, raw))
		}
		r.Close()
	}
}

// TestZstdAbort: what was written before an error is no whole stream, and of nothing nothing is written.
func TestZstdAbort(t *testing.T) {
	for _, crew := range []inorder.Crew{{}, {Go: func(f func()) { go f() }, Size: 3}} {
		for _, size := range []int{100, 90 << 20} {
			var out bytes.Buffer
			z := NewZstd(&out, crew)
			if _, err := z.Write(make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			z.Abort()
			if out.Len() == 0 && size < zstdPart {
				continue
			}
			r, err := zstd.NewReader(&out)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, r); err == nil || n == 0 || n >= int64(size) {
				t.Errorf("%d bytes: %d come out, %v", size, n, err)
			}
			r.Close()
		}
	}
}
