// SPDX-License-Identifier: Apache-2.0

//go:build unix

package relocate

import (
	"syscall"
	"testing"
)

// cpuSeconds returns the processor time this process has used. On a shared machine it says more than the
// clock does.
func cpuSeconds(tb testing.TB) float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		tb.Fatal(err)
	}
	return float64(r.Utime.Sec+r.Stime.Sec) + float64(r.Utime.Usec+r.Stime.Usec)/1e6
}

// BenchmarkRatio runs scan and splice, the Tokenizer and IndexByte in turns over the same pages and reports
// each in MB per second of processor time, and how many times as fast as the Tokenizer scan and splice are.
func BenchmarkRatio(b *testing.B) {
	pages, total := benchPages(b)
	in := Input{URL: benchURL(b), Format: HTML}
	var d Doc
	var out []byte
	ref := []byte("../some/other/page.html")
	var scan, tok, index, splice float64
	for b.Loop() {
		t0 := cpuSeconds(b)
		for _, p := range pages {
			if err := d.Scan(p, in); err != nil {
				b.Fatal(err)
			}
		}
		t1 := cpuSeconds(b)
		for _, p := range pages {
			if err := d.Scan(p, in); err != nil {
				b.Fatal(err)
			}
			out, _ = replaceLinks(out[:0], p, d.Charset, d.Links, d.Edits, func(int) ([]byte, bool, bool) {
				return ref, true, true
			})
		}
		t2 := cpuSeconds(b)
		tokenizeAll(pages)
		t3 := cpuSeconds(b)
		indexAll(pages)
		t4 := cpuSeconds(b)
		scan, splice, tok, index = scan+t1-t0, splice+t2-t1, tok+t3-t2, index+t4-t3
	}
	mb := float64(total) * float64(b.N) / 1e6
	b.ReportMetric(mb/scan, "scan-MB/s")
	b.ReportMetric(mb/splice, "scan+splice-MB/s")
	b.ReportMetric(mb/tok, "tokenizer-MB/s")
	b.ReportMetric(mb/index, "IndexByte-MB/s")
	b.ReportMetric(tok/splice, "x-tokenizer")
}
