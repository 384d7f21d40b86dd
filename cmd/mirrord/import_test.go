// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/demosite"
	"mirrord/store"
	"mirrord/store/trees"
)

// An archive from anybody may name any number as its version; those after it must still be numbers.
func TestImportOfAnAbsurdVersion(t *testing.T) {
	srv := httptest.NewServer(demosite.New())
	defer srv.Close()
	jobs, state, dir := jobsFor(t, srv.URL+"/about/"), t.TempDir(), filepath.Join(t.TempDir(), "out")
	if code, _, errs := runArgs(t, nil, "run-now", "demo", "--jobs", jobs, "--state",
		state); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	if code, _, errs := runArgs(t, nil, "export", "demo", "--format", "dir", "-o", dir, "--state",
		state); code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	meta := filepath.Join(dir, "phm.json")
	b, err := os.ReadFile(meta)
	if err != nil || !strings.Contains(string(b), `"version": 1,`) {
		t.Fatalf("%v: %s", err, b)
	}
	for version, want := range map[string]int{
		"9223372036854775807": cli.ExitError,
		"2147483648":          cli.ExitError,
		"2147483647":          cli.ExitOK,
	} {
		if err := os.WriteFile(meta,
			[]byte(strings.Replace(string(b), `"version": 1,`, `"version": `+version+`,`, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		code, _, errs := runArgs(t, nil, "import", dir, "--as", "copy", "--state", state)
		if code != want || (want == cli.ExitError && !strings.Contains(errs, version)) {
			t.Errorf("version %s: exit code %d: %s", version, code, errs)
		}
		if _, err := os.Stat(filepath.Join(state, "sites/copy")); os.IsNotExist(err) != (want == cli.ExitError) {
			t.Errorf("version %s: %v", version, err)
		}
		os.RemoveAll(filepath.Join(state, "sites/copy"))
	}
}

// An import or export that is interrupted ends, leaves nothing, and can be repeated; so can an import that
// was killed.
func TestInterruptedExchange(t *testing.T) {
	srv := httptest.NewServer(demosite.New())
	defer srv.Close()
	jobs, state, dir := jobsFor(t, srv.URL+"/about/"), t.TempDir(), t.TempDir()
	archive := filepath.Join(dir, "demo.phm")
	for _, args := range [][]string{{"run-now", "demo", "--jobs", jobs}, {"export", "demo", "-o", archive}} {
		if code, _, errs := runArgs(t, nil, append(args, "--state", state)...); code != cli.ExitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, errs)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{
		{"export", "demo", "-o", filepath.Join(dir, "a.phm")},
		{"export", "demo", "-o", filepath.Join(dir, "b.tar.zst")},
		{"export", "demo", "-o", filepath.Join(dir, "c")},
		{"export", "demo", "--flatten", "-o", filepath.Join(dir, "d.phm")}, {"import", archive, "--as", "copy"},
	} {
		var out, errs bytes.Buffer
		e := cli.Environ{
			Stdin:     strings.NewReader(""),
			Stdout:    &out,
			Stderr:    &errs,
			LookupEnv: func(string) (string, bool) { return "", false },
		}
		if code := run(ended, e, append(args, "--state", state)); code != cli.ExitError ||
			!strings.Contains(errs.String(), context.Canceled.Error()) {
			t.Errorf("%v: exit code %d: %s", args, code, &errs)
		}
	}
	half := filepath.Join(dir, "c/about/index.html")
	if err := errors.Join(os.MkdirAll(filepath.Dir(half), 0o755),
		os.WriteFile(half, []byte("half"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"export", "demo", "-o", filepath.Join(dir, "c")}, {"verify", filepath.Join(dir, "c")},
	} {
		if code, out, errs := runArgs(t, nil, append(args, "--state", state)...); code != cli.ExitOK {
			t.Errorf("%v: exit code %d: %s%s", args, code, out, errs)
		}
	}
	// demo.phm, and the folder c
	if left, err := filepath.Glob(filepath.Join(dir, "[.a-d]*")); err != nil || len(left) > 2 {
		t.Errorf("%q, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(state, "sites/copy")); !os.IsNotExist(err) {
		t.Errorf("an interrupted import leaves a site: %v", err)
	}
	st, err := store.OpenState(state, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	killed, err := st.OpenSite("copy")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := killed.Trees.Build(trees.TreeRules{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Root.WriteFile("half.html", []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	tree.Close()
	if err := killed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{cli.ExitOK, cli.ExitError} { // the second time there is a mirror
		if code, _, errs := runArgs(t, nil, "import", archive, "--as", "copy", "--state", state); code != want {
			t.Errorf("exit code %d: %s", code, errs)
		}
	}
	if code, out, errs := runArgs(t, nil, "verify", "copy", "--state", state); code != cli.ExitOK {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}
