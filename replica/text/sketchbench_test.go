// SPDX-License-Identifier: Apache-2.0

//go:build unix

package text

import (
	"strings"
	"testing"

	"mirrord/testing/replicatest"
)

// Pages to sketches: pages of 21 kB for each second of processor time.
func BenchmarkSketch(b *testing.B) {
	c := replicatest.ReadCorpus(b)
	if c == nil {
		return
	}
	var all [][]byte
	total := 0
	for _, body := range c.Blobs {
		all = append(all, body)
		total += len(body)
	}
	s := NewSketcher(SketchOptions{})
	b.SetBytes(int64(total))
	b.ReportAllocs()
	start := replicatest.CPUSeconds(b)
	for b.Loop() {
		for _, body := range all {
			s.HTML(body)
		}
	}
	b.ReportMetric(float64(total)*float64(b.N)/21_000/(replicatest.CPUSeconds(b)-start), "pages21kB/cpu-s")
}

// Pages in other scripts than Latin, where every character has two or three bytes.
func BenchmarkSketchScripts(b *testing.B) {
	for name, text := range map[string]string{
		"Latin":        french,
		"Cyrillic":     russian,
		"Han":          chinese,
		"kana and Han": japanese,
		"Hangul":       korean,
	} {
		b.Run(name, func(b *testing.B) {
			page := []byte("<p>" + strings.Repeat(text, 21_000/len(text)))
			s := NewSketcher(SketchOptions{})
			start := replicatest.CPUSeconds(b)
			for b.Loop() {
				s.HTML(page)
			}
			b.ReportMetric(float64(len(page))*float64(b.N)/21_000/(replicatest.CPUSeconds(b)-start), "pages21kB/cpu-s")
		})
	}
}
