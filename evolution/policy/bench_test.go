// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// bigSite makes a site: directories of so many pages below a tree of them, and the runs of its history. Every
// run asks for everything; a hundredth of the pages change, most of them always the same ones.
func bigSite(pages, perDir, runs int) (*Model, []Run) {
	rng := rand.New(rand.NewPCG(1, 2))
	m := NewModel()
	m.Grow(pages + pages/perDir + 1)
	dir := Root
	for i := range pages {
		if i%perDir == 0 {
			dir, _ = m.AddDir(Dir(rng.IntN(m.Dirs())) / 2)
			m.Add(dir, Listing, true)
		}
		m.AddNamed(dir, KindOf("x.html"), fmt.Sprint(i%(perDir*7), ".html"), true)
	}
	n := m.Units()
	out := []Run{{Time: 1, Entered: []Span{{0, uint32(n - 1)}}}}
	for r := 1; r < runs; r++ {
		run := Run{Time: int64(r) * weekSeconds, Asked: []Span{{0, uint32(n - 1)}}}
		for at := rng.IntN(100); at < n; at += 1 + rng.IntN(200) {
			u := at
			if rng.IntN(4) > 0 { // the same as last time
				u = at / 50 * 50
			}
			if k := len(run.Changed); k == 0 || run.Changed[k-1].Last < uint32(u) {
				run.Changed = append(run.Changed, Span{uint32(u), uint32(u)})
			}
		}
		out = append(out, run)
	}
	return m, out
}

// BenchmarkPlan builds the model of a site of 100 000 pages from 200 runs and plans one.
func BenchmarkPlan(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		m, runs := bigSite(100_000, 40, 200)
		b.StartTimer()
		for i := range runs {
			m.Learn(&runs[i])
		}
		p, err := Standard().Plan(m, Options{Policy: Adaptive})
		if err != nil {
			b.Fatal(err)
		}
		if len(p.Next(256)) == 0 {
			b.Fatal("nothing to ask")
		}
	}
}

// BenchmarkRunOf100000 plans and tells a whole run in which nothing changed.
func BenchmarkRunOf100000(b *testing.B) {
	m, runs := bigSite(100_000, 40, 30)
	for i := range runs {
		m.Learn(&runs[i])
	}
	asked := 0
	for b.Loop() {
		p, err := Standard().Plan(m, Options{Policy: Adaptive})
		if err != nil {
			b.Fatal(err)
		}
		asked = 0
		for batch := p.Next(64); len(batch) > 0; batch = p.Next(64) {
			for _, a := range batch {
				asked++
				p.Tell(Outcome{Unit: a.Unit, Result: Result(a.Unit % 50 / 49)})
			}
		}
	}
	b.ReportMetric(float64(asked), "requests")
}

// BenchmarkTenMillion plans a site of 10 million pages after a few runs, and says what the model and the plan
// take for each.
func BenchmarkTenMillion(b *testing.B) {
	const pages = 10_000_000
	heap := func() float64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return float64(s.HeapAlloc)
	}
	before := heap()
	m, runs := bigSite(pages, 40, 4)
	for i := range runs {
		m.Learn(&runs[i])
	}
	runs = nil
	model := heap()
	var p Plan
	var err error
	for b.Loop() {
		if p, err = Standard().Plan(m, Options{Policy: Adaptive}); err != nil {
			b.Fatal(err)
		}
		if len(p.Next(256)) == 0 {
			b.Fatal("nothing to ask")
		}
	}
	b.ReportMetric((model-before)/pages, "model-B/page")
	b.ReportMetric((heap()-model)/pages, "plan-B/page")
	runtime.KeepAlive(m)
	runtime.KeepAlive(p)
}
