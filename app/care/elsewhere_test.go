// SPDX-License-Identifier: Apache-2.0

package care

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/app/archives"
	"mirrord/app/runs"
	"mirrord/testing/apptest"
)

// A damaged document that another mirror of the state has too is taken from there, in all versions, also
// when the site no longer has it.
func TestHealedFromAnotherMirror(t *testing.T) {
	var version atomic.Int64
	version.Store(1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/":
			fmt.Fprintf(w, `<title>e</title><a href="/b.html">b</a> of %d`, version.Load())
		case "/b.html":
			// its link is changed, so the tree has no copy
			fmt.Fprintf(w, `<title>b</title><a href="http://%s/">e</a>%s`, r.Host,
				strings.Repeat(fmt.Sprintf(" %d", version.Load()*7919), 100))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	state := filepath.Join(t.TempDir(), "state")
	a := apptest.TestApp(state)
	a.Jobs = t.TempDir()
	for _, name := range []string{"x", "y"} {
		apptest.Put(t, a.Jobs, name+".toml",
			fmt.Sprintf("url = %q\npublish.keep = \"all\"\npolite.delay = \"0s\"\n"+
				"polite.factor = 0\n", srv.URL+"/"))
		for v := range int64(2) {
			version.Store(v + 1)
			if _, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: name}); err != nil {
				t.Fatal(err)
			}
		}
	}
	pack := filepath.Join(state, "sites/x/packs/000001.pack")
	b, err := os.ReadFile(pack)
	if err != nil {
		t.Fatal(err)
	}
	clear(b[len(b)/3:])
	if err := os.WriteFile(pack, b, 0o644); err != nil {
		t.Fatal(err)
	}
	srv.Close() // no request helps
	v, err := Verify(t.Context(), a, "x", false)
	if err != nil || len(v.Damaged) == 0 {
		t.Fatalf("verify: %v, %v", v, err)
	}
	m, err := Mend(t.Context(), a, "x", false)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Bodies) == 0 || len(m.Lost) > 0 || m.After.Count() > 0 {
		t.Errorf("repaired are %v, lost %v, left %v", m.Bodies, m.Lost, m.After.KeptProblems)
	}
	for n := 1; n <= 2; n++ {
		out := filepath.Join(t.TempDir(), "out")
		_, err := archives.Export(t.Context(), a, archives.ExportRequest{
			Job:     "x",
			Out:     out,
			Format:  "dir",
			Version: n,
		})
		if err != nil {
			t.Errorf("version %d: %v", n, err)
		}
	}
}
