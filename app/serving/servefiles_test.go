// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mirrord/app/archives"
	"mirrord/app/env"
	"mirrord/serve"
	"mirrord/testing/apptest"
)

// PHM archives, directories and ZIM files are served as they are, to several readers at a time; other forms
// say why not.
func TestServeFiles(t *testing.T) {
	a, _, _, _ := apptest.MirrorGrowing(t, 1)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	files := []string{in("One site.phm"), in("two.zim"), in("three")}
	for i, form := range []string{"phm", "zim", "dir"} {
		x := archives.ExportRequest{Job: "site", Out: files[i]}
		x.Format = form
		if _, err := archives.Export(t.Context(), a, x); err != nil {
			t.Fatal(err)
		}
	}
	if !env.AreFiles(a, files) || env.AreFiles(a, nil) || env.AreFiles(a, []string{"site"}) {
		t.Error("files are not told from jobs")
	}
	sites, err := OpenFiles(t.Context(), a, files)
	if err != nil {
		t.Fatal(err)
	}
	defer sites.Close()
	srv, err := serve.New(serve.Options{Sites: sites})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, host := range []string{"one-site.localhost", "two.localhost", "three.localhost"} {
		for path, want := range map[string]string{
			"/": "Edition 1", "/same.html": "stays as it is", "/i.png": "PNG picture", "/p3.html": "Page 3",
		} {
			wg.Go(func() {
				r := httptest.NewRequest(http.MethodGet, "http://"+host+path, nil)
				w := httptest.NewRecorder()
				srv.ServeHTTP(w, r)
				if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
					t.Errorf("%s%s: %d %s", host, path, w.Code, w.Body)
				}
			})
		}
	}
	wg.Wait()
	w := httptest.NewRecorder()
	srv.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/.well-known/mirrord/sites", nil))
	for _, form := range []string{`"form": "PHM"`, `"form": "ZIM"`, `"form": "folder"`} {
		if !strings.Contains(w.Body.String(), form) {
			t.Errorf("the list has no %s: %s", form, w.Body)
		}
	}
	for form, want := range map[string]string{
		"tar.zst": "beginning only", "phm": "portable hypermedia",
	} {
		name := in("x." + form)
		if form == "phm" {
			apptest.Put(t, dir, "x.phm", "none")
		} else if _, err := archives.Export(t.Context(), a, archives.ExportRequest{Job: "site",
			Out: name}); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenFiles(t.Context(), a, []string{name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", form, err, want)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// The directory that get leaves is served, and explained, by its name alone, unless a job or a mirror has
// that name.
func TestDirectoryOfGetIsFile(t *testing.T) {
	a, _, _, _ := apptest.MirrorGrowing(t, 1)
	a.Jobs = t.TempDir()
	dir := t.TempDir()
	for _, name := range []string{"www.example.org", "site", "samba"} {
		x := archives.ExportRequest{Job: "site", Out: filepath.Join(dir, name)}
		x.Format = "dir"
		if _, err := archives.Export(t.Context(), a, x); err != nil {
			t.Fatal(err)
		}
	}
	apptest.Put(t, a.Jobs, "samba.toml", "url = \"https://www.samba.org/\"\n")
	if err := os.Mkdir(filepath.Join(dir, "photos"), 0o755); err != nil {
		t.Fatal(err)
	}
	apptest.Put(t, dir, "notes", "a file")
	apptest.Put(t, dir, "samba.toml", "a file")
	t.Chdir(dir)
	for name, want := range map[string]bool{
		"www.example.org": true, "site": false, "samba": false, "photos": true, "./photos": true,
		"notes": true, "samba.toml": false, "nothing": false, ".": true,
	} {
		if got := env.AreFiles(a, []string{name}); got != want {
			t.Errorf("%s is a file: %v", name, got)
		}
	}
}

// A file is served under its name without what says its form.
func TestServedNames(t *testing.T) {
	for file, want := range map[string]string{
		"/x/samba-12.phm":   "samba-12",
		"samba.tar.zst":     "samba",
		"samba.tar.gz":      "samba",
		"samba.tar":         "samba",
		"samba.zim":         "samba",
		"samba.wacz":        "samba",
		"Samba.WARC":        "samba",
		"samba.warc.gz":     "samba",
		"samba.warc.zst":    "samba",
		"www.samba.org":     "www-samba-org",
		"notes.gz/":         "notes-gz",
		".phm":              "phm",
		"rapport_été 3.phm": "rapport--t--3",
		"ä":                 "mirror",
	} {
		if got := servedName(file); got != want {
			t.Errorf("%s is served as %s, not %s", file, got, want)
		}
	}
}
