// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/judge"
	"mirrord/mirror/ledger"
	"mirrord/policy"
	"mirrord/site"
	"mirrord/store"
)

// plannable is a site of n pages in directories of 50 with a history of so many runs, of which the first looked at everything and the others at a third; a page
// of a hundred changed. Its table is loaded.
func plannable(tb testing.TB, n, runs int) *run {
	st, err := store.OpenState(tb.TempDir(), store.Options{Volatile: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { st.Close() })
	s, err := st.OpenSite("large")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range runs {
		o := store.Observation{Run: i + 1, Time: 1_700_000_000 + int64(i)*86_400, Complete: true}
		for id := range uint32(n) {
			if i > 0 && (int(id)/50+i)%3 != 0 {
				continue
			}
			o.Asked.Add(id)
			switch {
			case i == 0:
				o.Entered.Add(id)
			case rng.IntN(100) == 0:
				o.Changed.Add(id)
			}
		}
		if err := s.Records.AddObservation(&o); err != nil {
			tb.Fatal(err)
		}
	}
	j := job.Default("http://www.example.org/")
	r, err := newRun(Options{Job: j, Site: s, Hosts: new(fetch.Hosts)})
	if err != nil {
		tb.Fatal(err)
	}
	r.state.Number = runs + 1
	t := r.table.Settled()
	t.Reserve(uint32(n))
	for id := range n {
		t.Load(&store.Resource{
			ID:      uint32(id),
			URL:     site.Canonical(fmt.Sprintf("http://www.example.org/d%03d/e%d/p%02d.html", id/2500, id/50, id%50)),
			Outcome: site.Unchanged,
			InSet:   true,
			MIME:    "text/html",
		}, ledger.Run{Number: r.state.Number, Version: 2})
	}
	return r
}

// BenchmarkPlan is what planning a run costs: the model is made from 200 runs of a site of 100 000 pages, and the plan is asked for its first batch.
func BenchmarkPlan(b *testing.B) {
	for _, name := range []policy.Name{policy.Adaptive, policy.Near} {
		b.Run(string(name), func(b *testing.B) {
			r := plannable(b, 100_000, 200)
			r.job.Policy = name
			for b.Loop() {
				p, err := r.newPlanner()
				if err != nil || p == nil {
					b.Fatal(p, err)
				}
				p.Open()
				p.Refill(func(int, []string) bool { return true })
			}
		})
	}
}

// What a run skips is written down and read again as it was, and counts as not looked at.
func TestOrphansAreKept(t *testing.T) {
	r := plannable(t, 300, 2)
	want := judge.Orphans{3: 7, 4: 7, 5: 7, 9: 8, 299: 7}
	if err := r.saveOrphans(want); err != nil {
		t.Fatal(err)
	}
	got, err := r.loadOrphans()
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if err := r.saveOrphans(judge.Orphans{}); err != nil {
		t.Fatal(err)
	}
	if got, err := r.loadOrphans(); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if err := r.site.Notes.SetFact(orphansFact, []byte("{")); err != nil {
		t.Fatal(err)
	}
	if got, err := r.loadOrphans(); err != nil || len(got) != 0 { // they are found again
		t.Errorf("after damage: %v, %v", got, err)
	}
}
