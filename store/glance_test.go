// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mirrord/mirror"
	"mirrord/store"
	"mirrord/store/db"
	"mirrord/store/home"
	"mirrord/testing/mirrortest"
)

// What lists show of a site is never other than what its database has, also while a run writes it and after a
// kill, and it is read without a copy of the database.
func TestGlanceAtEachStep(t *testing.T) {
	const home = "http://www.example.org"
	w := mirrortest.Start(t)
	w.Set(home+"/", mirrortest.HTML("Home", `<a href=a.html>a</a>`))
	m := mirrortest.New(t, w, "url = \""+home+"/\"\n[scope]\nkind = \"host\"\n")
	m.Durable = true
	steps, killed := 0, 0
	for version := 1; version <= 3; version++ {
		w.Set(home+"/a.html", mirrortest.HTML("A", fmt.Sprintf("<p>version %d", version)))
		_, err := m.RunWith(t.Context(), func(o *mirror.Options) {
			store.OnStep(o.Site, func(step string) {
				at := fmt.Sprintf("run %d, %s", version, step)
				if sameGlance(t, at, m.Dir) {
					steps++
				}
				dir := filepath.Join(t.TempDir(), "state")
				if err := os.CopyFS(dir, os.DirFS(m.Dir)); err != nil {
					t.Error(err)
				}
				if sameGlance(t, at+", killed", dir) {
					killed++
				}
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		if !sameGlance(t, fmt.Sprintf("after run %d", version), m.Dir) {
			t.Errorf("after run %d the database is copied", version)
		}
	}
	if steps < 15 || killed > 0 {
		t.Errorf("without a copy: %d times during runs, %d times after a kill", steps, killed)
	}
}

// sameGlance compares what lists show with what the database has, and reports whether the database was not
// copied for it.
func sameGlance(t *testing.T, at, dir string) (kept bool) {
	t.Helper()
	st, err := store.OpenState(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	kept = store.KeptGlance(st, "test") != nil
	want, last, err := store.SeenGlance(st, "test")
	if err != nil {
		t.Fatal(at, err)
	}
	g := want // else Glance waits for a publish that is stopped
	if kept {
		if g, err = store.GlanceAt(st, "test"); err != nil {
			t.Fatal(at, err)
		}
	}
	got, _ := json.Marshal(g)
	if b, _ := json.Marshal(want); string(got) != string(b) || g.Busy != want.Busy || g.Version.Number != last {
		t.Errorf("%s: %s, busy %v; the database has %s, busy %v, and version %d", at, got, g.Busy, b, want.Busy,
			last)
	}
	return kept
}

// A file that is not of the database beside it is not used, and the error of the database is reported.
func TestGlanceOfAnother(t *testing.T) {
	dir := t.TempDir()
	st, err := store.OpenState(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := store.GlanceAt(st, "x"); !errors.Is(err, home.ErrNoSite) {
		t.Errorf("no site: %v", err)
	}
	s, err := st.OpenSite("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Notes.SetFact(store.HooksFact, []byte("a")), s.Close()); err != nil {
		t.Fatal(err)
	}
	file, kept := filepath.Join(dir, "sites/x/site.db"), filepath.Join(dir, "sites/x/glance.json")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	good := func() bool {
		g, err := store.GlanceAt(st, "x")
		return err == nil && string(g.Hooks) == "a"
	}
	for _, tc := range []struct {
		name   string
		change func() error
		kept   bool // the file is used
		good   bool
	}{
		{"unchanged", func() error { return nil }, true, true},
		{"database put back later", func() error {
			return errors.Join(os.Remove(file), os.WriteFile(file, whole, 0o640))
		}, false, true},
		{"file missing", func() error { return os.Remove(kept) }, false, true},
		{"file cut", func() error { return os.WriteFile(kept, []byte(`{"version"`), 0o640) }, false, true},
		{"left open by a process that was killed", func() error {
			return os.WriteFile(kept,
				fmt.Appendf(nil, `{"format":%d,"open":true,"hooks":"eA=="}`, db.FormatVersion), 0o640)
		}, false, true},
		{"database damaged", func() error {
			return os.WriteFile(file, make([]byte, len(whole)), 0o640)
		}, false, false},
	} {
		if err := tc.change(); err != nil {
			t.Fatal(err)
		}
		if got := store.KeptGlance(st, "x") != nil; got != tc.kept {
			t.Errorf("%s: the file is used: %v", tc.name, got)
		}
		if got := good(); got != tc.good {
			t.Errorf("%s: good: %v", tc.name, got)
		}
		if !tc.good {
			continue
		}
		time.Sleep(10 * time.Millisecond) // of the kernel's clock
	}
}
