// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"net/http/httptest"
	"os/exec"
	"testing"

	"mirrord/app/runs"
	"mirrord/scheduler/control"
	"mirrord/testing/apptest"
	"mirrord/testing/oracle"
)

// What a real HTTrack mirrored becomes a mirror whose next run gets 304 and asks for nothing new.
func TestImportHTTrack(t *testing.T) {
	httrack := oracle.Program(t, "httrack", "httrack")
	g := new(apptest.GrowingSite)
	g.Version.Store(1)
	srv := httptest.NewServer(g)
	defer srv.Close()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), httrack, srv.URL+"/", "-O", dir, "-q", "-%v0", "-s0", "-r4")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	a := apptest.TestApp(t.TempDir())
	a.Jobs = t.TempDir()
	g.Full.Store(0)
	g.NotModified.Store(0)
	m, err := ImportAny(t.Context(), a, ImportRequest{Files: []string{dir}, As: "old", Job: true})
	if err != nil || len(m.Versions) != 1 || m.URL != srv.URL+"/" || m.Lost != 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	set := []string{"polite.delay=0s", "polite.factor=0"}
	sum, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "old", RunRequest: control.RunRequest{Set: set}})
	if err != nil || sum.Published || sum.Fetched != 0 || g.NotModified.Load() < 5 {
		t.Fatalf("%+v, %v, %d answers 304", sum, err, g.NotModified.Load())
	}
}
