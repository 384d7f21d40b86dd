// SPDX-License-Identifier: Apache-2.0

package care

import (
	"archive/zip"
	"bytes"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mirrord/app/archives"
	"mirrord/app/serving"
	"mirrord/serve"
	"mirrord/testing/apptest"
)

// httrackFolder makes a project of HTTrack with a page and two pictures, one of which is lost.
func httrackFolder(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for url, x := range map[string][2]string{
		"http://h.test:": {"X-In-Cache: 1\r\nContent-Type: text/html\r\n",
			`<title>Old</title><img src="http://h.test/i.png">`},
		"http://h.test/i.png": {"X-In-Cache: 0\r\nX-Size: 3\r\nContent-Type: image/png\r\nX-Save: i.png\r\n"},
		"http://h.test/l.png": {"X-In-Cache: 0\r\nX-Size: 3\r\nContent-Type: image/png\r\nX-Save: l.png\r\n"},
	} {
		h := &zip.FileHeader{
			Name:               url,
			CRC32:              crc32.ChecksumIEEE([]byte(x[1])),
			CompressedSize64:   uint64(len(x[1])),
			UncompressedSize64: uint64(len(x[1])),
			Extra:              []byte("HTTP/1.1 200 OK\r\n" + x[0]),
		}
		w, err := z.CreateRaw(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(x[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	// package archive/zip writes no body for a name that ends in a slash
	cache := strings.ReplaceAll(b.String(), "http://h.test:", "http://h.test/")
	if err := os.Mkdir(filepath.Join(dir, "hts-cache"), 0o755); err != nil {
		t.Fatal(err)
	}
	apptest.Put(t, filepath.Join(dir, "hts-cache"), "new.zip", cache)
	apptest.Put(t, dir, "i.png", "png")
	return dir
}

// verify, explain and serve work on what other programs left in folders and files.
func TestFoldersOfRecords(t *testing.T) {
	dir := httrackFolder(t)
	a := apptest.TestApp(t.TempDir())
	report, err := Verify(t.Context(), a, dir, true)
	if err != nil || report.Files != 3 || report.Count() != 1 ||
		!strings.Contains(report.Problems[0].Detail, "another size: 1") {
		t.Errorf("verify: %+v, %v", report, err)
	}
	x, err := archives.ExplainFile(t.Context(), a, dir, "http://h.test/i.png", true)
	if err != nil || len(x.Answers) != 1 || !strings.Contains(x.Head, "image/png") {
		t.Errorf("explain: %+v, %v", x, err)
	}
	wgot := t.TempDir()
	apptest.Put(t, wgot, "page.html", "<title>Page</title>")
	x, err = archives.ExplainFile(t.Context(), a, wgot, "http://h.test/page.html", false)
	if err != nil || len(x.Answers) != 1 {
		t.Errorf("explain of a folder of wget: %+v, %v", x, err)
	}
	if _, err := Verify(t.Context(), a, wgot, true); err == nil || !strings.Contains(err.Error(), "phm.json") {
		t.Errorf("verify of a folder without digests: %v", err)
	}

	sites, err := serving.OpenFiles(t.Context(), a, []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	defer sites.Close()
	names, err := sites.Names()
	if err != nil || len(names) != 1 {
		t.Fatalf("%q, %v", names, err)
	}
	wantServed(t, sites, names[0], map[string]string{"/": `src="i.png"`, "/i.png": "png"})
}

func wantServed(t *testing.T, sites serve.Sites, name string, want map[string]string) {
	t.Helper()
	srv, err := serve.New(serve.Options{Sites: sites})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range want {
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://"+name+".localhost"+path, nil))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// An export of all versions as a web archive is served as the mirror is, each version at its time.
func TestServeWebArchive(t *testing.T) {
	a, _, srv, _ := apptest.MirrorGrowing(t, 2)
	for _, form := range []string{"warc.gz", "wacz"} {
		file := filepath.Join(t.TempDir(), "site."+form)
		if _, err := archives.Export(t.Context(), a, archives.ExportRequest{Job: "site", Out: file,
			AllVersions: true}); err != nil {
			t.Fatal(err)
		}
		sites, err := serving.OpenFiles(t.Context(), a, []string{file})
		if err != nil {
			t.Fatal(err)
		}
		wantServed(t, sites, "site", map[string]string{
			"/":          "Edition 2",
			"/same.html": "stays as it is",
			"/i.png":     "PNG picture",
			"/p4.html":   "Page 4",
			"/.well-known/mirrord/memento/20260101000000/" + srv.URL + "/":        "Edition 1",
			"/.well-known/mirrord/memento/20260101000000/" + srv.URL + "/p1.html": "Page 1",
		})
		sites.Close()
	}
}
