// SPDX-License-Identifier: Apache-2.0

package runs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mirrord/app/care"
	"mirrord/app/files"
	"mirrord/app/runs"
	"mirrord/archive"
	"mirrord/mirror"
	"mirrord/phm"
	"mirrord/testing/apptest"
)

// mirrorAt reads the files of a mirror in any form, phm.json apart.
func mirrorAt(t *testing.T, out string) map[string]string {
	t.Helper()
	var tree fs.FS = os.DirFS(out)
	if !archive.Named(out).Folder() {
		f, err := os.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fi, err := f.Stat()
		if err == nil {
			tree, err = archive.Open(f, fi.Size(), phm.Limits{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fileList := map[string]string{}
	table, err := files.TableOf(tree)
	if err != nil {
		t.Fatal(err)
	}
	for p := range table {
		data, err := fs.ReadFile(tree, p)
		if err != nil {
			t.Fatal(err)
		}
		fileList[p] = string(data)
	}
	return fileList
}

// A second get into the same place makes conditional requests, publishes changes, and leaves the mirror
// alone when nothing changed or it fails, in any form.
func TestGetAgainUpdates(t *testing.T) {
	for _, form := range []string{"out", "out.phm", "out.tar.zst"} {
		t.Run(form, func(t *testing.T) {
			srv := apptest.NewPagesSite(t)
			dir := t.TempDir()
			out := filepath.Join(dir, form)
			get := func() (*mirror.Summary, error) {
				t.Helper()
				return runs.Get(t.Context(), apptest.TestApp(""), runs.GetRequest{Job: apptest.GetJob(srv.URL +
					"/"), Out: out})
			}
			must := func() *mirror.Summary {
				t.Helper()
				sum, err := get()
				if err != nil || sum.Path != out {
					t.Fatalf("%v, %+v", err, sum)
				}
				return sum
			}
			must()
			before, at := mirrorAt(t, out), stamps(t, out)
			if len(before) != 4 || srv.Got(http.StatusOK) != 4 {
				t.Fatalf("%d files, %v answers", len(before), srv.Answers)
			}
			srv.Set()
			if sum := must(); sum.Published || sum.Unchanged != 4 || srv.Got(http.StatusNotModified) != 4 {
				t.Errorf("nothing changed: %+v, answers %v", sum, srv.Answers)
			}
			if got := stamps(t, out); !slices.Equal(got, at) {
				t.Errorf("nothing changed, but files did:\n%q\n%q", got, at)
			}

			srv.Set("/", "")
			if sum, err := get(); err == nil || sum.Published {
				t.Errorf("the entry point fails: %v, %+v", err, sum)
			}
			if got := stamps(t, out); !slices.Equal(got, at) {
				t.Errorf("the run failed, but files changed:\n%q\n%q", got, at)
			}

			// a page that did not change has a link that leads into the mirror now: it is made again of the page as
			// the site sent it
			srv.Set("/", strings.Replace(srv.Pages["/a.html"], "a<", "entry<", 1)+
				`<a href="/a.html">a</a> <a href="/b.html">b</a> <img src="/i.png"> <a href="/later.html">`,
				"/a.html", "<title>a</title><p>two", "/later.html", "<title>later</title>")
			sum := must()
			after := mirrorAt(t, out)
			if !sum.Published || (sum.Version != 2) || (sum.Unchanged != 2) || len(after) != 5 ||
				!strings.Contains(after["a.html"], "two") || !strings.Contains(after["b.html"], `href="later.html"`) ||
				after["i.png"] != before["i.png"] {
				t.Errorf("%+v, answers %v, files %q", sum, srv.Answers, after)
			}
			if names := apptest.EntriesOf(t, dir); !slices.Equal(names, []string{"." + form + ".mirrord", form}) {
				t.Errorf("left: %q", names)
			}

			// Without the mirror, its validators are worth nothing.
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
			srv.Set()
			if sum := must(); !sum.Published || (sum.Version != 1) || srv.Got(http.StatusOK) != 5 {
				t.Errorf("without the mirror: %+v, answers %v", sum, srv.Answers)
			}
		})
	}
}

// stamps are the names, sizes and times of what lies at a path, and of which file it is.
func stamps(t *testing.T, out string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(out, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err == nil && !d.IsDir() {
			all = append(all, fmt.Sprint(p, fi.Size(), fi.ModTime()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What happened to the mirror or its folder between two gets costs requests at most.
func TestGetAgainAfterTrouble(t *testing.T) {
	for _, c := range []struct {
		name    string
		trouble func(t *testing.T, out string) error
		ok      int // answers with a body
	}{
		{"a page was edited", func(_ *testing.T, out string) error {
			return os.WriteFile(filepath.Join(out, "a.html"), []byte("mine, and longer"), 0o644)
		}, 1},
		{"a picture was edited in place", func(_ *testing.T, out string) error {
			f, err := os.OpenFile(filepath.Join(out, "i.png"), os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString("other bytes")
				err = errors.Join(err, f.Close())
			}
			return err
		}, 1},
		{"files are gone", func(_ *testing.T, out string) error {
			return errors.Join(os.Remove(filepath.Join(out, "a.html")), os.Remove(filepath.Join(out, "i.png")))
		}, 2},
		{"the table is gone", func(_ *testing.T, out string) error {
			return os.Remove(filepath.Join(out, phm.FilesName))
		}, 4},
		{"it is another mirror", func(_ *testing.T, out string) error {
			return os.WriteFile(filepath.Join(out, phm.MetaName), []byte("{}"), 0o644)
		}, 4},
		{"the folder is gone", func(_ *testing.T, out string) error { return os.RemoveAll(runs.WorkOf(out)) }, 4},
		{"its database is damaged", func(_ *testing.T, out string) error {
			return os.Truncate(filepath.Join(runs.WorkOf(out), "sites/site/site.db"), 5000)
		}, 0},
		{"its database is damaged, and its log is gone", func(_ *testing.T, out string) error {
			dir := filepath.Join(runs.WorkOf(out), "sites/site")
			return errors.Join(os.Truncate(filepath.Join(dir, "site.db"), 5000),
				os.RemoveAll(filepath.Join(dir, "log")))
		}, 4},
		{"it was killed before the folder was put away", func(t *testing.T, out string) error {
			w := &runs.GetWork{Dir: runs.WorkOf(out), Out: out, Site: "site"}
			w.Form = archive.Named(out)
			err := w.Open(apptest.TestApp(""))
			if err != nil {
				return err
			}
			defer w.Close()
			live, err := w.Live()
			if err != nil {
				return err
			}
			_, err = w.Restore(t.Context(), live)
			return err
		}, 0},
		{"it was killed before the mirror was moved", func(t *testing.T, out string) error {
			w := &runs.GetWork{Dir: runs.WorkOf(out), Out: out, Site: "site"}
			w.Form = archive.Named(out)
			if err := w.Open(apptest.TestApp("")); err != nil {
				return err
			}
			defer w.Close()
			live, err := w.Live()
			if err == nil {
				_, err = w.Restore(t.Context(), live)
			}
			return errors.Join(err, os.RemoveAll(out))
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := apptest.NewPagesSite(t)
			out := filepath.Join(t.TempDir(), "out")
			get := func() {
				t.Helper()
				sum, err := runs.Get(t.Context(), apptest.TestApp(""),
					runs.GetRequest{Job: apptest.GetJob(srv.URL + "/"), Out: out})
				if err != nil || !sum.Verdict.Finished() {
					t.Fatalf("%v, %+v", err, sum)
				}
			}
			get()
			want := mirrorAt(t, out)
			if err := c.trouble(t, out); err != nil {
				t.Fatal(err)
			}
			srv.Set()
			get()
			got := mirrorAt(t, out)
			for p, data := range want {
				if got[p] != data {
					t.Errorf("%s: %q, want %q", p, got[p], data)
				}
			}
			if n := srv.Got(http.StatusOK); n != c.ok {
				t.Errorf("%d bodies, want %d; answers %v", n, c.ok, srv.Answers)
			}
			packs, err := filepath.Glob(filepath.Join(runs.WorkOf(out), "sites/site/packs/*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range packs {
				if raw, err := os.ReadFile(p); err != nil || strings.HasPrefix(string(raw), "mPr1") {
					t.Errorf("%s holds pages as they came: %v", p, err)
				}
			}
		})
	}
}

// Where an entry point led is remembered, in a kept mirror too.
func TestGetAgainFollowsAtOnce(t *testing.T) {
	for _, keep := range []bool{false, true} {
		srv, typed := apptest.NewPagesSite(t), apptest.NewPagesSite(t)
		typed.Set("/", srv.URL+"/")
		state := filepath.Join(t.TempDir(), "state")
		a := apptest.TestApp(state)
		r := runs.GetRequest{
			Job:  apptest.GetJob(typed.URL + "/"),
			Out:  filepath.Join(t.TempDir(), "out"),
			Keep: keep,
		}
		for i := range 2 {
			sum, err := runs.Get(t.Context(), a, r)
			if err != nil || sum.Version != 1 {
				t.Errorf("keep %v, get %d: %v, %+v", keep, i+1, err, sum)
			}
		}
		if typed.Got(http.StatusFound) != 1 || srv.Got(http.StatusOK) != 4 || srv.Got(http.StatusNotModified) != 4 {
			t.Errorf("keep %v: answers %v and %v", keep, typed.Answers, srv.Answers)
		}
	}
}

// A URL to which what was typed first led is the same mirror.
func TestGetAgainByWhereItLeads(t *testing.T) {
	srv, typed := apptest.NewPagesSite(t), apptest.NewPagesSite(t)
	typed.Set("/", srv.URL+"/")
	t.Chdir(t.TempDir())
	for _, url := range []string{typed.URL, srv.URL} {
		_, err := runs.Get(t.Context(), apptest.TestApp(""), runs.GetRequest{Job: apptest.GetJob(url + "/")})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := srv.Got(http.StatusNotModified); n != 4 {
		t.Errorf("%d answers 304, want one for each of 4 files", n)
	}
}

// A large page is made of its file and what relocation replaced in it, like any other: the folder beside the
// mirror holds no copy, and the next version links it again.
func TestGetAgainLargePage(t *testing.T) {
	srv := apptest.NewPagesSite(t)
	filler := make([]byte, 1<<20)
	rand.NewChaCha8([32]byte{}).Read(filler)
	large := fmt.Sprintf(`<title>large</title><a href="/gone.html">1</a><p>%x<a href="/gone.html">2</a>`, filler)
	srv.Set("/large.html", large, "/", `<title>entry</title><a href="/large.html">large</a>`)
	out := filepath.Join(t.TempDir(), "out")
	get := func() string {
		t.Helper()
		j := apptest.GetJob(srv.URL + "/")
		j.Limits.MaxDelete = 1
		if _, err := runs.Get(t.Context(), apptest.TestApp(""), runs.GetRequest{Job: j, Out: out}); err != nil {
			t.Fatal(err)
		}
		return mirrorAt(t, out)["large.html"]
	}
	if got := get(); got != strings.ReplaceAll(large, `"/gone`, `"`+srv.URL+`/gone`) {
		t.Errorf("%d bytes, not those of the page", len(got))
	}
	size := int64(0)
	err := filepath.WalkDir(runs.WorkOf(out), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(d.Name()) != ".pack" {
			return err
		}
		fi, err := d.Info()
		if err == nil {
			size += fi.Size()
		}
		return err
	})
	if err != nil || size == 0 || size > 10_000 {
		t.Errorf("%d bytes are packed beside the mirror, %v", size, err)
	}
	srv.Set("/gone.html", "<title>there</title>")
	if got := get(); got != strings.ReplaceAll(large, `"/gone`, `"gone`) {
		t.Errorf("%d bytes, not those of the page with other links", len(got))
	}
	if n := srv.Got(http.StatusOK); n != 1 {
		t.Errorf("%d bodies were sent", n)
	}
}

// The folder that get keeps beside a mirror is not treated as a state whose bodies are lost.
func TestVerifyBesideGet(t *testing.T) {
	srv := apptest.NewPagesSite(t)
	out := filepath.Join(t.TempDir(), "out")
	a := apptest.TestApp(runs.WorkOf(out))
	if _, err := runs.Get(t.Context(), apptest.TestApp(""), runs.GetRequest{Job: apptest.GetJob(srv.URL +
		"/"), Out: out}); err != nil {
		t.Fatal(err)
	}
	sites, err := os.ReadDir(filepath.Join(runs.WorkOf(out), "sites"))
	if err != nil || len(sites) != 1 {
		t.Fatal(sites, err)
	}
	of := filepath.Join(runs.WorkOf(out), "sites", sites[0].Name())
	before := apptest.EntriesOf(t, of)
	_, verr := care.Verify(t.Context(), a, sites[0].Name(), true)
	_, merr := care.Mend(t.Context(), a, sites[0].Name(), false)
	for _, err := range []error{verr, merr} {
		if err == nil || !strings.Contains(err.Error(), "mirrord verify "+out) {
			t.Errorf("%v", err)
		}
	}
	if got := apptest.EntriesOf(t, of); !slices.Equal(got, before) {
		t.Errorf("it has %q, had %q", got, before)
	}
	if v, err := care.Verify(t.Context(), a, out, true); err != nil || v.Count() > 0 {
		t.Errorf("the way that the message names: %+v, %v", v, err)
	}
}
