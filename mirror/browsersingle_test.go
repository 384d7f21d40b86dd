// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/internal/demosite"
	"mirrord/mirror"
	"mirrord/mirror/render"
	"mirrord/phm"
	"mirrord/testing/mirrortest"
)

// TestBrowserSingle: pages that are one file show their images and styles in a folder of their own, and
// request nothing.
func TestBrowserSingle(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(demosite.New())
	m := mirrortest.New(t, nil, fmt.Sprintf("url = %q\n", srv.URL+demosite.Entry))
	wantVerdict(t, m.Run(), mirror.Complete, true)
	srv.Close()
	tree := os.DirFS(filepath.Join(m.Dir, "sites/test/current"))
	table, err := fs.ReadFile(tree, phm.FilesName)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*phm.File{}
	for f, err := range phm.Files(strings.NewReader(string(table))) {
		if err != nil {
			t.Fatal(err)
		}
		files[f.Path] = f
	}
	dir, b, pages := t.TempDir(), startBrowser(t), 0
	for _, p := range htmlPages(t, filepath.Join(m.Dir, "sites/test/current")) {
		if files[p].Type != "text/html" || (strings.Contains(p, "/") && pages > 6) {
			continue
		}
		pages++
		body, err := render.SinglePage(tree, files, p)
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		name := fmt.Sprintf("%d.html", pages)
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o644); err != nil {
			t.Fatal(err)
		}
		b.check(t, dir, name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range b.requests {
		own := strings.HasPrefix(u, "file://"+dir) && strings.HasSuffix(u, ".html")
		if !own && !strings.HasPrefix(u, "data:") {
			t.Errorf("a page requests %s", u)
		}
	}
	if pages < 4 || len(b.requests) < 2*pages || len(b.failed) > 0 {
		t.Errorf("%d pages, %d requests with data:, failed: %q", pages, len(b.requests), b.failed)
	}
}
