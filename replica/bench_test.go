//go:build unix

package replica

import (
	"path/filepath"
	"syscall"
	"testing"
)

// cpuSeconds returns the processor time this process has used. On a shared machine it says more than the clock does.
func cpuSeconds(tb testing.TB) float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		tb.Fatal(err)
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

// Pages to sketches: pages of 21 kB for each second of processor time.
func BenchmarkSketch(b *testing.B) {
	c := readCorpus(b)
	if c == nil {
		return
	}
	var all [][]byte
	total := 0
	for _, body := range c.blobs {
		all = append(all, body)
		total += len(body)
	}
	s := NewSketcher(SketchOptions{})
	b.SetBytes(int64(total))
	b.ReportAllocs()
	start := cpuSeconds(b)
	for b.Loop() {
		for _, body := range all {
			s.HTML(body)
		}
	}
	b.ReportMetric(float64(total)*float64(b.N)/21_000/(cpuSeconds(b)-start), "pages21kB/cpu-s")
}

// Generated pages: one in four resembles an earlier one.
func generated(n int) []Digest {
	out := make([]Digest, n)
	for i := range out {
		d := &out[i]
		d.Words = 1000
		x := mix(uint64(i) + 1)
		d.Text = x
		if i%4 == 3 {
			d.Sketch = out[mix(x)%uint64(i)].Sketch
			for j := range 12 {
				d.Sketch[mix(x+uint64(j))%Bins]++
			}
			continue
		}
		for j := range d.Sketch {
			if j%8 == 0 {
				x = mix(x + 1)
			}
			d.Sketch[j] = byte(x >> (j % 8 * 8))
		}
	}
	return out
}

// Candidates, their verification and union-find.
func BenchmarkGroup(b *testing.B) {
	digests := generated(1_000_000)
	start := cpuSeconds(b)
	for b.Loop() {
		g := Group(digests, GroupOptions{})
		b.ReportMetric(float64(g.Near), "near")
	}
	b.ReportMetric(float64(len(digests))*float64(b.N)/(cpuSeconds(b)-start), "pages/cpu-s")
}

// URLs to candidate pairs.
func BenchmarkStageOne(b *testing.B) {
	dir := dataDir(b)
	if dir == "" {
		return
	}
	lines := readLines(b, filepath.Join(dir, "replicas", "mirrors2010", "urls.txt.gz"))
	var urls [][]byte
	for _, line := range lines {
		urls = append(urls, []byte(line))
	}
	start := cpuSeconds(b)
	for b.Loop() {
		v := NewInventory(StageOne{})
		for _, u := range urls {
			_ = v.AddURL(u)
		}
		b.ReportMetric(float64(len(v.Pairs())), "pairs")
	}
	b.ReportMetric(float64(len(urls))*float64(b.N)/(cpuSeconds(b)-start), "URLs/cpu-s")
}
