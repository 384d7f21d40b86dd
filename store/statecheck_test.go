// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"mirrord/fetch/robots"
	"mirrord/store/db"
	"mirrord/store/disk"
)

// Each kind of damage of mirror.db is found, also of values that are never read, and it is made again with
// what the sites know.
func TestCheckShared(t *testing.T) {
	for name, harm := range map[string]func(st *State, file string) error{
		"missing": func(_ *State, file string) error { return os.Remove(file) },
		"empty":   func(_ *State, file string) error { return os.Truncate(file, 0) },
		"zeroed": func(_ *State, file string) error {
			return os.WriteFile(file, make([]byte, 32<<10), 0o600)
		},
		"a value that is lost": func(st *State, _ string) error {
			return st.withDB(updateWait, func(d *db.DB) error {
				return d.Update(func(tx *db.Tx) error { // behind the door
					return behind(tx).Bucket(bHosts).Delete([]byte("https://h"))
				})
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			st, s := openTest(t, dir, Options{})
			rec := RunRecord{Site: s.Name, Verdict: "complete"}
			if err := errors.Join(s.Notes.KeepRun(rec), st.AddRun(rec), s.Close()); err != nil {
				t.Fatal(err)
			}
			for _, h := range []string{"https://h", "https://i"} {
				if err := st.SaveHost(h, robots.FileCopy{Body: []byte("robots")}); err != nil {
					t.Fatal(err)
				}
			}
			if made, err := MendShared(st); made || err != nil {
				t.Fatalf("of a good one: %v, %v", made, err)
			}
			if err := harm(st, filepath.Join(dir, stateDB)); err != nil {
				t.Fatal(err)
			}
			if err := CheckShared(st); !errors.Is(err, disk.ErrDamaged) {
				t.Errorf("found: %v", err)
			}
			if made, err := MendShared(st); !made || err != nil {
				t.Errorf("repaired: %v, %v", made, err)
			}
			if err := CheckShared(st); err != nil {
				t.Errorf("after it: %v", err)
			}
			runs, err := st.Runs(s.Name, 9)
			if err != nil || len(runs) != 1 || runs[0].Verdict != "complete" {
				t.Errorf("runs %+v, %v", runs, err)
			}
		})
	}
}
