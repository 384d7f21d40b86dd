// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mirrord/site"
	"mirrord/store/db"
	"mirrord/store/record"
)

// A model of what commits and folds mean: the last record of a URL holds, wherever a kill comes between the
// transactions of Fold.
func TestFoldCutOffAnywhereInBulk(t *testing.T) {
	t.Run("one chunk", func(t *testing.T) { foldCutOff(t, rapid.IntRange(1, 6), 32) })
	t.Run("chunks", func(t *testing.T) { foldCutOff(t, rapid.IntRange(10, 30), 1) })
}

func foldCutOff(t *testing.T, batches *rapid.Generator[int], parts int) {
	rapid.Check(t, func(rt *rapid.T) {
		s := openTest(t, t.TempDir(), true)
		defer s.close(t)
		want := map[string]string{} // URL -> reason of the record that holds
		first := 0
		for batch := range batches.Draw(rt, "batches") {
			n := rapid.IntRange(0, 10).Draw(rt, "new")
			news := newURLs(first, first+n)
			for _, u := range news {
				want[u.URL] = ""
			}
			var done []*record.Done
			for i, id := range rapid.SliceOfNDistinct(rapid.IntRange(0, max(first+n-1, 0)), 0, first+n,
				rapid.ID[int]).Draw(rt, "done") {
				if first+n == 0 {
					break
				}
				d := &record.Done{Resource: record.Resource{
					ID:      uint32(id),
					URL:     testURL(id),
					Outcome: site.Failed,
					Reason:  fmt.Sprintf("%d.%d", batch, i),
				}, Linked: true}
				want[d.URL.String()] = d.Reason
				done = append(done, d)
			}
			commit(t, s, uint32(first), news, done...)
			first += n
		}
		s.Records.FoldItems, s.Records.FoldParts = rapid.IntRange(0, 8).Draw(rt, "items"), parts
		stop := rapid.IntRange(0, 12*32/parts).Draw(rt, "stop")
		killed := errors.New("killed")
		s.Step = func(string) {
			if stop--; stop == 0 {
				panic(killed)
			}
		}
		func() {
			defer func() {
				if p := recover(); p != nil && p != any(killed) {
					panic(p)
				}
			}()
			foldAll(t, s, 1)
		}()
		stop = 0
		seen := map[string]string{} // what a resume learns: records, then the journal
		for u, r := range resources(t, s) {
			seen[u] = r.Reason
		}
		err := s.Records.Replay(func(id uint32, u record.NewURL) error {
			if _, ok := seen[u.URL]; !ok {
				seen[u.URL] = ""
			}
			return nil
		}, func(r *record.Resource, _ []byte, _ bool) error { seen[r.URL.String()] = r.Reason; return nil })
		if err != nil || !maps.Equal(seen, want) {
			rt.Fatalf("after the kill: %v\ngot  %v\nwant %v", err, seen, want)
		}
		foldAll(t, s, 1)
		got := map[string]string{}
		for u, r := range resources(t, s) {
			got[u] = r.Reason
		}
		if !maps.Equal(got, want) {
			rt.Fatalf("got  %v\nwant %v", got, want)
		}
	})
}

// Fold writes the records of a journal that has them in any order of keys by key: it does not write a page
// for each of them.
func TestFoldWritesByKey(t *testing.T) {
	wrote := foldShuffled(t, 4000, 32)
	if wrote > 3100 {
		t.Errorf("Fold writes %d bytes for a record", wrote)
	} else {
		t.Logf("Fold writes %d bytes for a record", wrote)
	}
}

// foldShuffled folds so many records with so many of them in a part. It returns how many bytes it wrote for
// each.
func foldShuffled(t *testing.T, pages, items int) int64 {
	t.Helper()
	s := openTest(t, t.TempDir(), true)
	s.Records.FoldItems = items
	const batch = 100
	r := rand.New(rand.NewPCG(5, 6))
	order := r.Perm(pages)
	for first := 0; first < pages; first += batch {
		var news []record.NewURL
		var done []*record.Done
		for id, k := range order[first : first+batch] {
			u := testURL(k)
			news = append(news, record.NewURL{URL: u.String()})
			done = append(done, &record.Done{Resource: record.Resource{
				ID:      uint32(first + id),
				URL:     u,
				Outcome: site.Failed,
				Reason:  strings.Repeat("x", 100),
			}, Targets: []uint32{1, 2, 3}, Linked: true})
		}
		commit(t, s, uint32(first), news, done...)
	}
	stats := func() int64 {
		all := boltOf(t, s).Stats()
		return all.TxStats.GetPageAlloc()
	}
	before := stats()
	foldAll(t, s, 1)
	wrote := (stats() - before) / int64(pages)
	if got := len(resources(t, s)); got != pages {
		t.Errorf("%d records", got)
	}
	return wrote
}

// A URL that waits, of which there is a record already, keeps the record.
func TestFoldKeepsRecords(t *testing.T) {
	s := openTest(t, t.TempDir(), true)
	commit(t, s, 0, newURLs(0, 2), document(t, s, 0, "zero"))
	foldAll(t, s, 1)
	commit(t, s, 0, newURLs(0, 3))
	foldAll(t, s, 1)
	got := resources(t, s)
	if r := got[testURL(0).String()]; len(got) != 3 || r.Body != record.PackBody {
		t.Errorf("%d records, %+v", len(got), r)
	}
}

func TestFoldPaths(t *testing.T) {
	s := openTest(t, t.TempDir(), false)
	commit(t, s, 0, newURLs(0, 3), document(t, s, 0, "zero"), document(t, s, 1, "one"))
	err := s.Records.Fold(Folding{Version: 4, Pending: func(id uint32) bool {
		return false
	}, Path: func(r *record.Resource) string {
		if r.ID == 0 {
			return "zero.html"
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	got := resources(t, s)
	if len(got) != 2 {
		t.Errorf("%d resources: a URL that is not pending was kept without a record", len(got))
	}
	if r := got[testURL(0).String()]; r.Path != "zero.html" || r.Moved != 4 {
		t.Errorf("%+v", r)
	}
	if r := got[testURL(1).String()]; r.Path != "" || r.Moved != 0 {
		t.Errorf("%+v", r)
	}
}

// A journal that the disk has changed is not folded.
func TestFoldOfDamagedJournal(t *testing.T) {
	s := openTest(t, t.TempDir(), false)
	var done []*record.Done
	for id := range 100 {
		done = append(done, &record.Done{Resource: record.Resource{ID: uint32(id), URL: testURL(id),
			Outcome: site.Failed}})
	}
	commit(t, s, 0, newURLs(0, 100), done...)
	entries := s.DB.Journal.Now().Entries
	change := func() {
		var b [1]byte
		at := entries[0].Off + redoHeader + 60
		if _, err := s.DB.Segment().ReadAt(b[:], at); err != nil {
			t.Fatal(err)
		}
		b[0] ^= 1
		if _, err := s.DB.Segment().WriteAt(b[:], at); err != nil {
			t.Fatal(err)
		}
	}
	change()
	err := s.Records.Fold(Folding{
		Version: 1,
		Pending: func(uint32) bool { return false },
		Path:    func(*record.Resource) string { return "" },
	})
	if _, damaged := errors.AsType[*db.DatabaseError](err); !damaged {
		t.Error("a changed journal was folded", err)
	}
	change()
	foldAll(t, s, 1)
	if n := len(resources(t, s)); n != 100 {
		t.Errorf("%d records of 100", n)
	}
}

// After a fold that was interrupted the journal is as it was, and the next one makes the same records.
func TestHalfFolded(t *testing.T) {
	s := openTest(t, t.TempDir(), false)
	s.Records.FoldItems = 9 // parts of ten
	var done []*record.Done
	for id := range 100 {
		done = append(done, &record.Done{Resource: record.Resource{ID: uint32(id), URL: testURL(id),
			Outcome: site.Failed}})
	}
	commit(t, s, 0, newURLs(0, 100), done...)
	stopped, parts := errors.New("stopped"), 0
	err := s.Records.Fold(Folding{
		Version: 1,
		Pending: func(uint32) bool { return false },
		Path:    func(*record.Resource) string { return "" },
		Err: func() error {
			if parts++; parts > 4 {
				return stopped
			}
			return nil
		},
	})
	if !errors.Is(err, stopped) {
		t.Fatal(err)
	}
	if n, records := results(t, s), len(resources(t, s)); n != 100 || records != 40 {
		t.Errorf("%d results, %d records", n, records)
	}
	foldAll(t, s, 1)
	if n, records := results(t, s), len(resources(t, s)); n > 0 || records != 100 {
		t.Errorf("%d results, %d records in the end", n, records)
	}
}

// results is how many results the journal has.
func results(t *testing.T, s *testSite) (n int) {
	t.Helper()
	err := s.Records.Replay(func(uint32, record.NewURL) error {
		return nil
	}, func(*record.Resource, []byte, bool) error {
		n++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
