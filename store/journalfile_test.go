// SPDX-License-Identifier: Apache-2.0

package store

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"mirrord/store/bodies"
	"mirrord/store/home"
	"mirrord/store/log"
	"mirrord/store/record"
	"mirrord/store/upkeep"
)

// unfinished makes a site with an unfinished run of some batches, and 5 records.
func unfinished(t *testing.T, s *Site, batches int) {
	t.Helper()
	commit(t, s, 0, newURLs(0, 5), document(t, s, 0, "zero", 1), document(t, s, 1, "one", 2))
	foldAll(t, s, 1)
	for i := range batches {
		id := 5 + i
		commit(t, s, uint32(id), newURLs(id, id+1), document(t, s, id, "in the journal", uint32(id)))
	}
}

// The journal is what it was after the log is begun again, after the database is made again from the log,
// after the site was closed, for readers beside the writer, and where the site was copied to.
func TestJournalStays(t *testing.T) {
	const batches = 7
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	unfinished(t, s, batches)
	check := func(what string, s *Site) {
		t.Helper()
		known, err := s.Records.Known()
		if n := results(t, s); n != batches || known != 5+batches || err != nil {
			t.Errorf("%s: %d results of %d, %d URLs, %v", what, n, batches, known, err)
		}
		err = s.Records.Replay(func(uint32, record.NewURL) error { return nil }, func(r *record.Resource, _ []byte,
			_ bool) error {
			f, err := s.Frames.ReadFrame(bodies.NewFrameReader(), r.At)
			if err == nil && string(f.Body) != "in the journal" {
				t.Errorf("%s: %s: %q", what, r.URL, f.Body)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	view := func(what string, st *State) {
		t.Helper()
		v, err := st.ViewSite("x")
		if err != nil {
			t.Fatal(what, err)
		}
		check(what, v)
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
	check("written", s)
	view("beside the writer", st)
	if err := s.RenewLog(); err != nil {
		t.Fatal(err)
	}
	check("log begun again", s)
	view("log begun again, beside the writer", st)
	closeTest(t, st, s)

	st, s = openTest(t, dir, Options{})
	check("opened again", s)
	closeTest(t, st, s)
	if err := os.Remove(filepath.Join(dir, "sites/x", home.SiteDB)); err != nil {
		t.Fatal(err)
	}
	st, s = openTest(t, dir, Options{})
	check("made again from the log", s)
	closeTest(t, st, s)

	st, err := OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	view("closed", st)
	there := travelTo(t, st)
	st, s = openTest(t, there, Options{})
	check("elsewhere", s)
	foldAll(t, s, 1)
	if n := len(resources(t, s)); n != 5+batches {
		t.Errorf("%d records", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	there = travelTo(t, st)
	if names, err := os.ReadDir(filepath.Join(there, "sites/x", log.Folder)); err == nil {
		t.Errorf("the log of a site without a journal travels: %v", names)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// travelTo copies what travels of the site into another state.
func travelTo(t *testing.T, st *State) (dir string) {
	t.Helper()
	tr, err := st.Depart("x")
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	dir = t.TempDir()
	for i := range tr.Files {
		f := &tr.Files[i]
		to := filepath.Join(dir, "sites/x", f.Name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		v, err := io.ReadAll(io.NewSectionReader(f.File, 0, f.Size()))
		if err == nil {
			err = os.WriteFile(to, v, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A disk that changes an entry of the journal costs the results from there on, and no more.
func TestJournalRotten(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	unfinished(t, s, 7)
	entries := s.DB.Journal.Now().Entries
	off := entries[3].Off + redoHeader + 5
	closeTest(t, st, s)
	logs, err := filepath.Glob(filepath.Join(dir, "sites/x", log.Folder, "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	v, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	v[off] ^= 1
	if err := os.WriteFile(logs[0], v, 0o600); err != nil {
		t.Fatal(err)
	}
	st, err = OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	view, err := st.ViewSite("x")
	if err != nil {
		t.Fatal(err)
	}
	if n := results(t, view); n != 3 {
		t.Errorf("a reader has %d results", n)
	}
	verifyTest(t, view, upkeep.BadLog)
	if err := view.Close(); err != nil {
		t.Error(err)
	}
	s, err = st.OpenSite("x")
	if err != nil {
		t.Fatal(err)
	}
	if n := results(t, s); n != 3 {
		t.Errorf("%d results", n)
	}
	commit(t, s, 8, newURLs(8, 9), document(t, s, 8, "after that", 2))
	foldAll(t, s, 1)
	if n := len(resources(t, s)); n != 9 {
		t.Errorf("%d records", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}
