// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"testing"

	"mirrord/fetch"
	"mirrord/job"
	"mirrord/mirror/judge"
	"mirrord/mirror/ledger"
	"mirrord/site"
	"mirrord/store"
)

// plannable is a run of a site of n pages in directories of 50. Its table is loaded.
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
	j := job.Default("http://www.example.org/")
	r, err := newRun(Options{Job: j, Site: s, Hosts: new(fetch.Hosts)})
	if err != nil {
		tb.Fatal(err)
	}
	r.Run.Number = runs + 1
	t := r.Table.Settled()
	t.Reserve(uint32(n))
	for id := range n {
		t.Load(&store.Resource{
			ID:      uint32(id),
			URL:     site.Canonical(fmt.Sprintf("http://www.example.org/d%03d/e%d/p%02d.html", id/2500, id/50, id%50)),
			Outcome: site.Unchanged,
			InSet:   true,
			MIME:    "text/html",
		}, ledger.Run{Number: r.Run.Number, Version: 2})
	}
	return r
}

// What a run skips is written down and read again as it was, and counts as not looked at.
func TestOrphansAreKept(t *testing.T) {
	r := plannable(t, 300, 2)
	want := judge.Orphans{3: 7, 4: 7, 5: 7, 9: 8, 299: 7}
	if err := saveOrphans(r.Site.Notes, want); err != nil {
		t.Fatal(err)
	}
	got, err := loadOrphans(r.Site.Notes, r.Table.Len(), r.Log)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if err := saveOrphans(r.Site.Notes, judge.Orphans{}); err != nil {
		t.Fatal(err)
	}
	if got, err := loadOrphans(r.Site.Notes, r.Table.Len(), r.Log); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if err := r.Site.Notes.SetFact(orphansFact, []byte("{")); err != nil {
		t.Fatal(err)
	}
	// they are found again
	if got, err := loadOrphans(r.Site.Notes, r.Table.Len(), r.Log); err != nil || len(got) != 0 {
		t.Errorf("after damage: %v, %v", got, err)
	}
}
