// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/archives"
	"mirrord/app/runs"
	"mirrord/scheduler/control"
	"mirrord/testing/apptest"
	"mirrord/testing/oracle"
	"mirrord/testing/wholetest"
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
	g := new(apptest.GrowingSite)
	srv := httptest.NewServer(g)
	defer srv.Close()
	dir := t.TempDir()
	for i, name := range []string{"first", "second"} {
		g.Version.Store(int64(i + 1))
		runWget(t, dir, "-r", "-p", "-l", "5", "-P", name, "--delete-after", "--warc-file="+name, srv.URL+"/")
	}
	a := apptest.TestApp(t.TempDir())
	a.Jobs = t.TempDir()
	g.NotModified.Store(0)
	g.Full.Store(0)
	files := []string{filepath.Join(dir, "first.warc.gz"), filepath.Join(dir, "second.warc.gz")}
	m, err := archives.ImportAny(t.Context(), a, archives.ImportRequest{Files: files, As: "old", Job: true})
	if err != nil || len(m.Versions) != 2 || m.URL != srv.URL+"/" || m.Unused != 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	vs := wholetest.VersionsOf(t, a, "old")
	for i, want := range []string{"p1.html p2.html p3.html", "p2.html p3.html p4.html"} {
		for _, name := range strings.Fields(want) {
			if !strings.Contains(vs[i], `"`+name+`"`) {
				t.Errorf("version %d has no %s:\n%s", i+1, name, vs[i])
			}
		}
	}
	set := []string{"polite.delay=0s", "polite.factor=0"}
	sum, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "old", RunRequest: control.RunRequest{Set: set}})
	if err != nil || sum.Published || sum.Fetched != 0 || g.NotModified.Load() < 6 {
		t.Fatalf("%+v, %v, %d answers 304", sum, err, g.NotModified.Load())
	}
}

// The folder that wget -r makes: of pages whose links it changed the originals are taken, and without these
// the links are taken back.
func TestImportWgetFolder(t *testing.T) {
	g := new(apptest.GrowingSite)
	g.Version.Store(1)
	srv := httptest.NewServer(g)
	defer srv.Close()
	for name, args := range map[string][]string{"originals": {"-K"}, "changed": nil} {
		dir := t.TempDir()
		runWget(t, dir, append([]string{"-r", "-p", "-k", srv.URL + "/"}, args...)...)
		a := apptest.TestApp(t.TempDir())
		a.Jobs = t.TempDir()
		g.Full.Store(0)
		r := archives.ImportRequest{Files: []string{dir}, As: "old", Job: true}
		if _, err := archives.ImportAny(t.Context(), a, r); err == nil {
			t.Fatal("imported without its URL")
		}
		r.URL = srv.URL + "/"
		m, err := archives.ImportAny(t.Context(), a, r)
		if err != nil || len(m.Versions) != 1 || g.Full.Load() != 0 || (m.Changed > 0) != (name == "changed") {
			t.Fatalf("%s: %+v, %v", name, m, err)
		}
		table := wholetest.VersionsOf(t, a, "old")[0]
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
