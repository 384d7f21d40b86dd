// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mirrord/site"
)

func TestCommitReplayFold(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	a := document(t, s, 0, "page zero", 1, 2)
	commit(t, s, 0, newURLs(0, 4), a)
	b := blobOf(t, s, 2, "picture")
	commit(t, s, 4, newURLs(4, 5), b)
	again := document(t, s, 0, "page zero again", 3)
	commit(t, s, 5, nil, again)
	closeTest(t, st, s)

	_, s = openTest(t, dir, Options{})
	if n, err := s.Records.Known(); n != 5 || err != nil {
		t.Errorf("known %d, %v", n, err)
	}
	var log []string
	err := s.Records.Replay(func(id uint32, u NewURL) error {
		log = append(log, fmt.Sprintf("new %d %s %d %v", id, u.URL, u.Depth, u.Requis))
		if u != newURLs(int(id), int(id)+1)[0] {
			t.Errorf("url %d: %+v", id, u)
		}
		return nil
	}, func(r *Resource, targets []byte, linked bool) error {
		var ids []uint32
		Targets(targets, func(id uint32) bool { ids = append(ids, id); return true })
		log = append(log, fmt.Sprintf("done %d %v %v", r.ID, ids, linked))
		return nil
	})
	want := []string{"new 0 ", "new 1 ", "new 2 ", "new 3 ", "done 0 [1 2] true", "new 4 ", "done 2 [] true",
		"done 0 [3] true"}
	if err != nil || len(log) != len(want) {
		t.Fatalf("%v, %q", err, log)
	}
	for i, w := range want {
		if !strings.HasPrefix(log[i], w) {
			t.Errorf("step %d: %q, want %q", i, log[i], w)
		}
	}
	if r, ok, err := s.Records.Get(testURL(0)); ok || err != nil {
		t.Errorf("before the fold there is %+v, %v", r, err)
	}
	foldAll(t, s, 1)
	got := resources(t, s)
	if len(got) != 5 {
		t.Errorf("%d resources", len(got))
	}
	if r := got[testURL(0).String()]; r.Digest != again.Digest || r.At != again.At {
		t.Errorf("the first commit won: %+v", r)
	}
	if r := got[testURL(1).String()]; r.Outcome != site.Pending || r.ID != 1 || r.Depth != 1 {
		t.Errorf("pending: %+v", r)
	}
	if l, err := s.Records.TargetsOf(0); err != nil || !bytes.Equal(l, []byte{3}) {
		t.Errorf("links %v, %v", l, err)
	}
	if r, ok, err := s.Records.Get(testURL(2)); !ok || err != nil || r.Digest != b.Digest {
		t.Errorf("%+v, %v, %v", r, ok, err)
	}
	if err := s.Records.Replay(func(uint32, NewURL) error {
		return errors.New("not empty")
	}, func(*Resource, []byte, bool) error { return errors.New("not empty") }); err != nil {
		t.Error(err)
	}
}

// A model of what commits and folds mean: the last record of a URL holds, wherever a kill comes between the
// transactions of Fold.
func TestFoldCutOffAnywhere(t *testing.T) {
	t.Run("in memory", func(t *testing.T) { foldCutOff(t, rapid.IntRange(1, 6), 32) })
	t.Run("sorted", func(t *testing.T) {
		if n := foldCutOff(t, rapid.IntRange(10, 30), 1); n == 0 {
			t.Error("nothing was sorted on the disk")
		}
	})
}

// foldCutOff returns how many chunks were sorted.
func foldCutOff(t *testing.T, batches *rapid.Generator[int], parts int) (sorted int) {
	rapid.Check(t, func(rt *rapid.T) {
		st, s := openTest(t, t.TempDir(), Options{Volatile: true})
		defer func() {
			verifyTest(t, s)
			s.Close()
			st.Close()
		}()
		want := map[string]string{} // URL -> reason of the record that holds
		first := 0
		for batch := range batches.Draw(rt, "batches") {
			n := rapid.IntRange(0, 10).Draw(rt, "new")
			news := newURLs(first, first+n)
			for _, u := range news {
				want[u.URL] = ""
			}
			var done []*Done
			for i, id := range rapid.SliceOfNDistinct(rapid.IntRange(0, max(first+n-1, 0)), 0, first+n,
				rapid.ID[int]).Draw(rt, "done") {
				if first+n == 0 {
					break
				}
				d := &Done{Resource: Resource{
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
		s.Records.foldItems, s.Records.foldParts = rapid.IntRange(0, 8).Draw(rt, "items"), parts
		stop := rapid.IntRange(0, 12*32/parts).Draw(rt, "stop")
		killed := errors.New("killed")
		s.step = func(step string) {
			if step == "sorted the journal" {
				sorted++
			}
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
		verifyTest(t, s)
		seen := map[string]string{} // what a resume learns: records, then the journal
		for u, r := range resources(t, s) {
			seen[u] = r.Reason
		}
		err := s.Records.Replay(func(id uint32, u NewURL) error {
			if _, ok := seen[u.URL]; !ok {
				seen[u.URL] = ""
			}
			return nil
		}, func(r *Resource, _ []byte, _ bool) error { seen[r.URL.String()] = r.Reason; return nil })
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
	return sorted
}

// Fold writes the records of a journal that has them in any order of keys by key: it does not write a page
// for each of them.
func TestFoldWritesByKey(t *testing.T) {
	wrote := foldShuffled(t, 4000, 32, foldParts, true)
	if wrote > 3100 {
		t.Errorf("Fold writes %d bytes for a record", wrote)
	} else {
		t.Logf("Fold writes %d bytes for a record", wrote)
	}
}

// A journal of many chunks is sorted on the disk, and no chunk touches a great part of the leaves for a few
// records. Without room for that it is folded all the same.
func TestFoldSortsLargeJournals(t *testing.T) {
	sorted := foldShuffled(t, 20_000, 64, 1, true)
	other := foldShuffled(t, 20_000, 64, 1, false)
	t.Logf("Fold writes %d bytes for a record, %d without room to sort", sorted, other)
	if 3*sorted > 2*other { // a third of what is left is what each transaction writes
		t.Error("that is more than two thirds")
	}
}

// foldShuffled folds so many records with so many of them in a part, and so many parts in memory. It returns
// how many bytes it wrote for each. Without room nothing can be sorted on the disk.
func foldShuffled(t *testing.T, pages, items, parts int, room bool) int64 {
	t.Helper()
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	s.Records.foldItems, s.Records.foldParts = items, parts
	const batch = 100
	r := rand.New(rand.NewPCG(5, 6))
	order := r.Perm(pages)
	for first := 0; first < pages; first += batch {
		var news []NewURL
		var done []*Done
		for id, k := range order[first : first+batch] {
			u := testURL(k)
			news = append(news, NewURL{URL: u.String()})
			done = append(done, &Done{Resource: Resource{
				ID:      uint32(first + id),
				URL:     u,
				Outcome: site.Failed,
				Reason:  strings.Repeat("x", 100),
			}, Targets: []uint32{1, 2, 3}, Linked: true})
		}
		commit(t, s, uint32(first), news, done...)
	}
	dir := s.dir
	if !room {
		s.home.dir = filepath.Join(dir, "missing")
	}
	stats := func() int64 {
		all := s.db.bolt.Stats()
		return all.TxStats.GetPageAlloc()
	}
	before := stats()
	foldAll(t, s, 1)
	wrote := (stats() - before) / int64(pages)
	s.home.dir = dir
	if got := len(resources(t, s)); got != pages {
		t.Errorf("%d records", got)
	}
	verifyTest(t, s)
	return wrote
}

// A URL that waits, of which there is a record already, keeps the record.
func TestFoldKeepsRecords(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	commit(t, s, 0, newURLs(0, 2), document(t, s, 0, "zero"))
	foldAll(t, s, 1)
	commit(t, s, 0, newURLs(0, 3))
	foldAll(t, s, 1)
	got := resources(t, s)
	if r := got[testURL(0).String()]; len(got) != 3 || r.Body != PackBody {
		t.Errorf("%d records, %+v", len(got), r)
	}
}

// What is read ahead comes in order and ends with the last one, an error, or when nobody wants more.
func TestAhead(t *testing.T) {
	failed := errors.New("failed")
	for _, c := range []struct {
		last, fails, breaks, want int
	}{{last: 5, want: 5}, {last: 1, want: 1}, {last: 9, fails: 4, want: 3}, {last: 9, breaks: 2, want: 2}} {
		n, got := 0, 0
		for v, err := range ahead(func() (int, bool, error) {
			if n++; n == c.fails {
				return n, false, failed
			}
			return n, n == c.last, nil
		}) {
			if err != nil {
				if v != c.fails || err != failed {
					t.Errorf("%+v: %d, %v", c, v, err)
				}
				continue
			}
			if got++; v != got {
				t.Errorf("%+v: %d in place of %d", c, v, got)
			}
			if got == c.breaks {
				break
			}
		}
		if got != c.want || n > got+2 { // nobody reads any more, so n is safe to look at
			t.Errorf("%+v: %d, %d read", c, got, n)
		}
	}
}

func TestFoldPaths(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	commit(t, s, 0, newURLs(0, 3), document(t, s, 0, "zero"), document(t, s, 1, "one"))
	err := s.Records.Fold(Folding{Version: 4, Pending: func(id uint32) bool {
		return false
	}, Path: func(r *Resource) string {
		if r.ID == 0 {
			return "zero.html"
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	publishTest(t, s, 4, nil)
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

// history returns the records before a version by URL; nil for a URL that was not there.
func history(t *testing.T, s *Site, version int) map[string]*Resource {
	t.Helper()
	out := map[string]*Resource{}
	err := s.db.View(func(tx *transaction) error {
		prefix := seqKey(uint64(version))
		c := tx.Bucket(bHistory).Cursor()
		for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
			u, err := urlOfKey(k[8:])
			if err != nil {
				return err
			}
			if len(v) == 0 {
				out[u.String()] = nil
				continue
			}
			r := new(Resource)
			if err := r.decode(u, v); err != nil {
				return err
			}
			out[u.String()] = r
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestHistory(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	publishTest(t, s, 1, nil)
	zero, one := document(t, s, 0, "zero"), document(t, s, 1, "one")
	commit(t, s, 0, newURLs(0, 3), zero, one)
	foldAll(t, s, 1)
	if h := history(t, s, 1); len(h) != 0 {
		t.Errorf("the first version has a history: %v", h)
	}
	// Version 2: zero changes, one is requested and is as before, three is new.
	one.Checked, one.Outcome = 2000, site.Unchanged
	commit(t, s, 3, newURLs(3, 4), document(t, s, 0, "zero, second"), one, document(t, s, 3, "three"))
	foldAll(t, s, 2)
	// The same run goes on after an interruption and changes zero once more: version 1's record stays the one to
	// go back to.
	commit(t, s, 4, nil, document(t, s, 0, "zero, third"))
	foldAll(t, s, 2)
	h := history(t, s, 2)
	if len(h) != 2 || h[testURL(0).String()] == nil || h[testURL(3).String()] != nil {
		t.Fatalf("history %v", h)
	}
	if h[testURL(0).String()].Digest != zero.Digest {
		t.Error("the history has not the first record")
	}
	f, err := s.Frames.ReadFrame(NewFrameReader(), h[testURL(0).String()].At)
	if err != nil || string(f.Body) != "zero" {
		t.Errorf("the old body: %q, %v", f.Body, err)
	}
}

func TestCommitRefusesLongURLs(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	long := "http://a/" + strings.Repeat("x", MaxURL-9)
	news := []NewURL{{URL: long}}
	commit(t, s, 0, news)
	foldAll(t, s, 1)
	d := &Done{Resource: Resource{
		URL:     site.Canonical(long),
		Outcome: site.Gone,
		Digest:  sha256.Sum256(nil),
		Body:    BlobBody,
		InSet:   false,
	}}
	if err := blobsOf(s).Put(d.Digest, nil, at(0)); err != nil {
		t.Fatal(err)
	}
	publishTest(t, s, 1, nil)
	commit(t, s, 1, nil, d)
	foldAll(t, s, 2) // its key goes into the history, too
	if err := s.Records.Commit(1, []NewURL{{URL: long + "x"}}, nil); !errors.Is(err, ErrTooLong) {
		t.Errorf("%v", err)
	}
	publishTest(t, s, 2, nil)
}

func TestDamagedJournal(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	put := func(v []byte) {
		if err := s.db.Update(func(tx *transaction) error {
			return tx.Bucket(bJournal).Put(seqKey(1), v)
		}); err != nil {
			t.Fatal(err)
		}
	}
	good := &Done{Resource: Resource{URL: testURL(0)}}
	commit(t, s, 0, newURLs(0, 1), good)
	for _, v := range [][]byte{
		{}, {0}, {0, 1, 3, ':', '/', '/', 0, 0, 0},
		{0, 0, 1, 4, ':', '/', '/', '/', 2, recordVersion, rfPathIsURL, 0}, bytes.Repeat([]byte{0xff}, 40),
	} {
		put(v)
		err := s.Records.Replay(func(_ uint32, u NewURL) error {
			_, err := storedURL(u.URL)
			return err
		}, func(*Resource, []byte, bool) error { return nil })
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%x: replay: %v", v, err)
		}
		var disk *DiskError
		err = s.Records.Fold(Folding{
			Pending: func(uint32) bool { return true },
			Path:    func(*Resource) string { return "" },
		})
		if !errors.Is(err, ErrDamaged) || errors.As(err, &disk) {
			t.Errorf("%x: fold: %v", v, err)
		}
	}
	err := s.db.Update(func(tx *transaction) error { return tx.Bucket(bJournal).Delete(seqKey(1)) })
	if err != nil {
		t.Fatal(err)
	}
}

func TestRunIsKept(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	if r, err := s.Notes.Run(); r != nil || err != nil {
		t.Fatal(r, err)
	}
	r := &Run{Started: 5, Fingerprint: "f"}
	if err := s.Notes.BeginRun(r); err != nil || r.Number != 1 {
		t.Fatal(r, err)
	}
	r.Retrieved = true
	if err := s.Notes.SetRun(r); err != nil {
		t.Fatal(err)
	}
	if err := s.Notes.SetFingerprint("rules"); err != nil {
		t.Fatal(err)
	}
	closeTest(t, st, s)
	_, s = openTest(t, dir, Options{})
	if got, err := s.Notes.Run(); err != nil || *got != *r {
		t.Fatal(got, err)
	}
	if fp, err := s.Notes.Fingerprint(); fp != "rules" || err != nil {
		t.Fatal(fp, err)
	}
	if err := s.Notes.SetRun(nil); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Notes.Run(); r != nil || err != nil {
		t.Fatal(r, err)
	}
	next := new(Run)
	if err := s.Notes.BeginRun(next); err != nil || next.Number != 2 {
		t.Fatal(next, err)
	}
}

func BenchmarkCommit(b *testing.B) {
	_, s := openTest(b, b.TempDir(), Options{Volatile: true})
	var done []*Done
	for i := range 256 {
		done = append(done, &Done{Resource: Resource{
			ID:      uint32(i),
			URL:     testURL(i),
			Outcome: site.Gone,
			Reason:  "status 404",
		}})
	}
	news := newURLs(0, 256)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Records.Commit(0, news, done); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/record")
}

// A batch is written once, and not again with those that follow.
func TestBatchIsWrittenOnce(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	const batches, size = 12, 1000
	bytes := 0
	before := s.db.bolt.Stats()
	for i := range batches {
		news := newURLs(i*size, (i+1)*size)
		for _, n := range news {
			bytes += len(n.URL)
		}
		commit(t, s, uint32(i*size), news)
	}
	after := s.db.bolt.Stats()
	wrote := after.TxStats.GetPageAlloc() - before.TxStats.GetPageAlloc()
	// Each transaction writes a page of branches, of free pages, of metadata, of sums, and a leaf or two.
	if most := int64(2*bytes + batches*8*os.Getpagesize()); wrote > most {
		t.Errorf("%d bytes of batches took %d bytes of pages, more than %d", bytes, wrote, most)
	}
	n := 0
	err := s.Records.Replay(func(id uint32, u NewURL) error {
		if int(id) != n || u.URL != testURL(n).String() {
			t.Errorf("number %d: %d %s", n, id, u.URL)
		}
		n++
		return nil
	}, func(*Resource, []byte, bool) error { return errors.New("there is no record") })
	if err != nil || n != batches*size {
		t.Error(n, err)
	}
}
