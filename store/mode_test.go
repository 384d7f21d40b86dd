// SPDX-License-Identifier: Apache-2.0

package store

import (
	"os"
	"path/filepath"
	"testing"
)

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
