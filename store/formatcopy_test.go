// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// The first process that writes a site of an older format keeps its database as it was, as long as that can
// be used.
func TestOlderFormatIsKept(t *testing.T) {
	dir := t.TempDir()
	st, s := openTest(t, dir, Options{})
	h := newPast(t, s, rand.New(rand.NewPCG(1, 2)), 3)
	set := func(format uint32) {
		err := s.db.Update(func(tx *transaction) error {
			return tx.Bucket(bMeta).Put(kFormat, binary.BigEndian.AppendUint32(nil, format))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	set(FormatVersion - 1)
	want := len(resources(t, s))
	closeTest(t, st, s)
	site := filepath.Join(dir, "sites", s.Name)
	kept := filepath.Join(site, fmt.Sprint("site.db.format-", FormatVersion-1))

	st, err := OpenState(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	view, err := st.ViewSite(s.Name)
	if err != nil {
		t.Fatal(err)
	}
	step, err := view.Notes.FormatStep()
	if err != nil || step.From != FormatVersion-1 || step.To != FormatVersion || step.Copy != kept {
		t.Errorf("step %+v, %v", step, err)
	}
	closeTest(t, st, view)
	if _, err := os.Stat(kept); err == nil {
		t.Fatal("looking makes a copy")
	}
	st, s = openTest(t, dir, Options{})
	if step, err := s.Notes.FormatStep(); err != nil || step.From != FormatVersion {
		t.Errorf("step %+v, %v", step, err)
	}
	before, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	h.s = s
	h.version()
	closeTest(t, st, s)

	// Going back: the copy takes the place of the database.
	back := copyState(t, dir)
	if err := os.WriteFile(filepath.Join(back, "sites", s.Name, siteDB), before, 0o640); err != nil {
		t.Fatal(err)
	}
	// the published tree is of the newer version until the next run
	st, s = openTest(t, back, Options{}, BadVersion, BadCurrent, BadTree)
	if got := len(resources(t, s)); got != want {
		t.Errorf("%d records, want %d", got, want)
	}
	closeTest(t, st, s)

	// It goes when packs are rewritten.
	st, s = openTest(t, dir, Options{})
	defer closeTest(t, st, s)
	if _, err := os.Stat(kept); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Purge(t.Context(), func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err == nil {
		t.Error("the copy is still there")
	}
}
