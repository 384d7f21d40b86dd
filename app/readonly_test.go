// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"mirrord/scheduler"
)

// A state that the caller may read and not write has a status.
func TestStatusOfAReadOnlyState(t *testing.T) {
	state := t.TempDir()
	a := bareApp(t.TempDir(), state)
	put(t, a.Jobs, "a.toml", "url = \"https://a.example/\"\n")
	st, err := a.MakeState()
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSite("a")
	if err != nil {
		t.Fatal(err)
	}
	kept := records{kept: st, log: a.Log}
	if err := kept.SaveRecords(map[string]*scheduler.Record{"a": {Paused: true}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	reader := fileOwner{uid: os.Geteuid(), gid: os.Getegid()}
	if reader.uid == 0 {
		reader = fileOwner{uid: 65534, gid: 65534, groups: []int{65534}}
	}
	readOnly := func(dir fs.FileMode, file fs.FileMode) {
		t.Helper()
		err := filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				return os.Chmod(path, dir)
			}
			if err := os.Chown(path, reader.uid, reader.gid); err != nil {
				return err
			}
			return os.Chmod(path, file)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	readOnly(0o555, 0o444)
	defer readOnly(0o755, 0o644)
	for d := filepath.Dir(state); d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	look := func() {
		list, err := Statuses(a, a.now())
		if err != nil || len(list) != 1 || list[0].Activity != "paused" {
			t.Errorf("%+v, %v", list, err)
		}
	}
	if err := asUser(reader, look); err != nil {
		t.Fatal(err)
	}
}

// A mirror of the new name is only there when it was seen.
func TestRenameInAStateThatIsClosed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	top := t.TempDir()
	state := filepath.Join(top, "state")
	a := bareApp(filepath.Join(top, "jobs"), state)
	for _, dir := range []string{a.Jobs, filepath.Join(state, "sites")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, a.Jobs, "a.toml", "url = \"https://a.example/\"\n")
	if err := os.Chmod(state, 0o700); err != nil {
		t.Fatal(err)
	}
	for d := top; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	look := func() {
		if _, err := newRenaming(a, "a", "b"); !errors.Is(err, fs.ErrPermission) {
			t.Error(err)
		}
	}
	if err := asUser(fileOwner{uid: 65534, gid: 65534, groups: []int{65534}}, look); err != nil {
		t.Fatal(err)
	}
}
