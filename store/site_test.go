// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"mirrord/site"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
	"mirrord/store/shared"
)

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	_, s := openTest(t, dir, Options{})
	other, err := OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	start := time.Now()
	for _, open := range []func(string) (*Site, error){other.OpenSite, other.readSite} {
		if _, err := open("x"); !errors.Is(err, disk.ErrLocked) {
			t.Errorf("%v", err)
		}
	}
	if d := time.Since(start); d > 5*time.Minute {
		t.Errorf("it took %v to say so", d)
	}
	if err := other.RemoveSite("x"); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("a site in use is removed: %v", err)
	}
	if y, err := other.OpenSite("y"); err != nil { // another site is free
		t.Error(err)
	} else {
		y.Close()
	}
	closeSite(t, s)
	if err := s.Close(); !errors.Is(err, ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
	again, err := other.OpenSite("x")
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	// Readers share.
	r1, err := other.readSite("x")
	if err != nil {
		t.Fatal(err)
	}
	defer r1.Close()
	r2, err := other.readSite("x")
	if err != nil {
		t.Fatal(err)
	}
	defer r2.Close()
}

func TestLockedWaits(t *testing.T) {
	dir := t.TempDir()
	_, s := openTest(t, dir, Options{})
	other, err := OpenState(dir, Options{Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	opened := make(chan error, 1)
	go func() {
		s, err := other.OpenSite("x")
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	closeSite(t, s)
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// A change is refused when the database has a larger token than its lease; from then on the lease is known to
// be lost.
func TestOlderToken(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	if err := s.Notes.SetFact("x", []byte("y")); err != nil || s.Lease.Token != 1 {
		t.Errorf("token %d: %v", s.Lease.Token, err)
	}
	if err := s.DB.Update(func(tx *db.Tx) error {
		return tx.Bucket(db.Meta).Put(home.KeyToken, db.NumberKey(2))
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var bad *disk.DiskError
		if err := s.Notes.SetFact("x", nil); !errors.Is(err, db.ErrLeaseLost) || errors.As(err, &bad) {
			t.Errorf("%v", err)
		}
	}
	<-s.Lease.Ended
}

func TestNewerFormat(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	set := func(v []byte) {
		t.Helper()
		if err := s.DB.Update(func(tx *db.Tx) error { return tx.Meta().Put(db.KeyFormat, v) }); err != nil {
			t.Fatal(err)
		}
		closeSite(t, s)
	}
	set(binary.BigEndian.AppendUint32(nil, db.FormatVersion+1))
	for _, open := range []func(string) (*Site, error){st.OpenSite, st.readSite} {
		_, err := open("x")
		var bad *disk.DiskError
		if !errors.Is(err, record.ErrNewerFormat) || errors.As(err, &bad) ||
			!strings.Contains(err.Error(), "newer mirrord") {
			t.Errorf("%v", err)
		}
	}
	file, err := bolt.Open(filepath.Join(dir, "sites/x/site.db"), 0o644, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = file.Update(func(tx *bolt.Tx) error { return tx.Bucket(db.Meta).Put(db.KeyFormat, []byte("?")) })
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := st.readSite("x"); !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("%v", err)
	}
}

func TestNoSite(t *testing.T) {
	dir := t.TempDir()
	st, err := OpenState(filepath.Join(dir, "deep/state"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.readSite("x"); !errors.Is(err, home.ErrNoSite) {
		t.Errorf("%v", err)
	}
	if names, err := st.Sites(); err != nil || len(names) != 0 {
		t.Errorf("%v, %v", names, err)
	}
	if err := st.RemoveSite("x"); !errors.Is(err, home.ErrNoSite) {
		t.Errorf("%v", err)
	}
	for _, name := range []string{
		"", ".", "..", "a/b", "../x", ".hidden", "a\\b", strings.Repeat("x", 65), "a\x00b",
	} {
		if _, err := st.OpenSite(name); err == nil {
			t.Errorf("%q was opened", name)
		}
		if _, err := st.readSite(name); err == nil {
			t.Errorf("%q was opened for reading", name)
		}
		if err := st.RemoveSite(name); err == nil {
			t.Errorf("%q was removed", name)
		}
	}
	if _, err := os.Stat(filepath.Join(st.Dir, "sites")); err != nil {
		t.Error(err)
	}
	if _, err := OpenState(filepath.Join(os.Args[0], "x"), Options{}); err == nil {
		t.Error("a state below a file")
	}
}

func TestRemoveSite(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	commit(t, s, 0, newURLs(0, 1), document(t, s, 0, "x"))
	b := blobOf(t, s, 1, "shared")
	publishTest(t, s, 1, map[string]string{"a": "b"})
	closeSite(t, s)
	if names, err := st.Sites(); err != nil || !slices.Equal(names, []string{"x"}) {
		t.Errorf("%v, %v", names, err)
	}
	if err := st.RemoveSite("x"); err != nil {
		t.Fatal(err)
	}
	es, err := os.ReadDir(filepath.Join(dir, "sites"))
	if err != nil || len(es) != 0 {
		t.Errorf("left: %v, %v", es, err)
	}
	if _, err := st.Bodies.AsFile(b.Digest); err != nil {
		t.Errorf("the blob went with it: %v", err)
	}
	// One that is damaged can be removed, too, and one that was cut off while it was removed.
	for _, p := range []string{"bad", ".removed-bad"} {
		if err := os.MkdirAll(filepath.Join(dir, "sites", p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "sites/bad/site.db"), random(9000, 3), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := st.OpenSite("bad"); err == nil {
		t.Error("garbage was opened as a database")
	}
	if names, err := st.Sites(); err != nil || !slices.Equal(names, []string{"bad"}) {
		t.Errorf("%v, %v", names, err)
	}
	if err := st.RemoveSite("bad"); err != nil {
		t.Error(err)
	}
}

// A site and its records get another name; one that is open does not, and no name of another site is taken.
func TestRenameSite(t *testing.T) {
	st, s := openTest(t, t.TempDir(), Options{})
	commit(t, s, 0, newURLs(0, 1), document(t, s, 0, "x"))
	publishTest(t, s, 1, map[string]string{"a": "b"})
	if _, err := st.HoldSite("x"); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("an open site: %v", err)
	}
	closeSite(t, s)
	for i := range 3 {
		if err := st.Shared.AddRun(shared.RunRecord{Site: "x", Version: i}); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Shared.SaveJobRecords(map[string][]byte{"x": []byte(`{"a":1}`)}); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(st.Dir, "sites/taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	h, err := st.HoldSite("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Rename("taken"); err == nil {
		t.Error("renamed to a name that is taken")
	}
	for range 2 { // as an interrupted one does when it resumes
		if err := st.Shared.CopyRecords("x", "y"); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(h.Rename("y"), h.Close(), st.Shared.DropRecords("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := st.HoldSite("x"); !errors.Is(err, home.ErrNoSite) {
		t.Errorf("%v", err)
	}
	y, err := st.OpenSite("y")
	if err != nil {
		t.Fatal(err)
	}
	if vs, err := y.Versions.List(); err != nil || len(vs) != 1 {
		t.Errorf("%v, %v", vs, err)
	}
	if err := y.Close(); err != nil {
		t.Error(err)
	}
	runs, err := st.Shared.Runs("y", 9)
	if err != nil || len(runs) != 3 || runs[0].Version != 2 {
		t.Errorf("%v, %v", runs, err)
	}
	if runs, err := st.Shared.Runs("x", 9); err != nil || len(runs) != 0 {
		t.Errorf("%v, %v", runs, err)
	}
	recs, err := st.Shared.JobRecords()
	if err != nil || len(recs) != 1 || string(recs["y"]) != `{"a":1}` {
		t.Errorf("%q, %v", recs, err)
	}
}

// Long walks give the pages that they touched back, and go over several transactions.
func TestEachIsComplete(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	n := 2*4096 + 17 // of three transactions
	var done []*record.Done
	for i := range n {
		done = append(done, &record.Done{Resource: record.Resource{ID: uint32(i), URL: testURL(i)}})
	}
	commit(t, s, 0, newURLs(0, n), done...)
	foldAll(t, s, 1)
	seen := map[uint32]bool{}
	last := ""
	err := s.Records.Resources(func(r *record.Resource) error {
		if k := string(r.URL.Key(nil)); k <= last {
			t.Errorf("%q after %q", k, last)
		} else {
			last = k
		}
		seen[r.ID] = true
		return nil
	})
	if err != nil || len(seen) != n {
		t.Errorf("%d of %d, %v", len(seen), n, err)
	}
	for _, dir := range []string{
		"http://h1.example/dir2/", "http://h2.example/", "http://h1.example/dir22/", "https://h1.example/",
		"http://h0.example/dir3/page10.html/",
	} {
		under, want := 0, 0
		for i := range n {
			if strings.HasPrefix(testURL(i).String(), dir) {
				want++
			}
		}
		err := s.Records.ResourcesUnder(site.Canonical(dir), func(r *record.Resource) error {
			if !strings.HasPrefix(r.URL.String(), dir) {
				t.Errorf("%s lies under %s", r.URL, dir)
			}
			under++
			return nil
		})
		if err != nil || under != want {
			t.Errorf("%d of %d lie under %s, %v", under, want, dir, err)
		}
	}
	stop := errors.New("stop")
	if err := s.Records.Resources(func(*record.Resource) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}
