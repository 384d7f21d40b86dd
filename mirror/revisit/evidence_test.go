// SPDX-License-Identifier: Apache-2.0

package revisit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mirrord/job"
	"mirrord/mirror/urls"
	"mirrord/relocate"
	"mirrord/site"
	"mirrord/site/listing"
	"mirrord/store/record"
)

// records are records in memory, by number.
type records struct {
	of      []record.Resource
	targets map[uint32][]byte
}

func (r records) Get(u site.URL) (record.Resource, bool, error) {
	for i := range r.of {
		if r.of[i].URL == u {
			return r.of[i], true, nil
		}
	}
	return record.Resource{}, false, nil
}

func (r records) TargetsOf(id uint32) ([]byte, error) { return r.targets[id], nil }

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// listening is the evidence of a run of a site of n pages, and its records.
func listening(t *testing.T, n, run int, trust []byte) (*Evidence, records) {
	t.Helper()
	_, table := pages(n)
	recs := records{of: make([]record.Resource, n), targets: map[uint32][]byte{}}
	for id := range recs.of {
		recs.of[id] = record.Resource{
			ID:      uint32(id),
			URL:     page(id),
			Outcome: site.Unchanged,
			InSet:   true,
			Body:    record.PackBody,
			Size:    100,
		}
	}
	e := &Evidence{
		Job:     job.Evidence{Listings: true, Sitemaps: true, Expiry: true},
		Run:     run,
		Table:   table,
		Records: recs,
		Sources: new(Sources),
		Now:     func() time.Time { return noon },
	}
	if err := e.trust.read(trust); err != nil {
		t.Fatal(err)
	}
	return e, recs
}

// sitemapOf names n pages that changed at a time.
func sitemapOf(n int, at string) (list relocate.SitemapList) {
	for id := range n {
		list.Entries = append(list.Entries, relocate.SitemapEntry{Loc: page(id).String(), LastMod: at})
	}
	list.Entries = append(list.Entries, relocate.SitemapEntry{Loc: "/new.html", LastMod: at})
	list.Entries = append(list.Entries, relocate.SitemapEntry{Loc: "/"})
	return list
}

func hearSitemap(t *testing.T, e *Evidence, list relocate.SitemapList) {
	t.Helper()
	if err := e.HearSitemap(list, page(0)); err != nil {
		t.Fatal(err)
	}
}

// remember records with each page what the sources say.
func remember(e *Evidence, recs records) {
	for i := range recs.of {
		recs.of[i].Status = 200
		recs.of[i].Evidence = e.For(&recs.of[i], false)
	}
}

func TestWhatASitemapCovers(t *testing.T) {
	e, recs := listening(t, 100, 7, nil)
	old := sitemapOf(100, "2026-04-01")
	e.Begin()
	hearSitemap(t, e, old)
	if ids := e.Unchanged(); len(ids) > 0 {
		t.Errorf("%d are covered although they were unknown", len(ids))
	}
	remember(e, recs)
	hearSitemap(t, e, sitemapOf(50, "2026-04-02"))
	hearSitemap(t, e, old)
	hearSitemap(t, e, old) // a sitemap may name a page twice
	var audits Audits
	for k := range urls.EvidenceKinds {
		audits[k] = e.PickAudits(k)
		for _, id := range audits[k] {
			e.Table.Queue(id)
		}
	}
	if len(audits[urls.BySitemap]) != leastAudits || len(audits[urls.ByListing]) > 0 {
		t.Errorf("audits %v", audits)
	}
	covered, caught, trust, err := e.Decide(audits)
	if err != nil || len(covered) != 100 || len(caught) > 0 || trust != nil {
		t.Errorf("%d covered, %v, %s, %v", len(covered), caught, trust, err)
	}
	e.End()
	hearSitemap(t, e, old)
	if e.First() || len(e.Unchanged()) > 0 {
		t.Error("after the stage of the sources nothing is covered")
	}
}

// Unsettled statements are neither believed nor remembered, nor are those that a later answer may contradict.
func TestWhatIsNotSettled(t *testing.T) {
	e, recs := listening(t, 10, 7, nil)
	e.Begin()
	for _, at := range []string{"2026-05-01", "2026-05-01T11:59:30Z", "yesterday"} {
		hearSitemap(t, e, sitemapOf(10, at))
		remember(e, recs)
		hearSitemap(t, e, sitemapOf(10, at))
		if n := len(e.Unchanged()); n > 0 || recs.of[3].Evidence[urls.BySitemap] != 0 {
			t.Errorf("%s: %d covered", at, n)
		}
	}
}

// An audit that finds a change: the kind of evidence covers nothing in this run and is not believed for some.
func TestEvidenceThatHidAChange(t *testing.T) {
	e, recs := listening(t, 100, 7, nil)
	e.Begin()
	hearSitemap(t, e, sitemapOf(100, "2026-04-01"))
	remember(e, recs)
	hearSitemap(t, e, sitemapOf(100, "2026-04-01"))
	e.Sources.fresh = []uint32{99}
	e.AddFresh()
	audits := Audits{urls.BySitemap: e.PickAudits(urls.BySitemap)}
	id := audits[urls.BySitemap][1]
	changed := recs.of[id]
	changed.Outcome = site.Fetched
	e.Table.Record(&changed, urls.Run{Number: 7, Version: 2})
	covered, caught, trust, err := e.Decide(audits)
	if err != nil || !slices.Equal(covered, []Covered{{99, urls.ByExpiry}}) {
		t.Errorf("covered %v, %v; want what another kind says", covered, err)
	}
	isNoted := len(caught) == 1 && strings.Contains(caught[0].Note, "until run 11")
	if !isNoted || caught[0].URL != page(int(id)) {
		t.Errorf("caught %+v", caught)
	}
	for run, want := range map[int]bool{8: false, 10: false, 11: true} {
		next, _ := listening(t, 1, run, trust)
		if got := next.Believes(urls.BySitemap); got != want || !next.Believes(urls.ByListing) {
			t.Errorf("run %d: believed %v, want %v", run, got, want)
		}
	}
	if err := new(trusts).read([]byte("{")); err == nil {
		t.Error("a fact that cannot be read must be an error")
	}
}

// A source that says something new gives a planned run a hint, also when the source is not believed.
func TestEvidenceHints(t *testing.T) {
	e, recs := listening(t, 100, 21, []byte(`[{"wrong":0,"until":0},{"wrong":1,"until":30}]`))
	e.Plan = planned(t, 20, nil)
	e.Begin()
	hearSitemap(t, e, sitemapOf(100, "2026-04-01"))
	remember(e, recs)
	news := sitemapOf(100, "2026-04-01")
	news.Entries[30].LastMod = "2026-04-20"
	hearSitemap(t, e, news)
	want := []hint{{30, fromKind(urls.BySitemap)}}
	if got := e.Plan.hinted.list; !slices.Equal(got, want) || len(e.Unchanged()) > 0 {
		t.Errorf("hints %v, %d covered", got, len(e.Unchanged()))
	}
}

// entry is what a listing says of a page.
func entry(id int, at time.Time, size int64) listing.Entry {
	return listing.Entry{
		Name:      page(id).String(),
		URL:       page(id),
		Modified:  at,
		Precision: listing.ToSecond,
		Size:      size,
		SizeMin:   size,
		SizeMax:   size,
		SizeExact: true,
	}
}

func TestWhatAListingCovers(t *testing.T) {
	e, recs := listening(t, 100, 7, nil)
	at := noon.AddDate(0, 0, -9)
	l := &listing.Listing{Entries: []listing.Entry{
		entry(1, at, 100),
		entry(2, at, 4000), // not the size of what the mirror has
		entry(3, noon, 100),
		entry(900, at, 100), // the mirror does not have it
	}}
	e.Begin()
	for range 2 {
		if err := e.HearListing(l, page(0)); err != nil {
			t.Fatal(err)
		}
		remember(e, recs)
	}
	if got := e.Unchanged(); !slices.Equal(got, []uint32{1}) {
		t.Errorf("covered %v", got)
	}
}

// Under a plan that decides on listings, a listing that shows a new time of a directory, or does not name
// what it named before, is a reason to request that.
func TestListingsHintAtListings(t *testing.T) {
	e, recs := listening(t, 100, 21, nil)
	e.Sources.Listings.Put(50, true)
	e.Plan = planned(t, 20, func(o *PlanOptions) {
		o.Trusted, o.Listings = true, e.Sources.Listings
	})
	e.Begin()
	dir := func(at time.Time) *listing.Listing {
		x := entry(50, at, -1)
		x.Dir = true
		return &listing.Listing{Entries: []listing.Entry{x}}
	}
	for range 2 { // known, and the same
		if err := e.HearListing(dir(noon.AddDate(0, 0, -9)), page(0)); err != nil {
			t.Fatal(err)
		}
		remember(e, recs)
		if ids := e.Plan.TakeWanted(); len(ids) > 0 {
			t.Errorf("wanted %v", ids)
		}
	}
	if err := e.HearListing(dir(noon.AddDate(0, 0, -2)), page(0)); err != nil {
		t.Fatal(err)
	}
	if ids := e.Plan.TakeWanted(); !slices.Equal(ids, []uint32{50}) {
		t.Errorf("a directory that changed: wanted %v", ids)
	}
	recs.targets[0] = record.AppendTargets(nil, []uint32{1, 2, 50, 99})
	if err := e.HearMissing(0, []int64{2, 99, -1}); err != nil {
		t.Fatal(err)
	}
	ids, hints := e.Plan.TakeWanted(), e.Plan.hinted.list
	if !slices.Equal(ids, []uint32{50}) || !slices.Equal(hints, []hint{{1, fromKind(urls.ByListing)}}) {
		t.Errorf("missing: wanted %v, hints %v", ids, hints)
	}
}

// The evidence that is recorded with a resource.
func TestEvidenceOfARecord(t *testing.T) {
	e, _ := listening(t, 10, 7, nil)
	e.note(urls.ByListing, 3, 33)
	before := [urls.SpokenKinds]uint64{5, 6}
	isListing := func(r *record.Resource) { r.Listing = true }
	fromReplica := func(r *record.Resource) { r.Source = "http://replica.example/" }
	left := func(r *record.Resource) { r.InSet = false }
	for name, c := range map[string]struct {
		id      uint32
		outcome site.Outcome
		status  int
		aside   bool
		set     func(*record.Resource)
		want    [urls.SpokenKinds]uint64
	}{
		"fetched":          {3, site.Fetched, 200, false, nil, [2]uint64{33, 0}},
		"not requested":    {3, site.Unchanged, 0, false, nil, [2]uint64{33, 0}},
		"fetched, no word": {4, site.Fetched, 200, false, nil, [2]uint64{}},
		"by another kind":  {4, site.Unchanged, 0, false, nil, before},
		"a listing":        {4, site.Fetched, 200, false, isListing, before},
		"failed":           {3, site.Failed, 0, false, nil, before},
		"left":             {3, site.Gone, 404, false, left, before},
		"from a replica":   {3, site.Fetched, 200, false, fromReplica, [2]uint64{}},
		"not the origin's": {3, site.Unchanged, 304, true, nil, [2]uint64{}},
	} {
		rec := record.Resource{
			ID:       c.id,
			InSet:    true,
			Outcome:  c.outcome,
			Status:   c.status,
			Evidence: before,
		}
		if c.set != nil {
			c.set(&rec)
		}
		if got := e.For(&rec, c.aside); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestSources(t *testing.T) {
	ev := job.Evidence{Listings: true, Sitemaps: true, Expiry: true}
	var s Sources
	load := func(rec record.Resource) {
		rec.URL = page(int(rec.ID))
		s.Load(&rec, ev, 7, noon)
	}
	if s.Any() {
		t.Error("no record, and some source")
	}
	load(record.Resource{
		ID:      1,
		InSet:   true,
		Listing: true,
		Run:     7,
		Status:  200,
	})
	load(record.Resource{ID: 2, InSet: true, Evidence: [2]uint64{9, 0}})
	load(record.Resource{ID: 3, Format: uint8(relocate.Sitemap), Body: record.BlobBody})
	for id, checked := range map[uint32]int64{4: -60, 5: 30} { // 5 was counted by a clock that was fast
		load(record.Resource{
			ID:      id,
			InSet:   true,
			Body:    record.PackBody,
			Expires: noon.Unix() + 60,
			Checked: noon.Unix() + checked,
		})
	}
	for id := uint32(10); id < 60; id++ {
		load(record.Resource{
			ID:     id,
			InSet:  true,
			Format: uint8(relocate.Feed),
			Body:   record.PackBody,
		})
	}
	if !s.Listings.Has(1) || s.Listings.Has(2) || !s.Covered.Has(2) || s.Covered.Has(1) {
		t.Error("the listing is 1, and it covers 2")
	}
	if len(s.Answered) != 1 || s.Answered[0].ID != 1 || !slices.Equal(s.fresh, []uint32{4}) {
		t.Errorf("answered %v, fresh %v", s.Answered, s.fresh)
	}
	first := s.First(nil, nil)
	if len(first) != 2+mostFeeds || !slices.Equal(first[:3], []uint32{1, 3, 10}) || !s.Any() {
		t.Errorf("first %v", first)
	}
}

func TestUnchangedBy(t *testing.T) {
	rec := record.Resource{
		ID:       3,
		Outcome:  site.Fetched,
		Status:   200,
		Observed: 4,
		Recent:   1,
	}
	for k := range urls.EvidenceKinds {
		f := UnchangedBy(rec, k, noon)
		if f.Outcome != site.Unchanged || f.Status != 0 || f.Checked != noon.Unix() {
			t.Errorf("%s: %+v", k, f.Resource)
		}
		if f.Observed != 5 || f.Recent != 2 {
			t.Errorf("%s: observed %d times, %b", k, f.Observed, f.Recent)
		}
		if f.As.Tally != urls.AsSpared<<k || f.Reason == "" {
			t.Errorf("%s: %+v, %q", k, f.As, f.Reason)
		}
	}
	if rec.Outcome != site.Fetched {
		t.Error("the record was changed")
	}
}
