// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mirrord/phm"
	"mirrord/store/bodies"
	"mirrord/store/db"
	"mirrord/store/disk"
	"mirrord/store/home"
	"mirrord/store/record"
	"mirrord/store/travel"
	"mirrord/store/upkeep"
)

// When the disk has lost the end of a pack, what comes later does not take the place of what records still
// refer to.
func TestLostFramesAreNotOtherOnes(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	lost := document(t, s, 0, string(random(3000, 1)))
	commit(t, s, 0, newURLs(0, 1), lost)
	foldAll(t, s, 1)
	closeTest(t, st, s)
	if err := os.Truncate(filepath.Join(s.Dir, "packs", bodies.PackName(1)), 0); err != nil {
		t.Fatal(err)
	}
	_, s = openTest(t, dir, Options{}, upkeep.BadFrame)
	now := document(t, s, 1, string(random(3000, 2))) // as long as the lost one
	more := document(t, s, 2, string(random(5000, 3)))
	commit(t, s, 1, newURLs(1, 3), now, more)
	if f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), lost.At); !errors.Is(err, disk.ErrDamaged) {
		t.Errorf("the lost document is now %.20q of %s, %v", f.Body, f.Meta, err)
	}
	for _, d := range []*record.Done{now, more} {
		if f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), d.At); err != nil || int64(len(f.Body)) != d.Size {
			t.Error(err)
		}
	}
}

// An empty record is damage, not the work of a newer program.
func TestEmptyRecordIsDamage(t *testing.T) {
	var r record.Resource
	if err := r.Decode(testURL(0), nil); !errors.Is(err, disk.ErrDamaged) || errors.Is(err,
		record.ErrNewerFormat) {
		t.Errorf("%v", err)
	}
	if err := r.Decode(testURL(0), []byte{2}); !errors.Is(err, record.ErrNewerFormat) {
		t.Errorf("%v", err)
	}
}

// After an I/O error no transaction of any kind follows.
func TestNoFactsAfterAnIOError(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	if err := s.Update("x", func(*db.Tx) error { return syscall.EIO }); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	if err := s.Notes.SetFact("x", []byte("y")); !errors.Is(err, syscall.EIO) {
		t.Errorf("a fact was written: %v", err)
	}
}

// A blob that is discarded before its batch was synced does not make the next sync fail.
func TestDiscardBeforeSync(t *testing.T) {
	dir := t.TempDir()
	_, s := openTest(t, dir, Options{})
	d := blobOf(t, s, 0, "image")
	if err := os.WriteFile(blobFile(s, d.Digest), []byte("wrong"), 0o644); err != nil {
		t.Fatal(err)
	}
	if missing, err := s.Kept.Discard(d.Digest); !missing || err != nil {
		t.Fatal(missing, err)
	}
	commit(t, s, 0, newURLs(0, 1), document(t, s, 0, "page"))
}

// While a file of the published tree is repaired, readers see the old or the new one, and nothing else.
func TestRelinkLeavesNothingInTheTree(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{})
	d := blobOf(t, s, 0, "image")
	publishTest(t, s, 1, map[string]string{"dir/a.png": "imaGe", phm.MetaName: "{}"})
	steps := 0
	s.Step = func(string) {
		steps++
		tree, err := s.Trees.Current()
		if err != nil {
			t.Fatal(err)
		}
		defer tree.Close()
		names, err := fs.Glob(tree.FS(), "dir/*")
		if err != nil || !slices.Equal(names, []string{"dir/a.png"}) {
			t.Errorf("%q, %v", names, err)
		}
	}
	for range 2 { // as after a crash the second time
		left := filepath.Join(s.Dir, "trees", "mend", "dir", "a.png")
		err := os.MkdirAll(filepath.Dir(left), 0o755)
		if err == nil {
			err = os.WriteFile(left, []byte("left behind"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Trees.Relink("dir/a.png", d.Digest); err != nil {
			t.Fatal(err)
		}
	}
	s.Step = nil
	tree, err := s.Trees.Current()
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if got := readFile(t, tree, "dir/a.png"); got != "image" || steps == 0 {
		t.Errorf("%q after %d steps", got, steps)
	}
}

// A pack that has to stay, because something in it cannot be read, does not make others grow with every call.
func TestCompactLeavesADamagedPackOnce(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true}, upkeep.BadFrame)
	s.Frames.Packs.Max = 256 << 10
	var done []*record.Done
	for id := range 8 {
		if d := document(t, s, id, string(random(60_000, byte(id)))); id == 1 || id == 3 || id > 5 {
			done = append(done, d)
		}
	}
	commit(t, s, 0, newURLs(0, 8), done...)
	foldAll(t, s, 1)
	name := filepath.Join(s.Dir, "packs", bodies.PackName(1))
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	last := done[0].At
	for _, d := range done {
		if d.At.Pack == 1 {
			last = d.At
		}
	}
	if last == done[0].At {
		t.Fatal("only one document in use in the first pack")
	}
	raw[last.Off+100] ^= 1
	if err := os.WriteFile(name, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Frames.Packs.Forget()
	size := func() int64 { return sizeOf(t, filepath.Join(s.Dir, "packs")) }
	if c := compact(t, s, false); len(c.Damaged) != 1 {
		t.Fatalf("%+v", c)
	}
	once := size()
	compact(t, s, false)
	if n := size(); n > once {
		t.Errorf("%d bytes after a second call, %d before", n, once)
	}
	if f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), done[0].At); err != nil || len(f.Body) != 60_000 {
		t.Error(err)
	}
}

// Sets of URL numbers that cannot be are named, and not walked through: they may have four billion.
func TestVerifyDoesNotWalkImpossibleSets(t *testing.T) {
	_, s := openTest(t, t.TempDir(), Options{Volatile: true})
	commit(t, s, 0, newURLs(0, 3))
	foldAll(t, s, 1)
	all := record.IDs{{First: 0, Last: 1<<32 - 1}}
	if err := s.Records.AddObservation(&record.Observation{Run: 1, Asked: all, Changed: all}); err != nil {
		t.Fatal(err)
	}
	var found []upkeep.Problem
	if _, err := s.Verify(t.Context(), func(p upkeep.Problem) { found = append(found, p) }); err != nil ||
		len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	if err := s.Update("forget", func(tx *db.Tx) error {
		return tx.Bucket(home.Observed).Delete(db.NumberKey(1))
	}); err != nil {
		t.Fatal(err)
	}
}

// A rebuild leaves a bad line of the file table out, changes nothing when the published tree cannot be read,
// keeps what earlier ones took out of use, and numbers new packs differently.
func TestRebuildAgain(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	commit(t, s, 0, newURLs(0, 1), document(t, s, 0, "page"))
	foldAll(t, s, 1)
	if err := s.Frames.Packs.Finish(); err != nil {
		t.Fatal(err)
	}
	publishTest(t, s, 1, map[string]string{phm.MetaName: "{"})
	closeSite(t, s)
	if _, err := st.Rebuild("x"); err == nil {
		t.Error("a tree that is no PHM was read")
	}
	if _, err := os.Stat(filepath.Join(dir, "sites/x/damaged")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was taken out of use: %v", err)
	}
	tree := filepath.Join(dir, "sites/x/current")
	lines := []phm.File{
		{Path: "a.html", URL: "http://a/a.html", Type: "text/html", Size: 4, SHA256: sum("page")},
		{
			Path:   "b.html",
			URL:    "http://a/" + strings.Repeat("b", record.MaxURL),
			Type:   "text/html",
			Size:   4,
			SHA256: sum("page"),
		},
		{Path: "c.html", URL: "http://a/c.html", Type: "text/html", Size: 4, SHA256: sum("page")},
	}
	writePHM(t, tree, 1, lines)
	for _, aside := range []string{"damaged", "damaged-2", "damaged-3"} {
		if n, err := st.Rebuild("x"); n != 2 || err != nil {
			t.Fatalf("%s: %d, %v", aside, n, err)
		}
		packs, err := os.ReadDir(filepath.Join(dir, "sites/x", aside, "packs"))
		if err != nil || len(packs) == 0 {
			t.Fatalf("%s: %v, %v", aside, packs, err)
		}
		now, err := os.ReadDir(filepath.Join(dir, "sites/x/packs"))
		number := func(e os.DirEntry) uint32 { return travel.PackNumber("packs/" + e.Name()) }
		if err != nil || len(now) != 1 || number(now[0]) <= number(packs[len(packs)-1]) {
			t.Errorf("%s: the packs are now %v, %v", aside, now, err)
		}
	}
	s, err := st.OpenSite("x")
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, 2, newURLs(2, 3), document(t, s, 2, "new"))
	verifyTest(t, s)
	closeSite(t, s)
}
