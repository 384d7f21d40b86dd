// SPDX-License-Identifier: Apache-2.0

package shared

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
	for name, harm := range map[string]func(st *Database, file string) error{
		"missing": func(_ *Database, file string) error { return os.Remove(file) },
		"empty":   func(_ *Database, file string) error { return os.Truncate(file, 0) },
		"zeroed": func(_ *Database, file string) error {
			return os.WriteFile(file, make([]byte, 32<<10), 0o600)
		},
		"a value that is lost": func(st *Database, _ string) error {
			return st.update("spoil", func(tx *db.Tx) error {
				return behind(tx).Bucket([]byte(kindHosts)).Delete([]byte("https://h"))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			st := open(t, dir, false)
			rec := RunRecord{Site: "x", Verdict: "complete"}
			if err := errors.Join(keepRun(st, rec), st.AddRun(rec)); err != nil {
				t.Fatal(err)
			}
			for _, h := range []string{"https://h", "https://i"} {
				if err := st.SaveHost(h, robots.FileCopy{Body: []byte("robots")}); err != nil {
					t.Fatal(err)
				}
			}
			if made, err := st.Mend(); made || err != nil {
				t.Fatalf("of a good one: %v, %v", made, err)
			}
			if err := harm(st, filepath.Join(dir, FileName)); err != nil {
				t.Fatal(err)
			}
			if err := st.Check(); !errors.Is(err, disk.ErrDamaged) {
				t.Errorf("found: %v", err)
			}
			if made, err := st.Mend(); !made || err != nil {
				t.Errorf("repaired: %v, %v", made, err)
			}
			if err := st.Check(); err != nil {
				t.Errorf("after it: %v", err)
			}
			runs, err := st.Runs("x", 9)
			if err != nil || len(runs) != 1 || runs[0].Verdict != "complete" {
				t.Errorf("runs %+v, %v", runs, err)
			}
		})
	}
}
