// SPDX-License-Identifier: Apache-2.0

package runs_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mirrord/app/runs"
	"mirrord/phm"
	"mirrord/testing/apptest"
)

// Other URLs into the same place make another mirror, as a whole. Files of others stay.
func TestGetOtherURLs(t *testing.T) {
	srv := apptest.NewPagesSite(t)
	out := filepath.Join(t.TempDir(), "out")
	for _, url := range []string{srv.URL + "/", srv.URL + "/a.html"} {
		if _, err := runs.Get(t.Context(), apptest.TestApp(""), runs.GetRequest{Job: apptest.GetJob(url),
			Out: out}); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(out, "notes"), 0o755); err != nil {
			t.Fatal(err)
		}
		apptest.Put(t, out, "notes/mine.txt", "keep me")
	}
	if got := mirrorAt(t, out); len(got) != 1 || got["a.html"] == "" {
		t.Errorf("files %q", got)
	}
	if got := apptest.EntriesOf(t, out); !slices.Equal(got, []string{"a.html", "notes", phm.FilesName,
		phm.MetaName}) {
		t.Errorf("entries %q", got)
	}
}

// A URL that was pasted with a blank, or is spelled in another way, is the same one.
func TestGetURLSpelledOtherwise(t *testing.T) {
	srv := apptest.NewPagesSite(t)
	t.Chdir(t.TempDir())
	whole := srv.URL + "/"
	for i, url := range []string{whole + " ", whole, strings.ToUpper(srv.URL) + "/#top"} {
		sum, err := runs.Get(t.Context(), apptest.TestApp(""), runs.GetRequest{Job: apptest.GetJob(url)})
		if err != nil {
			t.Fatal(err)
		}
		if same := !sum.Published; same != (i > 0) {
			t.Errorf("%q: published %v", url, sum.Published)
		}
	}
}

// So they do instead of an interrupted first run: its data is not theirs. The same URLs continue from it.
func TestGetOtherURLsUnfinished(t *testing.T) {
	pages := apptest.NewPagesSite(t)
	out := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/b.html" && ctx.Err() == nil {
			cancel()
			<-r.Context().Done()
			return
		}
		pages.Answer(w, r)
	}))
	defer srv.Close()
	get := func(ctx context.Context, path string) error {
		_, err := runs.Get(ctx, apptest.TestApp(""), runs.GetRequest{Job: apptest.GetJob(srv.URL + path), Out: out})
		return err
	}
	if err := get(ctx, "/"); err == nil {
		t.Fatal("the run was not cut off")
	}
	if n := len(apptest.EntriesOf(t, runs.WorkOf(out))); n == 0 {
		t.Fatal("nothing is left of it")
	}
	if err := get(t.Context(), "/a.html"); err != nil {
		t.Fatal(err)
	}
	if got := mirrorAt(t, out); len(got) != 1 || got["a.html"] == "" {
		t.Errorf("files %q", got)
	}
	if n := pages.Got(http.StatusNotModified); n > 0 {
		t.Errorf("%d pages were compared with those of the other mirror", n)
	}
}

// A mirror of another host in the same place starts afresh, also when the previous one was removed: nothing
// of that is left to compare with.
func TestGetOtherHost(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for i, name := range []string{"one", "two", "three"} {
		srv := apptest.NewPagesSite(t)
		j := apptest.GetJob(srv.URL + "/")
		j.Name = name
		sum, err := runs.Get(t.Context(), apptest.TestApp(""), runs.GetRequest{Job: j, Out: out})
		if err != nil || sum.Added != 4 || len(mirrorAt(t, out)) != 4 {
			t.Fatalf("%v: %+v", err, sum)
		}
		if got := apptest.EntriesOf(t, filepath.Join(runs.WorkOf(out), "sites")); !slices.Equal(got,
			[]string{name}) {
			t.Errorf("the folder has %q", got)
		}
		if i == 1 {
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Without a given place, other URLs of a host do not take the place of its mirror, nor what the
// next get of that needs.
func TestGetOtherURLsByName(t *testing.T) {
	srv := apptest.NewPagesSite(t)
	t.Chdir(t.TempDir())
	get := func(path string) error {
		_, err := runs.Get(t.Context(), apptest.TestApp(""), runs.GetRequest{Job: apptest.GetJob(srv.URL + path)})
		return err
	}
	if err := get("/"); err != nil {
		t.Fatal(err)
	}
	before := mirrorAt(t, "site")
	for _, path := range []string{"/a.html", "/none.html"} {
		err := get(path)
		want := "site has the mirror of " + srv.URL + "/; mirrord get " + srv.URL + path + " -o DIR"
		if (err == nil) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	if after := mirrorAt(t, "site"); !maps.Equal(before, after) {
		t.Errorf("files %q", after)
	}
	srv.Set()
	if err := get("/"); (err != nil) || (srv.Got(http.StatusNotModified) != 4) {
		t.Errorf("%v, answers %v", err, srv.Answers)
	}
}
