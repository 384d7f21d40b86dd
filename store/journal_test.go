// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mirrord/site"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/facts"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/record"
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
	err := s.Records.Replay(func(id uint32, u record.NewURL) error {
		log = append(log, fmt.Sprintf("new %d %s %d %v", id, u.URL, u.Depth, u.Requis))
		if u != newURLs(int(id), int(id)+1)[0] {
			t.Errorf("url %d: %+v", id, u)
		}
		return nil
	}, func(r *record.Resource, targets []byte, linked bool) error {
		var ids []uint32
		record.Targets(targets, func(id uint32) bool { ids = append(ids, id); return true })
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
	if err := s.Records.Replay(func(uint32, record.NewURL) error {
		return errors.New("not empty")
	}, func(*record.Resource, []byte, bool) error { return errors.New("not empty") }); err != nil {
		t.Error(err)
	}
}

// history returns the records before a version by URL; nil for a URL that was not there.
func history(t *testing.T, s *Site, version int) map[string]*record.Resource {
	t.Helper()
	out := map[string]*record.Resource{}
	err := s.DB.View(func(tx *db.Tx) error {
		prefix := db.NumberKey(uint64(version))
		c := tx.Bucket(home.History).Cursor()
		for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
			u, err := record.URLOfKey(k[8:])
			if err != nil {
				return err
			}
			if len(v) == 0 {
				out[u.String()] = nil
				continue
			}
			r := new(record.Resource)
			if err := r.Decode(u, v); err != nil {
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
	// The same run resumes after an interruption and changes zero once more: version 1's record stays the one
	// to go back to.
	commit(t, s, 4, nil, document(t, s, 0, "zero, third"))
	foldAll(t, s, 2)
	h := history(t, s, 2)
	if len(h) != 2 || h[testURL(0).String()] == nil || h[testURL(3).String()] != nil {
		t.Fatalf("history %v", h)
	}
	if h[testURL(0).String()].Digest != zero.Digest {
		t.Error("the history has not the first record")
	}
	f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), h[testURL(0).String()].At)
	if err != nil || string(f.Body) != "zero" {
		t.Errorf("the old body: %q, %v", f.Body, err)
	}
}

func TestCommitRefusesLongURLs(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	long := "http://a/" + strings.Repeat("x", record.MaxURL-9)
	news := []record.NewURL{{URL: long}}
	commit(t, s, 0, news)
	foldAll(t, s, 1)
	d := &record.Done{Resource: record.Resource{
		URL:     site.Canonical(long),
		Outcome: site.Gone,
		Digest:  sha256.Sum256(nil),
		Body:    record.BlobBody,
		InSet:   false,
	}}
	if err := s.Kept.Put(d.Digest, nil, at(0)); err != nil {
		t.Fatal(err)
	}
	publishTest(t, s, 1, nil)
	commit(t, s, 1, nil, d)
	foldAll(t, s, 2) // its key goes into the history, too
	if err := s.Records.Commit(1, []record.NewURL{{URL: long + "x"}}, nil); !errors.Is(err, facts.ErrTooLong) {
		t.Errorf("%v", err)
	}
	publishTest(t, s, 2, nil)
}

func TestDamagedJournal(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	good := &record.Done{Resource: record.Resource{URL: testURL(0)}}
	commit(t, s, 0, newURLs(0, 1), good)
	foldAll(t, s, 1)
	for _, v := range [][]byte{
		{}, {0}, {0, 1, 3, ':', '/', '/', 0, 0, 0},
		{0, 0, 1, 4, ':', '/', '/', '/', 2, 1, 4, 0}, bytes.Repeat([]byte{0xff}, 40),
	} {
		if err := s.Log("commit batch", log.Batch, append(make([]byte, record.EndSize), v...), 1); err != nil {
			t.Fatal(err)
		}
		err := s.Records.Replay(func(_ uint32, u record.NewURL) error {
			_, err := record.StoredURL(u.URL)
			return err
		}, func(*record.Resource, []byte, bool) error { return nil })
		if !errors.Is(err, disk.ErrDamaged) {
			t.Errorf("%x: replay: %v", v, err)
		}
		var bad *disk.DiskError
		err = s.Records.Fold(facts.Folding{
			Pending: func(uint32) bool { return true },
			Path:    func(*record.Resource) string { return "" },
		})
		if !errors.Is(err, disk.ErrDamaged) || errors.As(err, &bad) {
			t.Errorf("%x: fold: %v", v, err)
		}
		s.DB.Journal.Drop(s.DB.Journal.Now().Last())
	}
}

func TestRunIsKept(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	if r, err := s.Notes.Run(); r != nil || err != nil {
		t.Fatal(r, err)
	}
	r := &record.Run{Started: 5, Fingerprint: "f"}
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
	next := new(record.Run)
	if err := s.Notes.BeginRun(next); err != nil || next.Number != 2 {
		t.Fatal(next, err)
	}
}

func BenchmarkCommit(b *testing.B) {
	_, s := openTest(b, b.TempDir(), Options{Volatile: true})
	var done []*record.Done
	for i := range 256 {
		done = append(done, &record.Done{Resource: record.Resource{
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

// A batch is one entry of the log, and nothing else is written.
func TestBatchIsWrittenOnce(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	const batches, size = 12, 1000
	bytes := 0
	before, tail := boltOf(t, s).Stats(), logSize(t, s)
	for i := range batches {
		news := newURLs(i*size, (i+1)*size)
		for _, n := range news {
			bytes += len(n.URL)
		}
		commit(t, s, uint32(i*size), news)
	}
	after := boltOf(t, s).Stats()
	if pages := after.TxStats.GetPageAlloc() - before.TxStats.GetPageAlloc(); pages > 0 {
		t.Errorf("%d bytes of pages were written", pages)
	}
	if wrote := logSize(t, s) - tail; wrote > int64(bytes) {
		t.Errorf("%d bytes of batches took %d bytes of log", bytes, wrote)
	}
	n := 0
	err := s.Records.Replay(func(id uint32, u record.NewURL) error {
		if int(id) != n || u.URL != testURL(n).String() {
			t.Errorf("number %d: %d %s", n, id, u.URL)
		}
		n++
		return nil
	}, func(*record.Resource, []byte, bool) error { return errors.New("there is no record") })
	if err != nil || n != batches*size {
		t.Error(n, err)
	}
}

// Results are those of the numbers that are wanted, each time that they came, until they are folded.
func TestResults(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	result := func(n, status int) *record.Done {
		return &record.Done{Resource: record.Resource{
			ID:      uint32(n),
			URL:     testURL(n),
			Outcome: site.Gone,
			Status:  status,
		}}
	}
	commit(t, s, 0, newURLs(0, 5), result(0, 404), result(3, 404), result(1, 404))
	commit(t, s, 5, newURLs(5, 7), result(6, 404), result(3, 410))
	results := func(of ...uint32) (got []string) {
		err := s.Records.Results(func(id uint32) bool { return slices.Contains(of, id) }, func(r *record.Resource) {
			got = append(got, fmt.Sprint(r.ID, " ", r.URL, " ", r.Status))
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	line := func(n, status int) string { return fmt.Sprint(n, " ", testURL(n), " ", status) }
	want := []string{line(3, 404), line(6, 404), line(3, 410)}
	if got := results(3, 6, 2); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	foldAll(t, s, 1)
	commit(t, s, 7, nil, result(6, 410))
	if got, want := results(3, 6), []string{line(6, 410)}; !slices.Equal(got, want) {
		t.Errorf("after a fold: %q, want %q", got, want)
	}
}

// results is how many results the journal has.
func results(t *testing.T, s *Site) (n int) {
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
