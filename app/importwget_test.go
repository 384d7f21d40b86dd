// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mirrord/scheduler/control"
	"mirrord/testing/oracle"
)

// runWget runs Debian's wget in a folder.
func runWget(t *testing.T, dir string, args ...string) {
	t.Helper()
	wget := oracle.Program(t, "wget", "wget")
	args = append([]string{"--no-config", "-q", "-e", "robots=off"}, args...)
	cmd := exec.CommandContext(t.Context(), wget, args...)
	cmd.Dir = dir
	cmd.Env = []string{"LC_ALL=C", "HOME=" + dir}
	out, err := cmd.CombinedOutput()
	if e, ok := err.(*exec.ExitError); err != nil && (!ok || e.ExitCode() != 8) { // 8: some page was an error
		t.Fatalf("%v: %s", err, out)
	}
}

// What wget records of a site in two crawls becomes two versions, and the next run of the job gets 304.
func TestImportWgetWARC(t *testing.T) {
	g := new(growing)
	srv := httptest.NewServer(g)
	defer srv.Close()
	dir := t.TempDir()
	for i, name := range []string{"first", "second"} {
		g.version.Store(int64(i + 1))
		runWget(t, dir, "-r", "-p", "-l", "5", "-P", name, "--delete-after", "--warc-file="+name, srv.URL+"/")
	}
	a := testApp(t.TempDir())
	a.Jobs = t.TempDir()
	g.notModified.Store(0)
	g.full.Store(0)
	files := []string{filepath.Join(dir, "first.warc.gz"), filepath.Join(dir, "second.warc.gz")}
	m, err := ImportAny(t.Context(), a, ImportRequest{Files: files, As: "old", Job: true})
	if err != nil || len(m.Versions) != 2 || m.URL != srv.URL+"/" || m.Unused != 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	vs := versionsOf(t, a, "old")
	for i, want := range []string{"p1.html p2.html p3.html", "p2.html p3.html p4.html"} {
		for _, name := range strings.Fields(want) {
			if !strings.Contains(vs[i], `"`+name+`"`) {
				t.Errorf("version %d has no %s:\n%s", i+1, name, vs[i])
			}
		}
	}
	set := []string{"polite.delay=0s", "polite.factor=0"}
	sum, err := RunNow(t.Context(), a, RunHere{Job: "old", RunRequest: control.RunRequest{Set: set}})
	if err != nil || sum.Published || sum.Fetched != 0 || g.notModified.Load() < 6 {
		t.Fatalf("%+v, %v, %d answers 304", sum, err, g.notModified.Load())
	}
}

// The folder that wget -r makes: of pages whose links it changed the originals are taken, and without these
// the links are taken back.
func TestImportWgetFolder(t *testing.T) {
	g := new(growing)
	g.version.Store(1)
	srv := httptest.NewServer(g)
	defer srv.Close()
	for name, args := range map[string][]string{"originals": {"-K"}, "changed": nil} {
		dir := t.TempDir()
		runWget(t, dir, append([]string{"-r", "-p", "-k", srv.URL + "/"}, args...)...)
		a := testApp(t.TempDir())
		a.Jobs = t.TempDir()
		g.full.Store(0)
		r := ImportRequest{Files: []string{dir}, As: "old", Job: true}
		if _, err := ImportAny(t.Context(), a, r); err == nil {
			t.Fatal("imported without its URL")
		}
		r.URL = srv.URL + "/"
		m, err := ImportAny(t.Context(), a, r)
		if err != nil || len(m.Versions) != 1 || g.full.Load() != 0 || (m.Changed > 0) != (name == "changed") {
			t.Fatalf("%s: %+v, %v", name, m, err)
		}
		table := versionsOf(t, a, "old")[0]
		for _, file := range []string{"p1.html", "p3.html", "same.html", "i.png", "index.html"} {
			if !strings.Contains(table, `"`+file+`"`) {
				t.Errorf("%s: no %s in\n%s", name, file, table)
			}
		}
		if also := `"mirrord.also":["` + srv.URL + `/index.html"]`; !strings.Contains(table, also) {
			t.Errorf("%s: links to /index.html are not of the mirror:\n%s", name, table)
		}
		if strings.Contains(table, ".orig") || strings.Count(table, "index") > 2 {
			t.Errorf("%s:\n%s", name, table)
		}
	}
}

// A site in Latin-1 has names that are no UTF-8.
func TestImportWgetLatin1(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index.html": `<a href="%E9t%E9.html">`, "\xe9t\xe9.html": "summer",
	} {
		err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
		if errors.Is(err, syscall.EILSEQ) {
			t.Skip(err) // the file system has names in UTF-8 only
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	a := testApp(t.TempDir())
	r := ImportRequest{Files: []string{dir}, As: "old", URL: "http://h.test/"}
	if m, err := ImportAny(t.Context(), a, r); err != nil || m.Versions[0].Files != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
}
