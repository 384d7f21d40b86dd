// SPDX-License-Identifier: Apache-2.0

//go:build unix

package collections

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"mirrord/replica/unionfind"
	"mirrord/testing/replicatest"
)

// BenchmarkGrow grows clusters of MIRRORD_REPLICA_PAGES pages (a million unless told), in collections of 100
// pages with ten references each, every collection on four hosts, on one of them half of it.
func BenchmarkGrow(b *testing.B) {
	n := scale(b)
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := replicatest.CPUSeconds(b)
		spill := &fileSpill{dir: b.TempDir()}
		l := NewLinkBuilder(spill, LinkOptions{Memory: budget(b)})
		sets := unionfind.New(n)
		refs := make([]PageRef, 0, 10)
		first := map[int]int{}
		for i := range n {
			collection, copied, page := i/400, i%400/100, i%100
			if copied == 3 && page >= 50 { // not there: another page
				page += 1000
			}
			host, dir := fmt.Sprintf("h%d.test", 4*(collection%1000)+copied), fmt.Sprintf("/c%d/", collection)
			refs = refs[:0]
			for k := range 10 {
				to := fmt.Sprintf("p%d.html", (page*3+k*k+1)%100)
				refs = append(refs, NewPageRef(Address{host, dir + to}, []byte(to)))
			}
			if err := l.Add(Address{host, dir + fmt.Sprintf("p%d.html", page)}, refs); err != nil {
				b.Fatal(err)
			}
			if page < 100 {
				if f, ok := first[page]; ok && copied > 0 {
					sets.Union(uint32(f), uint32(i))
				} else {
					first[page] = i
				}
			}
		}
		made := replicatest.CPUSeconds(b)
		w, err := l.Web(sets, true)
		if err != nil {
			b.Fatal(err)
		}
		found, err := w.Linked(sets, Growing{Extended: true, SkipBoilerplate: true}, 10)
		if err := errors.Join(err, w.Close()); err != nil {
			b.Fatal(err)
		}
		end := replicatest.CPUSeconds(b)
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(n)/(end-made), "pages/s")
		b.ReportMetric(made-start, "s-made")
		b.ReportMetric(float64(after.Sys)/float64(n), "B/page")
		b.Logf("%d clusters, %d dangling", len(found), w.Dangling)
	}
}
