// SPDX-License-Identifier: Apache-2.0

//go:build unix

package hosts

import (
	"bytes"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"mirrord/replica/hash"
	"mirrord/testing/replicatest"
)

// URLs to candidate pairs.
func BenchmarkStageOne(b *testing.B) {
	dir := replicatest.DataDir(b)
	if dir == "" {
		return
	}
	lines := replicatest.ReadLines(b, filepath.Join(dir, "replicas", "mirrors2010", "urls.txt.gz"))
	var urls [][]byte
	for _, line := range lines {
		urls = append(urls, []byte(line))
	}
	start := replicatest.CPUSeconds(b)
	for b.Loop() {
		v := NewInventory(StageOne{})
		for _, u := range urls {
			_ = v.AddURL(u)
		}
		b.ReportMetric(float64(len(v.Pairs())), "pairs")
	}
	b.ReportMetric(float64(len(urls))*float64(b.N)/(replicatest.CPUSeconds(b)-start), "URLs/cpu-s")
}

// longList makes a list of n addresses of hosts of 30, 300, 3000, 30 000 and so on, of which every fifth
// mirrors an earlier one under another prefix.
func longList(n int) []byte {
	var out []byte
	for host := 0; n > 0; host++ {
		size := 30
		for x := hash.Mix(uint64(host) + 1); x&3 == 0 && size < 1<<20; x >>= 2 {
			size *= 10
		}
		from, prefix := host, "/"
		if host%5 == 4 {
			from, prefix = host-4, "/pub/mirror/"
		}
		for i := range min(n, size) {
			x := hash.Mix(uint64(from)<<32 | uint64(i))
			out = append(out, "http://www.host"...)
			out = strconv.AppendInt(out, int64(host), 10)
			out = append(out, ".test"+prefix...)
			out = strconv.AppendUint(append(out, "section"...), x%40, 10)
			out = strconv.AppendUint(append(out, '/'), x>>8%1000, 36)
			out = strconv.AppendUint(append(out, "/article-"...), x>>16&0xffffff, 36)
			out = append(out, ".html\n"...)
		}
		n -= size
	}
	return bytes.Clone(out)
}

// A long list, from its bytes to pairs; and how much the inventory takes of memory.
func BenchmarkStageOneLong(b *testing.B) {
	n := 2_000_000
	list := longList(n)
	b.SetBytes(int64(len(list)))
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := replicatest.CPUSeconds(b)
	for b.Loop() {
		v := NewInventory(StageOne{})
		if _, err := ReadURLs(bytes.NewReader(list), v.AddURL, func(int, string, error) error {
			return nil
		}); err != nil {
			b.Fatal(err)
		}
		added := replicatest.CPUSeconds(b)
		b.ReportMetric(float64(n)/(added-start), "added/cpu-s")
		b.ReportMetric(float64(len(v.Pairs())), "pairs")
		b.ReportMetric(float64(n)/(replicatest.CPUSeconds(b)-start), "URLs/cpu-s")
		b.StopTimer()
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc-before.HeapAlloc)/float64(n), "B/URL")
		b.ReportMetric(float64(v.Hosts()), "hosts")
		start = replicatest.CPUSeconds(b)
		b.StartTimer()
	}
}
