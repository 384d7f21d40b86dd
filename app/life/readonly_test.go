// SPDX-License-Identifier: Apache-2.0

package life

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"mirrord/app/env"
	"mirrord/app/jobs"
	"mirrord/app/look"
	"mirrord/scheduler"
	"mirrord/testing/apptest"
)

// A state that the caller may read and not write has a status.
func TestStatusOfAReadOnlyState(t *testing.T) {
	state := t.TempDir()
	a := apptest.BareApp(t.TempDir(), state)
	apptest.Put(t, a.Jobs, "a.toml", "url = \"https://a.example/\"\n")
	st, err := a.MakeState()
	if err != nil {
		t.Fatal(err)
	}
	s, err := st.OpenSite("a")
	if err != nil {
		t.Fatal(err)
	}
	kept := jobs.Records{Kept: st.Shared, Log: a.Log}
	if err := kept.SaveRecords(map[string]*scheduler.Record{"a": {Paused: true}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	reader := env.FileOwner{UID: os.Geteuid(), GID: os.Getegid()}
	if reader.UID == 0 {
		reader = env.FileOwner{UID: 65534, GID: 65534, Groups: []int{65534}}
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
			if err := os.Chown(path, reader.UID, reader.GID); err != nil {
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
		list, err := look.Statuses(a, a.Clock())
		if err != nil || len(list) != 1 || list[0].Activity != "paused" {
			t.Errorf("%+v, %v", list, err)
		}
	}
	if err := env.AsUser(reader, look); err != nil {
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
	a := apptest.BareApp(filepath.Join(top, "jobs"), state)
	for _, dir := range []string{a.Jobs, filepath.Join(state, "sites")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	apptest.Put(t, a.Jobs, "a.toml", "url = \"https://a.example/\"\n")
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
	if err := env.AsUser(env.FileOwner{UID: 65534, GID: 65534, Groups: []int{65534}}, look); err != nil {
		t.Fatal(err)
	}
}
