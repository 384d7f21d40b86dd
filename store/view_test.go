// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mirrord/phm"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
	"mirrord/store/trees"
	"mirrord/store/upkeep"
)

// viewTest opens a view of a state of its own, as another process would.
func viewTest(t testing.TB, dir string) (*Site, error) {
	t.Helper()
	st, err := OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	s, err := st.ViewSite("x")
	if err == nil {
		t.Cleanup(func() {
			if s.DB != nil {
				s.Close()
			}
		})
	}
	return s, err
}

// Readers of a site that is written all the time have a whole database each, never an older one than was
// committed when they began, and nothing in it is damaged.
func TestViewsBesideCommits(t *testing.T) {
	dir := t.TempDir()
	_, s := openTest(t, dir, Options{Volatile: true}) // without syncs: as fast as can be
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var committed atomic.Uint32
	const most = 40000 // URLs: a database that grows without end takes its readers ever longer
	n := 0
	commitNext := func() {
		known, end := int(committed.Load()), min(n+20, most)
		at := n % most
		commit(t, s, uint32(known), newURLs(known, max(known, end)),
			document(t, s, at, fmt.Sprintf("body %d", n), uint32(at/20*20)))
		committed.Store(uint32(max(known, end)))
		if n += 20; n%400 == 20 {
			foldAll(t, s, 1)
		}
	}
	commitNext()
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil && !t.Failed() {
			commitNext()
		}
	})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range sized(5, 50) {
				before := committed.Load()
				v, err := viewTest(t, dir)
				if err != nil {
					t.Errorf("view: %v", err)
					return
				}
				known, err := v.Records.Known()
				if err != nil || known < before {
					t.Errorf("it knows %d URLs, %v; %d were committed", known, err, before)
				}
				verifyTest(t, v)
				v.Close()
			}
		})
	}
	readers.Wait()
	stop()
	all.Wait()
}

// A view taken at any moment of a publish has the records and the tree of one version.
func TestViewDuringPublish(t *testing.T) {
	dir := t.TempDir()
	_, s := openTest(t, dir, Options{})
	commit(t, s, 0, newURLs(0, 1), document(t, s, 0, "body"))
	foldAll(t, s, 1)
	files := func(v int) map[string]string {
		return map[string]string{phm.MetaName: fmt.Sprintf(`{"version": %d}`, v)}
	}
	publish := func(v int) {
		tree, err := s.Trees.Build(trees.TreeRules{})
		if err != nil {
			t.Error(err)
			return
		}
		defer tree.Close()
		fillTree(t, tree, v, files(v))
		if err := tree.Publish(record.Version{Number: v, Meta: []byte(files(v)[phm.MetaName])}, nil); err != nil {
			t.Error(err)
		}
	}
	publish(1)
	var views sync.WaitGroup
	s.Step = func(string) { // the publish continues a little later than the view begins
		begun := make(chan struct{})
		views.Go(func() {
			close(begun)
			v, err := viewTest(t, dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer v.Close()
			vs, err := v.Versions.List()
			if err != nil || len(vs) == 0 {
				t.Errorf("versions: %v, %v", vs, err)
				return
			}
			if got := currentVersion(t, v); got != vs[len(vs)-1].Number {
				t.Errorf("the tree is of version %d, the records of version %d", got, vs[len(vs)-1].Number)
			}
		})
		<-begun
	}
	for v := 2; v < 5; v++ {
		publish(v)
	}
	views.Wait()
	s.Step = nil
}

// What was read once can be read again as long as the view is open, regardless of later publishes
// and removals, but for bodies that are gone: then the view says that it is stale.
func TestViewIsOfItsMoment(t *testing.T) {
	dir := t.TempDir()
	_, s := openTest(t, dir, Options{})
	first := document(t, s, 0, "body of a page")
	commit(t, s, 0, newURLs(0, 1), first)
	foldAll(t, s, 1)
	publishTest(t, s, 1, map[string]string{"a": "1"})
	v, err := viewTest(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if v.DB.Stale() {
		t.Error("it is stale at once")
	}
	commit(t, s, 1, newURLs(1, 9))
	publishTest(t, s, 2, map[string]string{"a": "2"})
	if n, err := v.Records.Known(); err != nil || n != 1 {
		t.Errorf("it knows %d URLs, %v", n, err)
	}
	if got := currentVersion(t, v); got != 1 {
		t.Errorf("its tree is of version %d", got)
	}
	fr, err := v.Frames.ReadFrame(bodies.NewFrameReader(), first.At)
	if err != nil || string(fr.Body) != "body of a page" {
		t.Errorf("%q, %v", fr.Body, err)
	}
	if !v.DB.Stale() {
		t.Error("it is not stale")
	}
	if err := v.Notes.SetFact("x", []byte("y")); err == nil {
		t.Error("a view was written")
	}
}

// What cannot be read says why.
func TestViewRefused(t *testing.T) {
	set := func(f func(tx *db.Tx) error) func(t *testing.T, s *Site) {
		return func(t *testing.T, s *Site) {
			if err := s.DB.Update(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, s *Site)
		want   error
		text   string
	}{
		"newer format": {set(func(tx *db.Tx) error {
			return tx.Bucket(db.Meta).Put(db.KeyFormat, binary.BigEndian.AppendUint32(nil, db.FormatVersion+1))
		}), record.ErrNewerFormat, "newer"},
		"being rebuilt": {set(func(tx *db.Tx) error {
			return tx.Bucket(db.Meta).Put(home.KeyRebuilt, db.NumberKey(0))
		}), db.ErrBusy, "again"},
		"damaged": {func(t *testing.T, s *Site) {
			f, err := os.OpenFile(filepath.Join(s.Dir, home.SiteDB), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for page := int64(2); page < 12; page++ {
				at := page * int64(os.Getpagesize())
				if _, err := f.WriteAt(bytes.Repeat([]byte{0xff}, 16), at); err != nil {
					t.Fatal(err)
				}
			}
		}, disk.ErrDamaged, "site.db is damaged"},
		"no meta page": {func(t *testing.T, s *Site) {
			f, err := os.OpenFile(filepath.Join(s.Dir, home.SiteDB), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteAt(make([]byte, 3*os.Getpagesize()), 0); err != nil {
				t.Fatal(err)
			}
		}, disk.ErrDamaged, "meta page"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			st, err := OpenState(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			s, err := st.OpenSite("x")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c.change(t, s)
			if _, err := viewTest(t, dir); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// A site that is still being made, or was removed, has no view.
func TestViewOfNoSite(t *testing.T) {
	dir := t.TempDir()
	if _, err := viewTest(t, dir); !errors.Is(err, home.ErrNoSite) {
		t.Errorf("of nothing: %v", err)
	}
	path := filepath.Join(dir, "sites", "x")
	if err := os.MkdirAll(filepath.Join(path, "packs"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(path, home.SiteDB))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if ok, err := disk.Flock(f, true, false); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, err := viewTest(t, dir); !errors.Is(err, home.ErrNoSite) {
		t.Errorf("of an empty database: %v", err)
	}
}

// A view does not keep a writer from opening the site.
func TestRunBesideView(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	commit(t, s, 0, newURLs(0, 5))
	closeTest(t, st, s)
	v, err := viewTest(t, dir)
	if err != nil || v.DB.Busy {
		t.Fatal(v, err)
	}
	_, s = openTest(t, dir, Options{})
	commit(t, s, 5, newURLs(5, 9))
	if n, err := v.Records.Known(); err != nil || n != 5 || !v.DB.Stale() {
		t.Errorf("the view knows %d URLs, %v; stale: %v", n, err, v.DB.Stale())
	}
}

// A writer that meets readers goes over to a copy, for each time that there are new ones, and to none
// without. Each reader keeps what it has, and nothing is left behind.
func TestExchange(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	path := filepath.Join(s.Dir, home.SiteDB)
	file := func() os.FileInfo {
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return fi
	}
	fact := func(s *Site, want string) {
		t.Helper()
		if v, err := s.Notes.Fact("x"); err != nil || string(v) != want {
			t.Errorf("fact %q, %v, want %q", v, err, want)
		}
	}
	var views []*Site
	for n := range 4 {
		before := file()
		for k := range 3 {
			if err := s.Notes.SetFact("x", []byte(fmt.Sprint(n, k))); err != nil {
				t.Fatal(err)
			}
		}
		if same := os.SameFile(before, file()); same != (len(views) == 0) {
			t.Errorf("%d: with %d readers it is the same file: %v", n, len(views), same)
		}
		if len(views) == 2 { // then without readers
			for i, v := range views {
				fact(v, fmt.Sprint(i, 2))
				if err := v.Close(); err != nil {
					t.Error(err)
				}
			}
			views = nil
			continue
		}
		v, err := viewTest(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		views = append(views, v)
	}
	fact(s, "3 2")
	closeTest(t, st, s)
	if left, err := filepath.Glob(filepath.Join(dir, "sites", "x", ".*")); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// A transaction that reads within this process delays the exchange, and does not keep it from writing.
func TestExchangeDuringRead(t *testing.T) {
	dir := t.TempDir()
	_, s := openTest(t, dir, Options{})
	commit(t, s, 0, newURLs(0, 5))
	v, err := viewTest(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	err = s.DB.View(func(*db.Tx) error {
		time.AfterFunc(1500*time.Millisecond, func() { closed <- v.Close() })
		return s.Notes.SetFact("x", []byte("within")) // waits for the reader, as it cannot wait for itself
	})
	if err = errors.Join(err, <-closed); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Notes.Fact("x"); err != nil || string(got) != "within" {
		t.Errorf("%q, %v", got, err)
	}
}

// On a disk without space for a copy a writer waits until its readers are gone, and leaves nothing behind.
func TestExchangeOnFullDisk(t *testing.T) {
	dir, ok := mountTmpfs(t, "10m")
	if !ok {
		return
	}
	st, s := openTest(t, dir, Options{})
	commit(t, s, 0, newURLs(0, 5))
	v, err := viewTest(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	fillDisk(t, filler)
	if err := os.Truncate(filler, sizeOf(t, filler)-64<<10); err != nil { // for the log, not for a copy
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	time.AfterFunc(200*time.Millisecond, func() { closed <- v.Close() })
	if err = s.Notes.SetFact("x", []byte("full")); err != nil || len(closed) == 0 {
		t.Fatalf("%v; the reader is gone: %v", err, len(closed) > 0)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	closeTest(t, st, s)
	if left, err := filepath.Glob(filepath.Join(dir, "sites", "x", ".*")); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
	st, s = openTest(t, dir, Options{})
	if got, err := s.Notes.Fact("x"); err != nil || string(got) != "full" {
		t.Errorf("%q, %v", got, err)
	}
	closeTest(t, st, s)
}

// BenchmarkView opens and closes views of a site of 100 000 URLs that another process could be writing.
func BenchmarkView(b *testing.B) {
	dir := b.TempDir()
	st, err := OpenState(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	s, err := st.OpenSite("x")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	manyRecords(b, s, 100_000)
	size, begun := int64(0), processorTime()
	for b.Loop() {
		v, err := st.ViewSite("x")
		if err != nil {
			b.Fatal(err)
		}
		size = sizeOf(b, filepath.Join(dir, "sites/x", home.SiteDB))
		v.Close()
	}
	b.ReportMetric(float64(size)/1e6, "MB")
	b.ReportMetric(float64((processorTime()-begun).Microseconds())/1e3/float64(b.N), "cpu-ms/op")
}

// BenchmarkSums compares the values of sites of 100 000 and 1 000 000 URLs with their tallies, as opening one
// for a run does.
func BenchmarkSums(b *testing.B) {
	for _, urls := range []int{100_000, 1_000_000} {
		b.Run(strconv.Itoa(urls), func(b *testing.B) {
			_, s := openTest(b, b.TempDir(), Options{}, upkeep.BadFrame)
			manyRecords(b, s, urls)
			begun := processorTime()
			for b.Loop() {
				if err := s.DB.View((*db.Tx).CheckSums); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((processorTime()-begun).Microseconds())/1e3/float64(b.N), "cpu-ms/op")
			s.Close()
		})
	}
}

// manyRecords gives a site URLs with 20 links each.
func manyRecords(b *testing.B, s *Site, urls int) {
	const batch = 250
	for n := 0; n < urls; n += batch {
		var done []*record.Done
		for id := n; id < n+batch; id++ {
			d := documentRecord(id, fmt.Sprintf("body %d", id), nil)
			d.At = record.Place{Pack: 1, Off: int64(id) * 4096, Len: 4096}
			for k := range 20 {
				d.Targets = append(d.Targets, uint32(n+k))
			}
			done = append(done, d)
		}
		commit(b, s, uint32(n), newURLs(n, n+batch), done...)
	}
	foldAll(b, s, 1)
}

// processorTime is what this process has used, which other load of the machine does not change much.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
