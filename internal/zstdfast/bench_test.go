// SPDX-License-Identifier: Apache-2.0

package zstdfast

import (
	"os"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// BenchmarkEncoders compares the package with the library, in turns, on pieces of 2 MiB: clusters of a ZIM
// file. MIRRORD_ZSTD names a file to use, such as a tar of a mirror; without it, the data is generated and
// says little of the size.
func BenchmarkEncoders(b *testing.B) {
	data := slices.Concat(manual(b), words(6<<20, 1))
	if name := os.Getenv("MIRRORD_ZSTD"); name != "" {
		var err error
		if data, err = os.ReadFile(name); err != nil {
			b.Fatal(err)
		}
	}
	theirs, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		b.Fatal(err)
	}
	defer theirs.Close()
	ours := New()
	for _, c := range []struct {
		name string
		pack func(dst, src []byte) []byte
	}{
		{"zstdfast", func(dst, src []byte) []byte { return ours.Append(dst, src) }},
		{"klauspost", func(dst, src []byte) []byte { return theirs.EncodeAll(src, dst) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			var out []byte
			n := 0
			for b.Loop() {
				n = 0
				for piece := range slices.Chunk(data, 2<<20) {
					out = c.pack(out[:0], piece)
					n += len(out)
				}
			}
			b.ReportMetric(float64(len(data))/float64(n), "ratio")
		})
	}
}
