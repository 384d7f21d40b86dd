// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/app/files"
	"mirrord/app/runs"
	"mirrord/archive"
	"mirrord/phm"
	"mirrord/testing/apptest"
)

// meanwhile lets something happen once so much was written.
type meanwhile struct {
	bytes.Buffer
	after int
	do    func()
}

func (m *meanwhile) Write(p []byte) (int, error) {
	if m.do != nil && m.Len() >= m.after {
		do := m.do
		m.do = nil
		do()
	}
	return m.Buffer.Write(p)
}

// An export is of one version, though others are published while it is written, and trees have no grace.
func TestExportHoldsItsVersion(t *testing.T) {
	const pages = 40
	var version, failed atomic.Int64
	version.Store(1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>Page</title><p>version %d.</p>\n", version.Load())
		for i := range pages {
			fmt.Fprintf(w, "<a href=p%d.html>%d</a>\n", i, i)
		}
		for i := range 300 { // that cannot be compressed away
			fmt.Fprintf(w, "%x\n", sha256.Sum256(fmt.Append(nil, r.URL.Path, i, version.Load())))
		}
	}))
	t.Cleanup(srv.Close)
	a := apptest.TestApp(t.TempDir())
	a.Jobs = t.TempDir()
	apptest.Put(t, a.Jobs, "site.toml", "url = \""+srv.URL+"/\"\npolite.delay = \"0s\"\npolite.factor = 0\n"+
		"full_runs = 1000\n[limits]\nmax_stale = 0\n[publish]\ngrace = \"0s\"\ntrees = 2\n")
	run := func() {
		if sum, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "site"}); err != nil || !sum.Published {
			failed.Add(1)
			t.Errorf("run: %+v, %v", sum, err)
		}
	}
	run()
	out := &meanwhile{after: 100_000, do: func() {
		for range 3 {
			version.Add(1)
			run()
		}
	}}
	if _, err := Export(t.Context(), a, ExportRequest{Job: "site", Out: "-", Stream: out}); err != nil {
		t.Fatal(err)
	}
	if out.do != nil || failed.Load() > 0 || out.Len() < 4*out.after {
		t.Fatalf("nothing was published meanwhile: %d bytes", out.Len())
	}
	tree, err := archive.Open(bytes.NewReader(out.Bytes()), int64(out.Len()), phm.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := files.TableOf(tree)
	if err != nil || len(files) != pages+1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for p := range files {
		data, err := fs.ReadFile(tree, p)
		if err != nil || !strings.Contains(string(data), "version 1.") {
			t.Errorf("%s is of another version, %v", p, err)
		}
	}
}
