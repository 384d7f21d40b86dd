// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mirrord/site"
	"mirrord/store/facts"
	"mirrord/store/record"
)

// SiteRecords is all that a run asks of what a site knows of its URLs. No room declares it whole: ledger
// reads the records and the journal and commits, judge reads records, links and observations, spare reads
// observations. *facts.Records is the implementation on the disk.
type SiteRecords interface {
	recordReader
	journal
	observations
}

type recordReader interface {
	Get(u site.URL) (r record.Resource, ok bool, err error)
	Resources(f func(r *record.Resource) error) error
	ResourcesUnder(dir site.URL, f func(r *record.Resource) error) error
	Links(f func(id uint32, targets []byte) error) error
	TargetsOf(id uint32) ([]byte, error)
}

type journal interface {
	Known() (uint32, error)
	Commit(first uint32, news []record.NewURL, done []*record.Done) error
	Replay(
		newURL func(id uint32, u record.NewURL) error,
		done func(r *record.Resource, targets []byte, linked bool) error,
	) error
	Fold(facts.Folding) error
}

type observations interface {
	AddObservation(*record.Observation) error
	Observations(f func(*record.Observation) error) error
}

// openRecords makes records with nothing in them. again returns them as the next process finds them.
type openRecords func(t *testing.T) (r SiteRecords, again func(t *testing.T) SiteRecords)

// TestRecords holds an implementation of SiteRecords to the contracts of its users. open makes one with
// nothing in it, and a function that returns the same records as the next process finds them; what was there
// before is not used after the call.
func TestRecords(
	t *testing.T, open func(t *testing.T) (r SiteRecords, again func(t *testing.T) SiteRecords),
) {
	for _, tc := range []struct {
		name string
		test func(t *testing.T, open openRecords)
	}{
		{"empty", recordsEmpty},
		{"journal", recordsJournal},
		{"fold", recordsFold},
		{"order", recordsOrder},
		{"links", recordsLinks},
		{"too long", recordsTooLong},
		{"errors of callers", recordsErrors},
		{"observations", recordsObservations},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, open) })
	}
}

func recordsEmpty(t *testing.T, open openRecords) {
	r, again := open(t)
	for range 2 {
		if n, err := r.Known(); n != 0 || err != nil {
			t.Errorf("%d numbers, %v", n, err)
		}
		if got, ok, err := r.Get(page(0)); ok || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
		if got := resources(t, r); len(got) != 0 {
			t.Errorf("records %+v", got)
		}
		if got := replayed(t, r); len(got) != 0 {
			t.Errorf("journal %q", got)
		}
		if got := links(t, r); len(got) != 0 {
			t.Errorf("links %v", got)
		}
		if got, err := r.TargetsOf(0); len(got) != 0 || err != nil {
			t.Errorf("targets %v, %v", got, err)
		}
		if err := r.Fold(facts.Folding{Version: 1, Pending: none, Path: noPath}); err != nil {
			t.Error(err)
		}
		r = again(t)
	}
}

// recordsJournal commits two batches: they are replayed in order, by the next process too, and records do not
// show them.
func recordsJournal(t *testing.T, open openRecords) {
	r, again := open(t)
	news := []record.NewURL{
		{URL: page(0).String()},
		{URL: page(1).String(), Referrer: 1, Depth: 1, Requis: true},
	}
	commit(t, r, 0, news, done(0, 1))
	commit(t, r, 2, []record.NewURL{{URL: page(2).String(), Referrer: 1}}, done(1), done(0))
	want := []string{"new 0 0 0 false", "new 1 1 1 true", "done 0 [1]", "new 2 1 0 false", "done 1 []",
		"done 0 []"}
	for range 2 {
		if got := replayed(t, r); !slices.Equal(got, want) {
			t.Errorf("journal %q, want %q", got, want)
		}
		if n, err := r.Known(); n != 3 || err != nil {
			t.Errorf("%d numbers, %v", n, err)
		}
		if _, ok, err := r.Get(page(0)); ok || err != nil {
			t.Errorf("the journal is in the records: %v", err)
		}
		if got := resources(t, r); len(got) != 0 {
			t.Errorf("records %+v", got)
		}
		r = again(t)
	}
}

// recordsFold moves the journal into the records: what was fetched has the path that it is given, pending
// URLs are known and no more, and the others are forgotten.
func recordsFold(t *testing.T, open openRecords) {
	r, again := open(t)
	news := []record.NewURL{
		{URL: page(0).String()},
		{URL: page(1).String(), Referrer: 1, Depth: 1, Requis: true},
		{URL: page(2).String(), Referrer: 1, Depth: 1},
	}
	commit(t, r, 0, news, done(0, 1, 2))
	fetched := done(0, 1, 2).Resource
	fetched.Path, fetched.Moved = "p0", 1
	known := record.Resource{
		ID:       1,
		URL:      page(1),
		Referrer: 1,
		Depth:    1,
		Requis:   true,
	}
	lost := errors.New("lost")
	err := r.Fold(facts.Folding{ // its input does not count
		Version: 1,
		Pending: func(uint32) bool { return true },
		Path:    func(*record.Resource) string { return "wrong" },
		Err:     func() error { return lost },
	})
	if got := resources(t, r); !errors.Is(err, lost) || len(got) != 0 {
		t.Errorf("records %+v, error %v", got, err)
	}
	fold := func(version int, prefix string) {
		t.Helper()
		err := r.Fold(facts.Folding{
			Version: version,
			Pending: func(id uint32) bool { return id == 1 },
			Path:    func(r *record.Resource) string { return fmt.Sprint(prefix, r.ID) },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	fold(1, "p")
	for range 2 {
		if got, want := resources(t, r), []record.Resource{fetched, known}; !reflect.DeepEqual(got, want) {
			t.Errorf("records\n%+v, want\n%+v", got, want)
		}
		if got, ok, err := r.Get(page(0)); !ok || err != nil || !reflect.DeepEqual(got, fetched) {
			t.Errorf("%+v, %t, %v", got, ok, err)
		}
		if got := replayed(t, r); len(got) != 0 {
			t.Errorf("journal %q", got)
		}
		if n, err := r.Known(); n != 3 || err != nil {
			t.Errorf("%d numbers, %v", n, err)
		}
		r = again(t)
	}
	later := done(1)
	later.Outcome, later.Reason = site.Failed, "timeout"
	commit(t, r, 3, nil, later)
	left := done(0)
	left.InSet = false
	commit(t, r, 3, nil, left)
	fold(2, "q")
	want := []record.Resource{left.Resource, later.Resource}
	want[1].Path, want[1].Moved = "q1", 2 // one that is not in the mirror is given none
	if got := resources(t, r); !reflect.DeepEqual(got, want) {
		t.Errorf("records\n%+v, want\n%+v", got, want)
	}
}

// recordsOrder has the records in the order of their keys, and those below a directory apart.
func recordsOrder(t *testing.T, open openRecords) {
	r, _ := open(t)
	urls := []string{"http://b.test/", "http://a.test/d/x", "http://a.test/d/", "http://a.test/da",
		"https://a.test/d/y", "http://a.test/"}
	var all []*record.Done
	for i, u := range urls {
		d := done(uint32(i))
		d.URL = site.Canonical(u)
		all = append(all, d)
	}
	commit(t, r, 0, make([]record.NewURL, 0), all...)
	if err := r.Fold(facts.Folding{Version: 1, Pending: none, Path: noPath}); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b *record.Done) int { return slices.Compare(a.URL.Key(nil), b.URL.Key(nil)) })
	var want, under []string
	for _, d := range all {
		want = append(want, d.URL.String())
		if strings.HasPrefix(d.URL.String(), "http://a.test/d/") {
			under = append(under, d.URL.String())
		}
	}
	var got []string
	add := func(r *record.Resource) error {
		got = append(got, r.URL.String())
		return nil
	}
	if err := r.Resources(add); err != nil || !slices.Equal(got, want) {
		t.Errorf("records %q, want %q, %v", got, want, err)
	}
	got = nil
	if err := r.ResourcesUnder(site.Canonical("http://a.test/d/"), add); err != nil ||
		!slices.Equal(got, under) {
		t.Errorf("below the directory %q, want %q, %v", got, under, err)
	}
}

// recordsLinks keeps the links of a document until others come.
func recordsLinks(t *testing.T, open openRecords) {
	r, again := open(t)
	fold := func() {
		t.Helper()
		if err := r.Fold(facts.Folding{Version: 1, Pending: none, Path: noPath}); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, r, 0, []record.NewURL{
		{URL: page(0).String()}, {URL: page(1).String()},
	}, done(0, 0, 1, 1), done(1, 0))
	fold()
	kept := done(0)
	kept.Linked = false
	empty := done(1)
	commit(t, r, 2, nil, kept, empty)
	fold()
	for range 2 {
		if got, err := r.TargetsOf(0); err != nil || !slices.Equal(got, record.AppendTargets(nil, []uint32{0, 1})) {
			t.Errorf("targets %v, %v", got, err)
		}
		if got, err := r.TargetsOf(1); err != nil || len(got) != 0 {
			t.Errorf("targets %v of a document that has none, %v", got, err)
		}
		if got := links(t, r); fmt.Sprint(got) != "[0 [0 1] 1 []]" {
			t.Errorf("links %v", got)
		}
		r = again(t)
	}
}

// recordsTooLong refuses a batch with a URL that cannot be a key, as a whole.
func recordsTooLong(t *testing.T, open openRecords) {
	r, again := open(t)
	long := record.NewURL{URL: "http://a.test/" + strings.Repeat("x", record.MaxURL)}
	if err := r.Commit(0, []record.NewURL{
		{URL: page(0).String()}, long,
	}, nil); !errors.Is(err, facts.ErrTooLong) {
		t.Errorf("%v", err)
	}
	r = again(t)
	if got := replayed(t, r); len(got) != 0 {
		t.Errorf("journal %q", got)
	}
}

// recordsErrors has callbacks that fail: their error comes back, and they are not called again.
func recordsErrors(t *testing.T, open openRecords) {
	r, _ := open(t)
	commit(t, r, 0, []record.NewURL{{URL: page(0).String()}, {URL: page(1).String()}}, done(0), done(1))
	if err := r.Fold(facts.Folding{Version: 1, Pending: none, Path: noPath}); err != nil {
		t.Fatal(err)
	}
	commit(t, r, 2, []record.NewURL{{URL: page(2).String()}}, done(0), done(1))
	for _, run := range []int{1, 2} {
		if err := r.AddObservation(&record.Observation{Run: run}); err != nil {
			t.Fatal(err)
		}
	}
	stop := errors.New("that is enough")
	calls := 0
	end := func() error { calls++; return stop }
	for name, call := range map[string]func() error{
		"records": func() error { return r.Resources(func(*record.Resource) error { return end() }) },
		"below": func() error {
			return r.ResourcesUnder(page(0), func(*record.Resource) error { return end() })
		},
		"links":        func() error { return r.Links(func(uint32, []byte) error { return end() }) },
		"observations": func() error { return r.Observations(func(*record.Observation) error { return end() }) },
		"new URLs": func() error {
			return r.Replay(func(uint32, record.NewURL) error {
				return end()
			}, func(*record.Resource, []byte, bool) error { return end() })
		},
		"results": func() error {
			return r.Replay(func(uint32, record.NewURL) error {
				return nil
			}, func(*record.Resource, []byte, bool) error { return end() })
		},
	} {
		calls = 0
		if err := call(); !errors.Is(err, stop) || calls != 1 {
			t.Errorf("%s: %v after %d calls", name, err, calls)
		}
	}
}

// recordsObservations keeps one observation for each run, the last that was written.
func recordsObservations(t *testing.T, open openRecords) {
	r, again := open(t)
	first := record.Observation{
		Run:     300,
		Time:    5,
		Version: 1,
		Asked:   record.IDs{{First: 0, Last: 7}},
	}
	second := record.Observation{
		Run:      301,
		Time:     6,
		Complete: true,
		Asked:    record.IDs{{First: 1, Last: 1}},
		Changed:  record.IDs{{First: 1, Last: 1}},
	}
	whole := first
	whole.Complete, whole.Entered = true, record.IDs{{First: 0, Last: 2}, {First: 4, Last: 7}}
	for _, o := range []record.Observation{first, second, whole, {Run: 2, Doubtful: true}} {
		if err := r.AddObservation(&o); err != nil {
			t.Fatal(err)
		}
	}
	want := []record.Observation{{Run: 2, Doubtful: true}, whole, second}
	for range 2 {
		var got []record.Observation
		err := r.Observations(func(o *record.Observation) error {
			got = append(got, *o)
			return nil
		})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v, %v", got, want, err)
		}
		r = again(t)
	}
}

func page(id uint32) site.URL { return site.Canonical(fmt.Sprintf("http://a.test/%d", id)) }

func none(uint32) bool { return false }

func noPath(*record.Resource) string { return "" }

// done is a page that was fetched, with its links.
func done(id uint32, targets ...uint32) *record.Done {
	return &record.Done{
		Resource: record.Resource{
			ID:      id,
			URL:     page(id),
			Outcome: site.Fetched,
			Status:  200,
			Checked: 7,
			Run:     1,
			InSet:   true,
			Fetched: 7,
			MIME:    "text/html",
			Size:    3,
			Digest:  [32]byte{byte(id), 1},
			Body:    record.BlobBody,
			Changed: 1,
		},
		Targets: targets,
		Linked:  true,
	}
}

func commit(t *testing.T, r SiteRecords, first uint32, news []record.NewURL, done ...*record.Done) {
	t.Helper()
	if err := r.Commit(first, news, done); err != nil {
		t.Fatal(err)
	}
}

func resources(t *testing.T, r SiteRecords) (out []record.Resource) {
	t.Helper()
	err := r.Resources(func(r *record.Resource) error {
		out = append(out, *r)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return out
}

// replayed is the journal, in words.
func replayed(t *testing.T, r SiteRecords) (out []string) {
	t.Helper()
	err := r.Replay(func(id uint32, u record.NewURL) error {
		out = append(out, fmt.Sprint("new ", id, u.Referrer, u.Depth, " ", u.Requis))
		return nil
	}, func(r *record.Resource, targets []byte, linked bool) error {
		out = append(out, fmt.Sprint("done ", r.ID, " ", numbers(targets)))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return out
}

// links is all numbers of documents, each with those that it links to.
func links(t *testing.T, r SiteRecords) (out []any) {
	t.Helper()
	err := r.Links(func(id uint32, targets []byte) error {
		out = append(out, id, numbers(targets))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return out
}

func numbers(targets []byte) []uint32 {
	out := []uint32{}
	record.Targets(targets, func(id uint32) bool {
		out = append(out, id)
		return true
	})
	return out
}
