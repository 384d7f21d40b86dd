// SPDX-License-Identifier: Apache-2.0

package phm

import (
	"archive/tar"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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
	if _, err := PackTar(&packedTar, tree, PackOptions{}); err != nil {
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
// between noise and zeros, in pieces of any size, and no such stream packs beyond the ratio.
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
		var deflated bytes.Buffer
		d, err := newBoundedDeflate(&deflated, 6)
		pieces := map[string]string{"index.html": "x", "all.raw": string(raw)}
		for rest := raw; len(rest) > 0 && err == nil; {
			n := min(len(rest), 1+rnd.IntN(300_000))
			_, err = d.Write(rest[:n])
			pieces[fmt.Sprintf("%d.raw", len(rest))] = string(rest[:n])
			rest = rest[n:]
		}
		if err == nil {
			err = d.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		tree := makePHM(t, "index.html", pieces)
		var zstded, alone bytes.Buffer
		for out, crew := range map[*bytes.Buffer]inorder.Crew{&zstded: crewOfThree(), &alone: {}} {
			if _, err := PackTar(out, tree, PackOptions{Crew: crew}); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(alone.Bytes(), zstded.Bytes()) {
			t.Error("three workers write other bytes than one")
		}
		for name, packed := range map[string]int{"deflate": deflated.Len(), "zstd": zstded.Len() / 2} {
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
		files := tar.NewReader(r)
		for n := len(pieces) + 2; n > 0; n-- {
			h, err := files.Next()
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(files)
			if err != nil || !bytes.Equal(got, tree[h.Name].Data) {
				t.Errorf("zstd: %s: %v, equal %v", h.Name, err, bytes.Equal(got, tree[h.Name].Data))
			}
		}
		if _, err := files.Next(); err != io.EOF {
			t.Errorf("after the last file: %v", err)
		}
		r.Close()
	}
}

func crewOfThree() inorder.Crew { return inorder.Crew{Go: func(f func()) { go f() }, Size: 3} }

// TestZstdAbort: what was written before an error is no whole stream, and of nothing nothing is written.
func TestZstdAbort(t *testing.T) {
	large := strings.Repeat("\x00", zstdPart)
	tree := makePHM(t, "a.html", map[string]string{
		"a.html": "x", "b.raw": large, "c.raw": large, "d.raw": large, "e.raw": large, "z.html": "x",
	})
	for _, crew := range []inorder.Crew{{}, crewOfThree()} {
		for gone, some := range map[string]bool{"a.html": false, "z.html": true} {
			less := maps.Clone(tree)
			delete(less, gone)
			var out bytes.Buffer
			if _, err := PackTar(&out, less, PackOptions{Crew: crew}); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("without %s: %v", gone, err)
			}
			if out.Len() == 0 && !some {
				continue
			}
			r, err := zstd.NewReader(&out)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, r); err == nil || n == 0 {
				t.Errorf("without %s %d bytes come out, %v", gone, n, err)
			}
			r.Close()
		}
	}
}
