// SPDX-License-Identifier: Apache-2.0

package store

import (
	"os"
	"path/filepath"
	"testing"

	"mirrord/store/shared"
	"mirrord/store/trees"
)

// A site is empty until a run of it has ended or a version is published.
func TestEmptySite(t *testing.T) {
	st, err := OpenState(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for name, file := range map[string]string{
		"none":     "",
		"made":     "site.db",
		"ran":      shared.LastRun,
		"imported": trees.CurrentLink,
	} {
		if file != "" {
			dir := filepath.Join(st.Dir, "sites", name)
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := EmptySite(st, name), file == "" || file == "site.db"; got != want {
			t.Errorf("%s: empty is %v, want %v", name, got, want)
		}
	}
}
