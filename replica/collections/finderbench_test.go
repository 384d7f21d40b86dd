// SPDX-License-Identifier: Apache-2.0

//go:build unix

package collections

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mirrord/testing/replicatest"
)

// How many pages the benchmarks of scale are made of: the environment may say another number, 25000000 for
// the size of the paper's crawl.
func scale(b *testing.B) int {
	if s := os.Getenv("MIRRORD_REPLICA_PAGES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n <= 0 {
			b.Fatalf("MIRRORD_REPLICA_PAGES is %q", s)
		}
		return n
	}
	return 1_000_000
}

// fileSpill makes files that are removed already.
type fileSpill struct {
	dir   string
	bytes int64
}

type countedFile struct {
	*os.File
	s *fileSpill
}

func (f countedFile) Write(b []byte) (int, error) {
	f.s.bytes += int64(len(b))
	return f.File.Write(b)
}

func (s *fileSpill) Create() (SpillFile, error) {
	f, err := os.CreateTemp(s.dir, "run")
	if err != nil {
		return nil, err
	}
	return countedFile{f, s}, os.Remove(f.Name())
}

// budget is MIRRORD_REPLICA_MEMORY in bytes, 268435456 unless told.
func budget(b *testing.B) int64 {
	s := os.Getenv("MIRRORD_REPLICA_MEMORY")
	if s == "" {
		return 256 << 20
	}
	memory, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return memory
}

// Candidates, their verification and union-find; then directories and clusters. Processor time by phase, and
// the memory of the process at its highest.
func BenchmarkFinder(b *testing.B) {
	n, memory := scale(b), budget(b)
	spill := &fileSpill{dir: b.TempDir()}
	for b.Loop() {
		start := replicatest.CPUSeconds(b)
		for i := range n {
			generatedPage(i)
		}
		making := replicatest.CPUSeconds(b) - start // of pages, which is not measured
		phase, last, spent := "add", replicatest.CPUSeconds(b), map[string]float64{"add": -making}
		end := func(next string) {
			now := replicatest.CPUSeconds(b)
			spent[phase] += now - last
			phase, last = next, now
		}
		f := NewFinder(spill, FinderOptions{Memory: memory, Progress: func(next string, done, total int) error {
			if next != phase {
				runtime.GC()
				end(next)
			}
			return nil
		}})
		for i := range n {
			if err := f.Add(generatedPage(i)); err != nil {
				b.Fatal(err)
			}
		}
		g, found, err := f.Find()
		if err != nil {
			b.Fatal(err)
		}
		end("")
		all := 0.0
		for phase, s := range spent {
			b.ReportMetric(s, strings.ReplaceAll(phase, " ", "-")+"-cpu-s")
			all += s
		}
		b.ReportMetric(float64(n)/all, "found/cpu-s")
		b.ReportMetric(float64(n)/(spent["add"]+spent["compare words"]+spent["compare pages"]), "grouped/cpu-s")
		b.ReportMetric(float64(len(found.Copies)), "dirpairs")
		b.ReportMetric(float64(len(Clusters(found.Copies))), "clusters")
		b.ReportMetric(float64(g.Near), "near")
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
	}
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(r.Maxrss)*1024/float64(n), "rss-B/page")
	b.ReportMetric(float64(r.Maxrss)/1024, "rss-MiB")
	b.ReportMetric(float64(spill.bytes)/float64(n)/float64(b.N), "disk-B/page")
}
