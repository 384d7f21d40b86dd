// SPDX-License-Identifier: Apache-2.0

package files_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mirrord/app/files"
	"mirrord/testing/apptest"
)

// What killed exports have left goes with the next export to the same place. What another process writes now
// stays, as does everything else.
func TestLeftByKilledExports(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "x.phm")
	var stays []string
	touch := func(name string, keep bool) {
		apptest.Put(t, dir, name, "some")
		if keep {
			stays = append(stays, name)
		}
	}
	touch(".x.phm.mirrord-abc", false)
	touch(".x.phm.mirrordabc", true)
	touch(".x.phm123", true)
	touch(".y.phm.mirrord-abc", true)
	touch("x.phm", true)
	if err := os.Symlink("x.phm", filepath.Join(dir, ".x.phm.mirrord-link")); err != nil {
		t.Fatal(err)
	}
	stays = append(stays, ".x.phm.mirrord-link")
	if err := os.MkdirAll(filepath.Join(dir, files.AsideFolder+"abc", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(out, 0o600); err != nil {
		t.Fatal(err)
	}

	first, err := files.PendingOutput(out)
	if err != nil {
		t.Fatal(err)
	}
	folder, done, err := files.AsideDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := files.PendingOutput(out)
	if err != nil {
		t.Fatal(err)
	}
	other, otherDone, err := files.AsideDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{first.Name(), second.Name(), folder, other} {
		stays = append(stays, filepath.Base(f))
	}
	slices.Sort(stays)
	if got := apptest.EntriesOf(t, dir); !slices.Equal(got, stays) {
		t.Errorf("there is %q, want %q", got, stays)
	}

	for _, p := range []*files.PendingFile{first, second} {
		if _, err := p.WriteString(p.Name()); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.CloseAtomicallyReplace(); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func() error{first.Cleanup, second.Cleanup, second.Cleanup, done, otherDone} {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(out)
	fi, serr := os.Stat(out)
	if err != nil || serr != nil || string(text) != first.Name() || fi.Mode().Perm() != 0o600 {
		t.Errorf("%s: %q, %v, %v, %v", out, text, fi.Mode(), err, serr)
	}
	if got := apptest.EntriesOf(t, dir); len(got) != len(stays)-4 {
		t.Errorf("in the end there is %q", got)
	}
}
