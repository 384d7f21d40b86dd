// SPDX-License-Identifier: Apache-2.0

package store

import (
	"os"
	"path/filepath"
	"testing"
)

// The database of the state keeps the texts of job files, and with them their secrets: only its owner
// may read it, also when an older version made it.
func TestStateDBIsPrivate(t *testing.T) {
	dir := t.TempDir()
	st, _ := openTest(t, dir, Options{Volatile: true})
	name := filepath.Join(dir, stateDB)
	for range 2 {
		if err := st.SaveJobRecords(map[string][]byte{"x": []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
		fi, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := fi.Mode().Perm(); got != 0o600 {
			t.Errorf("mode %o", got)
		}
		if err := os.Chmod(name, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every reader of a site's database can hold its lock, and keep its runs from beginning: only its owner and
// group may read it.
func TestSiteDatabaseIsForOwnerAndGroup(t *testing.T) {
	dir := t.TempDir()
	st, err := OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	name := filepath.Join(dir, "sites", "a", "site.db")
	for _, before := range []os.FileMode{0, 0o644} { // new, and of an older version
		if before != 0 {
			if err := os.Chmod(name, before); err != nil {
				t.Fatal(err)
			}
		}
		s, err := st.OpenSite("a")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		fi, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := fi.Mode().Perm(); got&^0o640 != 0 {
			t.Errorf("mode %o after %o", got, before)
		}
	}
}
