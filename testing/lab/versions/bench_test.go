// SPDX-License-Identifier: Apache-2.0

//go:build unix

package versions

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"
)

// bigSite is a site of 1000 directories with 100 files each, three levels deep.
func bigSite() []File {
	var files []File
	for i := range 100_000 {
		d := i / 100
		path := fmt.Sprintf("section-%02d/topic-%02d/part-%d/page-%05d.html", d/100, d/10%10, d%10, i)
		files = append(files, File{
			Path:   path,
			Digest: Digest{byte(i), byte(i >> 8), byte(i >> 16)},
			Size:   int64(i),
		})
	}
	return files
}

// aPercentLater changes one file in a hundred: nine tenths get other contents, the others go, and as many
// come.
func aPercentLater(files []File) (later []File) {
	for i, f := range files {
		switch {
		case i%1000 == 17:
			f.Path += ".new"
		case i%100 == 17:
			f.Digest[5]++
		}
		later = append(later, f)
	}
	return later
}

// cpuTime has a benchmark report the processor time of an operation: on a shared machine it says more than
// the clock does.
func cpuTime(b *testing.B) (report func()) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start := used()
	return func() { b.ReportMetric((used()-start).Seconds()*1000/float64(b.N), "cpu-ms/op") }
}

// BenchmarkDiff compares two versions of a site of 100 000 files, 1 % of them changed: from the two file
// lists (records), from two trees (trees); and reads the DoC of all directories off the script (changes).
func BenchmarkDiff(b *testing.B) {
	old := bigSite()
	later := aPercentLater(old)
	from, err := NewTree(slices.Values(old))
	if err != nil {
		b.Fatal(err)
	}
	to, err := NewTree(slices.Values(later))
	if err != nil {
		b.Fatal(err)
	}
	script := Diff(from, to)
	check := func(b *testing.B, n int) {
		if n != 1100 {
			b.Fatalf("%d edits, want 1100", n)
		}
	}
	b.Run("records", func(b *testing.B) {
		defer cpuTime(b)()
		for b.Loop() {
			x, _ := NewTree(slices.Values(old))
			y, _ := NewTree(slices.Values(later))
			check(b, len(Diff(x, y)))
		}
	})
	b.Run("trees", func(b *testing.B) {
		defer cpuTime(b)()
		for b.Loop() {
			check(b, len(Diff(from, to)))
		}
	})
	b.Run("changes", func(b *testing.B) {
		defer cpuTime(b)()
		for b.Loop() {
			if n := len(Changes(from, slices.Values(script))); n != 1111 {
				b.Fatalf("%d directories, want 1111", n)
			}
		}
	})
}
