// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mirrord/evolution"
	"mirrord/fetch"
	"mirrord/job"
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
		if err := s.AddObservation(&o); err != nil {
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
				p.plan.Next(64)
			}
		})
	}
}

// What a run skips is written down and read again as it was, and counts as not looked at.
func TestOrphansAreKept(t *testing.T) {
	r := plannable(t, 300, 2)
	want := orphans{3: 7, 4: 7, 5: 7, 9: 8, 299: 7}
	if err := r.saveOrphans(want); err != nil {
		t.Fatal(err)
	}
	got, err := r.loadOrphans()
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if err := r.saveOrphans(nil); err != nil {
		t.Fatal(err)
	}
	if got, err := r.loadOrphans(); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if err := r.site.SetFact(orphansFact, []byte("{")); err != nil {
		t.Fatal(err)
	}
	if got, err := r.loadOrphans(); err != nil || len(got) != 0 { // they are found again
		t.Errorf("after damage: %v, %v", got, err)
	}
}

// The directories of URLs: one for each, parents first, whatever stands in the path.
func TestDirTable(t *testing.T) {
	d := newDirTable("http://www.example.org")
	for _, c := range []struct{ url, want string }{
		{"http://www.example.org/", ""}, {"http://www.example.org/a.html", ""}, {"http://www.example.org/a/", "a"}, {"http://www.example.org/a/b/c.html?x=/y/z", "a/b"},
		{"http://www.example.org//a///b/c", "a/b"}, {"http://www.example.org/a/b/d", "a/b"}, {"https://cdn.example.org/x/y", "@cdn.example.org/x"}, {"http://www.example.org:8080/", "@www.example.org:8080"},
		{"http://www.example.org/%2e%2e/x", ""},
	} {
		u, _, err := site.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.path[d.of(u)]; got != c.want {
			t.Errorf("%s lies in %q, want %q", c.url, got, c.want)
		}
	}
	for i, up := range d.parent {
		if i > 0 && int(up) >= i {
			t.Errorf("directory %d %q has the parent %d", i, d.path[i], up)
		}
	}
	if len(d.path) != 6 {
		t.Errorf("directories %q", d.path)
	}
}

// What left in a run that asked for nothing, because the job does not want it any more, is not taken for a page that nobody looks at ever after.
func TestWhatLeftUnaskedIsGone(t *testing.T) {
	r := plannable(t, 300, 1)
	for _, o := range []store.Observation{
		{Run: 2, Time: 1_700_100_000, Left: store.IDs{{First: 7, Last: 8}}},
		{Run: 3, Time: 1_700_200_000, Asked: store.IDs{{First: 0, Last: 6}, {First: 9, Last: 299}}, Complete: true},
	} {
		if err := r.site.AddObservation(&o); err != nil {
			t.Fatal(err)
		}
	}
	for id := range uint32(2) {
		r.table.Settled().Leave(7 + id)
	}
	r.choosePrimary()
	h, err := r.dirHistory(newDirTable(r.layout.Primary))
	if err != nil {
		t.Fatal(err)
	}
	all, err := h.Report(evolution.DeltaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if root := all[0]; root.Files != 298 || root.Unobserved != 0 {
		t.Errorf("%d files, %d of them not looked at; want 298 and none", root.Files, root.Unobserved)
	}
	d, err := h.DeltaTree(evolution.DeltaOptions{From: h.Len() - 1})
	if err != nil {
		t.Fatal(err)
	}
	if f := d.FoC(evolution.Root); f != (evolution.Frequency{K: 0, N: 1}) {
		t.Errorf("changes in the last run: %d of %d, want 0 of 1 known", f.K, f.N)
	}
}
