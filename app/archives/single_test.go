// SPDX-License-Identifier: Apache-2.0

package archives

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"mirrord/testing/apptest"
	"mirrord/testing/browsertest"
)

// A page as one file shows in a browser what the live page shows: text, pictures and the look of all
// elements. It asks for nothing else.
func TestSingleInBrowser(t *testing.T) {
	if os.Getenv("MIRRORD_LONG") == "" {
		t.Skip("it mirrors sites of others: MIRRORD_LONG=1 runs it")
	}
	for name, c := range replayedSites(t) {
		t.Run(name, func(t *testing.T) { c.single(t) })
	}
}

func (c replayed) single(t *testing.T) {
	s := &apptest.Changing{App: apptest.TestApp(t.TempDir())}
	live := http.NewServeMux()
	live.Handle("/", c.handler(s.Version.Load))
	live.HandleFunc("/blank-for-the-test", blank)
	srv := httptest.NewServer(live)
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	s.Mirror(t, 1)
	ctx := browsertest.New(t)
	for _, page := range c.pages {
		want := browse(t, ctx, srv.URL+"/blank-for-the-test", page)
		file := filepath.Join(t.TempDir(), "page.html")
		o := ExportRequest{Job: "site", Out: file, Single: srv.URL + page}
		if _, err := Export(t.Context(), s.App, o); err != nil {
			t.Fatal(err)
		}
		var others atomic.Int64
		alone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/blank-for-the-test":
				blank(w, r)
			case "/page.html":
				http.ServeFile(w, r, file)
			case "/favicon.ico": // of the page around it
				http.NotFound(w, r)
			default:
				others.Add(1)
				http.NotFound(w, r)
			}
		}))
		got := browse(t, ctx, alone.URL+"/blank-for-the-test", "/page.html")
		alone.Close()
		if diff := got.differs(want); diff != "" {
			t.Errorf("%s shows %s", page, diff)
		}
		if n := others.Load(); n > 0 {
			t.Errorf("%s makes %d requests", page, n)
		}
	}
}
