// SPDX-License-Identifier: Apache-2.0

package store

import (
	"os"
	"path/filepath"
	"testing"

	"mirrord/store/upkeep"
)

func problems(t *testing.T, s *Site) (ps []upkeep.Problem) {
	t.Helper()
	st, err := s.Verify(t.Context(), func(p upkeep.Problem) { ps = append(ps, p) })
	if err != nil || st.Problems != len(ps) {
		t.Errorf("%d problems of %d, %v", len(ps), st.Problems, err)
	}
	return ps
}

// verifySite makes a site with a bit of everything.
func verifySite(t *testing.T, dir string) (*State, *Site) {
	st, s := openTest(t, dir, Options{})
	commit(t, s, 0, newURLs(0, 6), document(t, s, 0, "zero", 1, 2, 3), document(t, s, 1, "one", 0),
		blobOf(t, s, 2, "two"))
	foldAll(t, s, 1)
	publishTest(t, s, 1, map[string]string{"a": "b"})
	commit(t, s, 6, newURLs(6, 8), document(t, s, 0, "zero again", 1, 7))
	foldAll(t, s, 2)
	publishTest(t, s, 2, map[string]string{"a": "c"})
	commit(t, s, 8, nil, document(t, s, 4, "four", 7))
	return st, s
}

// A page of the database that is garbage is a finding, not a crash.
func TestVerifyBadPages(t *testing.T) {
	dir := t.TempDir()
	st, s := verifySite(t, dir)
	commit(t, s, 8, newURLs(8, 4000))
	foldAll(t, s, 3)
	closeTest(t, st, s)
	p := filepath.Join(dir, "sites/x/site.db")
	f, err := os.OpenFile(p, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found, opened, page := 0, 0, 2 // 0 and 1 are the meta pages
	for ; page < 200; page++ {
		good := make([]byte, 200)
		if _, err := f.ReadAt(good, int64(page)*4096+16); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(random(200, byte(page)), int64(page)*4096+16); err != nil {
			t.Fatal(err)
		}
		func() {
			st, err := OpenState(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("page %d: %v", page, p)
				}
			}()
			s, err := st.readSite("x")
			if err != nil {
				return
			}
			defer s.Close()
			opened++
			if r, err := s.Verify(t.Context(), nil); err == nil && r.Problems > 0 {
				found++
			}
		}()
		if _, err := f.WriteAt(good, int64(page)*4096+16); err != nil {
			t.Fatal(err)
		}
	}
	if refused := page - 2 - opened; found+refused < 50 {
		t.Errorf("of %d pages, damage of %d was found and %d kept the site from being opened", page-2,
			found, refused)
	}
	st, s = openTest(t, dir, Options{})
	closeTest(t, st, s)
}
