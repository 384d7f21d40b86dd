// SPDX-License-Identifier: Apache-2.0

package archives_test

import (
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/app/runs"
	"mirrord/testing/apptest"
	"mirrord/testing/wholetest"
)

// A style sheet that names no encoding has that of the page that links to it, or of the style sheet that does
// (CSS Syntax Level 3, §3.2), also when all of them come from an archive: the mirror is as the site made it.
func TestImportEncodings(t *testing.T) {
	const koi8 = "\xf0\xf2\xe9\xf7\xe5\xf4"
	pages := map[string]string{
		"/": "<meta charset=koi8-r><link rel=stylesheet href=a.css><script src=s.js></script>" + koi8 +
			"<a href=z.html>z</a>",
		"/a.css":  `@import "b.css"; p::before { content: "` + koi8 + `" }`,
		"/b.css":  `q::before { content: "` + koi8 + `" }`,
		"/s.js":   `document.title = "` + koi8 + `"; later("u.html")`,
		"/u.html": "<meta charset=utf-8><title>Named by a script</title>",
		"/z.html": "<meta charset=utf-8><link rel=stylesheet href=z.css>",
		"/z.css":  `p::before { content: "Привет" }`,
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		kind, _, _ := strings.Cut(mime.TypeByExtension(path.Ext(r.URL.Path)), ";")
		if kind == "" {
			kind = "text/html"
		}
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, body)
	}))
	defer srv.Close()
	a := apptest.TestApp(t.TempDir())
	a.Jobs = t.TempDir()
	apptest.Put(t, a.Jobs, "site.toml", apptest.GrowingJob(srv.URL))
	if sum, err := runs.RunNow(t.Context(), a, runs.RunHere{Job: "site"}); err != nil {
		t.Fatalf("%+v, %v", sum, err)
	}
	want := newestTable(t, a, "site")
	for _, sheet := range []string{"a.css", "b.css"} {
		if !strings.Contains(want, `"path":"`+sheet+`"`) {
			t.Fatalf("no %s in\n%s", sheet, want)
		}
	}
	if n := strings.Count(want, `"kind":"charset"`); n < 2 {
		t.Errorf("%d files of the mirror declare an encoding:\n%s", n, want)
	}
	for _, form := range []string{"warc.gz", "wacz"} {
		file := filepath.Join(t.TempDir(), "site."+form)
		if _, err := archives.Export(t.Context(), a, archives.ExportRequest{Job: "site", Out: file}); err != nil {
			t.Fatal(err)
		}
		as := "copy-" + form
		apptest.Put(t, a.Jobs, as+".toml", apptest.GrowingJob(srv.URL))
		if m, err := archives.ImportAny(t.Context(), a, archives.ImportRequest{Files: []string{file},
			As: as}); err != nil {
			t.Fatalf("%+v, %v", m, err)
		}
		if got := newestTable(t, a, as); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", form, got, want)
		}
	}
}

// newestTable is the file table of the newest version of a mirror.
func newestTable(t *testing.T, a *env.App, name string) string {
	t.Helper()
	all := wholetest.VersionsOf(t, a, name)
	_, table, _ := strings.Cut(all[len(all)-1], "\n")
	return table
}
