package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/internal/demosite"
)

// An archive from anybody may name any number as its version; those after it must still be numbers.
func TestImportOfAnAbsurdVersion(t *testing.T) {
	srv := httptest.NewServer(demosite.New())
	defer srv.Close()
	jobs, state, dir := jobsFor(t, srv.URL+"/about/"), t.TempDir(), filepath.Join(t.TempDir(), "out")
	if code, _, errs := runArgs(t, nil, "run-now", "demo", "--jobs", jobs, "--state", state); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if code, _, errs := runArgs(t, nil, "export", "demo", "--format", "dir", "-o", dir, "--state", state); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	meta := filepath.Join(dir, "phm.json")
	b, err := os.ReadFile(meta)
	if err != nil || !strings.Contains(string(b), `"version": 1,`) {
		t.Fatalf("%v: %s", err, b)
	}
	for version, want := range map[string]int{"9223372036854775807": exitError, "2147483648": exitError, "2147483647": exitOK} {
		if err := os.WriteFile(meta, []byte(strings.Replace(string(b), `"version": 1,`, `"version": `+version+`,`, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		code, _, errs := runArgs(t, nil, "import", dir, "--as", "copy", "--state", state)
		if code != want || want == exitError && !strings.Contains(errs, version) {
			t.Errorf("version %s: exit code %d: %s", version, code, errs)
		}
		if _, err := os.Stat(filepath.Join(state, "sites/copy")); os.IsNotExist(err) != (want == exitError) {
			t.Errorf("version %s: %v", version, err)
		}
		os.RemoveAll(filepath.Join(state, "sites/copy"))
	}
}
