// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/cmd/mirrord/cli"
	"mirrord/phm"
)

// A directory and its index page with the same bytes are one file on the way through every command.
func TestIndexIsOneFileEverywhere(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/", "/index.html":
			fmt.Fprint(w,
				`<title>Root</title><a href="/">1</a> <a href="/index.html">2</a> <a href="a/">3</a> <a href="a/index.html">4</a>`)
		case "/a/", "/a/index.html":
			fmt.Fprint(w,
				`<title>A</title><a href="../index.html">up</a> <a href="./">here</a> <a href="index.html">here too</a>`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	jobs, state, out := jobsFor(t, srv.URL+"/"), t.TempDir(), t.TempDir()
	do := func(args ...string) string {
		t.Helper()
		code, text, errs := runArgs(t, nil, append(args, "--jobs", jobs, "--state", state)...)
		if code != cli.ExitOK {
			t.Fatalf("%q: exit code %d: %s%s", args, code, text, errs)
		}
		return text
	}
	table := func(dir string) string {
		t.Helper()
		f, err := os.Open(filepath.Join(dir, phm.FilesName))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var b strings.Builder
		for f, err := range phm.Files(f) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&b, f.Path,
				strings.ReplaceAll(strings.Join(append([]string{f.URL}, f.Also()...), " "), srv.URL, ""))
		}
		return b.String()
	}
	const want = "a/index.html /a/ /a/index.html\nindex.html / /index.html\n"
	at := func(name string) string { return filepath.Join(out, name) }
	do("run-now", "demo")
	do("verify", "demo")
	if text := do("explain", "demo", srv.URL+"/a/index.html"); !strings.Contains(text, "shares its file") ||
		!strings.Contains(text, "a/index.html\n") {
		t.Error(text)
	}
	for _, name := range []string{"one.phm", "one.tar.zst", "one"} {
		do("export", "demo", "-o", at(name))
		do("verify", at(name))
	}
	if got := table(at("one")); got != want {
		t.Errorf("files:\n%swant\n%s", got, want)
	}
	for name, links := range map[string]string{
		"index.html":   `<a href="index.html">1</a> <a href="index.html">2</a> <a href="a/index.html">3</a> <a href="a/index.html">4</a>`,
		"a/index.html": `<a href="../index.html">up</a> <a href="index.html">here</a> <a href="index.html">here too</a>`,
	} {
		if b, err := os.ReadFile(filepath.Join(at("one"), name)); err != nil ||
			!strings.Contains(string(b), links) {
			t.Errorf("%s: %s, %v", name, b, err)
		}
	}
	do("export", "demo", "-o", at("flat"), "--flatten")
	do("verify", at("flat"))

	job, err := os.ReadFile(filepath.Join(jobs, "demo.toml"))
	if err == nil {
		err = os.WriteFile(filepath.Join(jobs, "copy.toml"), job, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	do("import", at("one.phm"), "--as", "copy")
	do("verify", "copy")
	do("run-now", "copy")
	do("verify", "copy")
	do("export", "copy", "-o", at("two"))
	do("verify", at("two"))
	if got := table(at("two")); got != want {
		t.Errorf("files after the import:\n%swant\n%s", got, want)
	}
	if text := do("status", "copy", "--versions"); strings.Count(text, "\n") > 2 {
		t.Errorf("the run after the import published the same again:\n%s", text)
	}
	if text := do("run-now", "demo"); !strings.Contains(text, "version 1") {
		t.Errorf("a run without a change: %s", text)
	}
}
