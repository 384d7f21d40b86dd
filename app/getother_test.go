// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"maps"
	"mirrord/phm"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Other URLs into the same place make another mirror, as a whole. Files of others stay.
func TestGetOtherURLs(t *testing.T) {
	srv := newPagesSite(t)
	out := filepath.Join(t.TempDir(), "out")
	for _, url := range []string{srv.URL + "/", srv.URL + "/a.html"} {
		if _, err := Get(t.Context(), testApp(""), GetRequest{Job: getJob(url), Out: out}); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(out, "notes"), 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, out, "notes/mine.txt", "keep me")
	}
	if got := mirrorAt(t, out); len(got) != 1 || got["a.html"] == "" {
		t.Errorf("files %q", got)
	}
	if got := entriesOf(t, out); !slices.Equal(got, []string{"a.html", "notes", phm.FilesName, phm.MetaName}) {
		t.Errorf("entries %q", got)
	}
}

// A URL that was pasted with a blank, or is spelled in another way, is the same one.
func TestGetURLSpelledOtherwise(t *testing.T) {
	srv := newPagesSite(t)
	t.Chdir(t.TempDir())
	whole := srv.URL + "/"
	for i, url := range []string{whole + " ", whole, strings.ToUpper(srv.URL) + "/#top"} {
		sum, err := Get(t.Context(), testApp(""), GetRequest{Job: getJob(url)})
		if err != nil {
			t.Fatal(err)
		}
		if same := !sum.Published; same != (i > 0) {
			t.Errorf("%q: published %v", url, sum.Published)
		}
	}
}

// So they do in the place of a first run that was cut off: what it has is not theirs. The same URLs go on
// from it.
func TestGetOtherURLsUnfinished(t *testing.T) {
	pages := newPagesSite(t)
	out := filepath.Join(t.TempDir(), "out")
	ctx, cancel := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/b.html" && ctx.Err() == nil {
			cancel()
			<-r.Context().Done()
			return
		}
		pages.answer(w, r)
	}))
	defer srv.Close()
	get := func(ctx context.Context, path string) error {
		_, err := Get(ctx, testApp(""), GetRequest{Job: getJob(srv.URL + path), Out: out})
		return err
	}
	if err := get(ctx, "/"); err == nil {
		t.Fatal("the run was not cut off")
	}
	if n := len(entriesOf(t, workOf(out))); n == 0 {
		t.Fatal("nothing is left of it")
	}
	if err := get(t.Context(), "/a.html"); err != nil {
		t.Fatal(err)
	}
	if got := mirrorAt(t, out); len(got) != 1 || got["a.html"] == "" {
		t.Errorf("files %q", got)
	}
	if n := pages.got(http.StatusNotModified); n > 0 {
		t.Errorf("%d pages were compared with those of the other mirror", n)
	}
}

// A mirror of another host in the same place starts afresh, also when somebody has removed the one that was
// there: nothing of that is left to compare with.
func TestGetOtherHost(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for i, name := range []string{"one", "two", "three"} {
		srv := newPagesSite(t)
		j := getJob(srv.URL + "/")
		j.Name = name
		sum, err := Get(t.Context(), testApp(""), GetRequest{Job: j, Out: out})
		if err != nil || sum.Added != 4 || len(mirrorAt(t, out)) != 4 {
			t.Fatalf("%v: %+v", err, sum)
		}
		if got := entriesOf(t, filepath.Join(workOf(out), "sites")); !slices.Equal(got, []string{name}) {
			t.Errorf("the folder has %q", got)
		}
		if i == 1 {
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Without a place that somebody named, other URLs of a host do not take the place of its mirror, nor what the
// next get of that needs.
func TestGetOtherURLsByName(t *testing.T) {
	srv := newPagesSite(t)
	t.Chdir(t.TempDir())
	get := func(path string) error {
		_, err := Get(t.Context(), testApp(""), GetRequest{Job: getJob(srv.URL + path)})
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
	srv.set()
	if err := get("/"); (err != nil) || (srv.got(http.StatusNotModified) != 4) {
		t.Errorf("%v, answers %v", err, srv.answers)
	}
}
