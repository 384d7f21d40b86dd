// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mirrord/app/archives"
	"mirrord/app/search"
	"mirrord/app/serving"
	"mirrord/serve"
	"mirrord/testing/apptest"
	"mirrord/testing/poll"
)

// Mirrors in files have versions and a search as those of a state have.
func TestFilesHaveVersionsAndSearch(t *testing.T) {
	a, _, srv, _ := apptest.MirrorGrowing(t, 3)
	dir := t.TempDir()
	names := []string{"packed.phm", "web.wacz", "k.zim"}
	for i, name := range names {
		name = filepath.Join(dir, name)
		names[i] = name
		if _, err := archives.Export(t.Context(), a, archives.ExportRequest{
			Job:         "site",
			Out:         name,
			AllVersions: i < 2,
		}); err != nil {
			t.Fatal(err)
		}
	}
	sites, err := serving.OpenFiles(t.Context(), a, names)
	if err != nil {
		t.Fatal(err)
	}
	defer sites.Close()
	texts, done, err := search.TextsOfFiles(t.Context(), a, sites)
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Options{Sites: sites, Texts: texts})
	if err != nil {
		t.Fatal(err)
	}
	get := func(at string) string {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, at, nil))
		return w.Body.String() + w.Header().Get("Location")
	}
	for _, name := range []string{"packed", "web"} {
		for v := range 3 {
			at := time.Unix(apptest.ChangingStart+int64(v)*86400+7200, 0).UTC().Format("20060102150405")
			page := fmt.Sprintf("http://%s.localhost/.well-known/mirrord/memento/%s/%s/", name, at, srv.URL)
			if got, want := get(page), fmt.Sprintf("Edition %d", v+1); !strings.Contains(got, want) {
				t.Errorf("%s: %s is not in %s", page, want, got)
			}
		}
	}
	find := func(words, name string) string {
		return get("http://localhost/.well-known/mirrord/find?q=" + url.QueryEscape(words) + "&site=" + name)
	}
	for _, name := range []string{"packed", "web", "k"} {
		poll.Until(t, "the index of "+name, func() bool {
			return strings.Contains(find("page of number 5", name), "<mark>")
		})
	}
	for _, name := range []string{"packed", "web"} {
		if got := find("page of number 1", name); !strings.Contains(got, "memento/") {
			t.Errorf("%s: what was is not found: %s", name, got)
		}
	}
	if err := done(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}
