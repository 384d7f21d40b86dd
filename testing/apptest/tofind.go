// SPDX-License-Identifier: Apache-2.0

package apptest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mirrord/app/env"
	"mirrord/app/runs"
)

// MirroredToFind makes a site of ten pages, of which one changes with each version, and its mirror.
func MirroredToFind(t *testing.T, keep string) (a *env.App, run func(), version *atomic.Int64) {
	t.Helper()
	version = new(atomic.Int64)
	version.Store(1)
	words := []string{"", "harvest", "winter", "spring", "summer"}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p := r.URL.Path; {
		case p == "/":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, `<title>Start page</title>`)
			for i := range 8 {
				fmt.Fprintf(w, `<a href="/p%d.html">p</a> `, i)
			}
			fmt.Fprint(w, `<a href="/notes.txt">n</a><script>var hidden = "neverfound"</script>`)
		case p == "/p0.html":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, `<title>News</title><p>Now it is %s. <a href="/p1.html">more</a>`, words[version.Load()])
		case p == "/p1.html": // the header says how it is to be read
			w.Header().Set("Content-Type", "text/html; charset=windows-1251")
			fmt.Fprint(w, "<title>\xcc\xee\xf1\xea\xe2\xe0</title><p>\xe7\xe8\xec\xe0 \xe2 \xe3\xee\xf0\xee\xe4\xe5")
		case p == "/notes.txt":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			fmt.Fprint(w, "plain words of a file")
		case strings.HasSuffix(p, ".html"):
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, `<title>Page %s</title><p>A quiet page about &quot;lighthouses&quot; in %s.`, p, p)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	a = TestApp(filepath.Join(t.TempDir(), "state"))
	a.Jobs = t.TempDir()
	const form = "url = %q\npublish.keep = %q\npolite.delay = \"0s\"\npolite.factor = 0\n"
	Put(t, a.Jobs, "x.toml", fmt.Sprintf(form, srv.URL+"/", keep))
	return a, func() {
		t.Helper()
		if _, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "x"}); err != nil {
			t.Fatal(err)
		}
	}, version
}
