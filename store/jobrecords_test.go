// SPDX-License-Identifier: Apache-2.0

package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"mirrord/store/trees"
)

func TestLastRuns(t *testing.T) {
	st, err := OpenState(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if got, err := st.LastRuns(); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
	for i, name := range []string{"a", "b", "a"} {
		if err := st.AddRun(RunRecord{Site: name, Ended: time.Unix(int64(i), 0), Verdict: "complete"}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := st.LastRuns()
	if err != nil || len(got) != 2 || got["a"].Ended.Unix() != 2 || got["b"].Ended.Unix() != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

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
		"ran":      lastRunName,
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
